"""Answers that take milliseconds: worked out in a few threads, once for all who ask the same, and kept."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bide.i18n import _, language
from bide.web.faults import Busy
from bide.web.names import asks_hub

if TYPE_CHECKING:
    from bide.web.shapes import Shape
    from bide.web.state import State

Make = Callable[["Shape", "State"], dict[str, Any]]
Key = tuple[str, str, str]
"""The verb, the language and the question."""
_THREADS = 2
"""Python runs one at a time: more would only make each slower, and the event loop wait."""
_MOST_GOING = 256
"""Questions that wait or are being answered; each may be a megabyte."""
_THREADS_OF_HUB = 4
"""For questions that wait for the network."""
_LONGEST_KEPT_BYTES = 2**18
"""Of a question and its answer: 512 of the longest are 128 MiB, of the usual ones 5."""


class Answered:
    """The answers of one server. For one event loop."""

    def __init__(self, state: State, most: int) -> None:
        self._state, self._most = state, most
        self._kept: OrderedDict[Key, bytes] = OrderedDict()
        self._going: dict[Key, asyncio.Future[bytes]] = {}
        self._pool = ThreadPoolExecutor(_THREADS, "answer")
        self._hub_pool = ThreadPoolExecutor(_THREADS_OF_HUB, "hub")

    async def json(self, make: Make, ask: Shape) -> bytes:
        """What `make` says of `ask`, as JSON, in the language of the caller. Raises what `make` raises."""
        key = (make.__name__, language(), ask.model_dump_json(exclude_unset=True))
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        if key not in self._going:
            if len(self._going) >= _MOST_GOING:
                raise Busy(_("too much is asked at once; try again in a moment"))
            self._going[key] = asyncio.ensure_future(self._worked_out(make, ask))
            self._going[key].add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(self._going[key])

    async def _worked_out(self, make: Make, ask: Shape) -> bytes:
        """In a thread, in the language of the caller."""
        within = contextvars.copy_context().run
        loop = asyncio.get_running_loop()
        pool = self._hub_pool if self._state.settings.hub and asks_hub(ask) else self._pool
        return await loop.run_in_executor(pool, within, _encoded, make, ask, self._state)

    def _keep(self, key: Key, done: asyncio.Future[bytes]) -> None:
        del self._going[key]
        if done.cancelled() or done.exception() is not None:
            return
        if len(key[2]) + len(done.result()) <= _LONGEST_KEPT_BYTES:
            self._kept[key] = done.result()
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def close(self) -> None:
        """Begin nothing more."""
        for pool in (self._pool, self._hub_pool):
            pool.shutdown(wait=False, cancel_futures=True)


def _encoded(make: Make, ask: Shape, state: State) -> bytes:
    return json.dumps(make(ask, state), allow_nan=False).encode()
