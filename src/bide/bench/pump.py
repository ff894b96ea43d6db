"""Understands stamped bytes a little at a time, between the turns of the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from bide.bench.clock import now_ns

_SLICE_NS = 200_000
"""At one go: what a stamp may be late for its sake."""
_SHARE, _MANY = 4, 3000
"""Where a turn of the loop takes long and so many pieces wait, this part of it: less would let them, and memory, grow
without end."""
_REST_S = 0.02


class Pump:
    """Work that may wait, first come first done; bytes that come meanwhile are stamped first."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Callable[[], None]] = deque()
        self._planned = False
        self._rested_ns = 0
        """When the last turn ended, where this one follows it; else 0."""

    def add(self, work: Callable[[], None]) -> None:
        self._waiting.append(work)
        if not self._planned:
            self._planned = True
            self._loop.call_later(_REST_S, self._turn)

    def _turn(self) -> None:
        begun_ns = now_ns()
        is_behind = self._rested_ns and len(self._waiting) > _MANY
        end_ns = begun_ns + max(_SLICE_NS, (begun_ns - self._rested_ns) // _SHARE if is_behind else 0)
        while self._waiting and now_ns() < end_ns:
            self._waiting.popleft()()
        self._planned = bool(self._waiting)
        self._rested_ns = now_ns() if self._planned else 0
        if self._planned:
            self._loop.call_soon(self._turn)

    def drain(self) -> None:
        """Do all of it now."""
        while self._waiting:
            self._waiting.popleft()()
