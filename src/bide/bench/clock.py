"""One monotonic clock, and an alarm on it that is finer than an event loop's milliseconds."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import sys
from collections.abc import Callable
from time import perf_counter_ns

NS = 1_000_000_000
now_ns = perf_counter_ns
"""Monotonic nanoseconds; on Linux the same clock in every process of the machine (CLOCK_MONOTONIC)."""

_CLOCK_MONOTONIC, _ABSOLUTE = 1, 1
_FLAGS = 0o4000 | 0o2000000
"""TFD_NONBLOCK | TFD_CLOEXEC (timerfd_create(2))."""


class _Span(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Span), ("value", _Span))


class Alarm:
    """Calls `ring` on the running loop at an absolute time; setting it anew forgets the time before.

    Event loops round their timers to a millisecond. Where the kernel has timer descriptors (Linux) the
    alarm is one of those, good to a tenth of a millisecond; elsewhere it is the loop's own timer.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None
        self._descriptor = _descriptor()
        if self._descriptor is not None:
            self._loop.add_reader(self._descriptor, self._rung)

    def at(self, time_ns: int) -> None:
        """Ring at `time_ns` of `now_ns`; at once where that is past."""
        if self._descriptor is not None:
            _set(self._descriptor, max(1, time_ns))
            return
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._loop.call_later(max(0.0, (time_ns - now_ns()) / NS), self._ring)

    def close(self) -> None:
        """Never ring again."""
        if self._handle is not None:
            self._handle.cancel()
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _rung(self) -> None:
        assert self._descriptor is not None
        with contextlib.suppress(BlockingIOError):
            os.read(self._descriptor, 8)
        self._ring()


def _descriptor() -> int | None:
    if sys.platform != "linux":
        return None
    create = getattr(_libc(), "timerfd_create", None)
    found = create(_CLOCK_MONOTONIC, _FLAGS) if create else -1
    return found if found >= 0 else None


def _set(descriptor: int, time_ns: int) -> None:
    setting = _Setting(_Span(0, 0), _Span(*divmod(time_ns, NS)))
    _libc().timerfd_settime(descriptor, _ABSOLUTE, ctypes.byref(setting), None)


_LIBC: list[ctypes.CDLL] = []


def _libc() -> ctypes.CDLL:
    if not _LIBC:
        _LIBC.append(ctypes.CDLL(None))
    return _LIBC[0]
