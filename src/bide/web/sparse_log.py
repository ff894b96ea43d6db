"""What the server logs, to stderr: not the same thing over and over, whatever clients do to make it say so."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable

_PERIOD_S = 60.0
_MOST_OF_A_KIND = 3
_MOST = 60


class Sparse(logging.Filter):
    """Lets through three records of a kind a minute, and sixty of all; the next one says how many were left out.

    A kind is a logger, its words before anything is put into them, and the type of an exception.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock, self._begun_s = clock, clock()
        self._seen: Counter[tuple[object, ...]] = Counter()
        self._told, self._left_out = 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        if self._clock() - self._begun_s >= _PERIOD_S:
            self._begun_s, self._told = self._clock(), 0
            self._seen.clear()
        kind = (record.name, _words(record.msg), record.exc_info and record.exc_info[0])
        if self._told >= _MOST or self._seen[kind] >= _MOST_OF_A_KIND:
            self._left_out += 1
            return False
        self._seen[kind] += 1
        self._told += 1
        if self._left_out:
            record.msg = f"{record.msg} ({self._left_out} lines were left out before)"
            self._left_out = 0
        return True


def _words(message: object) -> object:
    """The page's handlers log exceptions themselves, each of which is another: what they say is their type."""
    return message if isinstance(message, str) else type(message)


def log_sparsely() -> None:
    """Warnings and errors of everything in this process: of uvicorn, of the page's handlers, of asyncio."""
    handler = logging.StreamHandler()
    handler.addFilter(Sparse())
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
