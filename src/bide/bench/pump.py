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
_REST_S, _LEAST_S, _ENOUGH = 0.25, 0.02, 32
"""Work is done together, so many pieces or what has come in so long: code that is run again at once costs a fraction
of what it costs after a rest. The least rest is for the loop, which has much to stamp where so many come sooner."""


class Pump:
    """Work that may wait, first come first done; bytes that come meanwhile are stamped first."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Callable[[], None]] = deque()
        self._next: asyncio.Handle | None = None
        self._began_s = 0.0
        """When the rest began that goes on."""
        self._rested_ns = 0
        """When the last turn ended, where this one follows it; else 0."""

    def add(self, work: Callable[[], None]) -> None:
        self._waiting.append(work)
        if self._next is None:
            self._began_s = self._loop.time()
            self._next = self._loop.call_later(_REST_S, self._turn)
        elif len(self._waiting) == _ENOUGH and not self._rested_ns:
            self._next.cancel()
            self._next = self._loop.call_at(self._began_s + _LEAST_S, self._turn)

    def _turn(self) -> None:
        begun_ns = now_ns()
        is_behind = self._rested_ns and len(self._waiting) > _MANY
        end_ns = begun_ns + max(_SLICE_NS, (begun_ns - self._rested_ns) // _SHARE if is_behind else 0)
        while self._waiting and now_ns() < end_ns:
            self._waiting.popleft()()
        self._next = self._loop.call_soon(self._turn) if self._waiting else None
        self._rested_ns = now_ns() if self._waiting else 0

    def drain(self) -> None:
        """Do all of it now."""
        while self._waiting:
            self._waiting.popleft()()
