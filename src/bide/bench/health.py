"""Whether the client itself kept up: its loop's lag, its delays, its CPU."""

from __future__ import annotations

import asyncio
import os
import time
from array import array
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from bide.bench.clock import NS, now_ns

_BEAT_S = 0.05
_ROUNDING_NS = 1_000_000
"""Event loops round timers to a millisecond."""
LARGEST_SHARE = 0.1
"""A client that lags by more than this share of a figure has not measured it."""
BUSY = 0.9
"""Of one core, for one process: beyond it every figure holds the client's own queueing."""


@dataclass(frozen=True, slots=True)
class Health:
    """Seconds. `late`: from the intended time to when the client took a request up; `sent`: to when it was written."""

    lag_p50_s: float = 0.0
    lag_p99_s: float = 0.0
    lag_max_s: float = 0.0
    late_p99_s: float = 0.0
    sent_p99_s: float = 0.0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    processes: int = 1
    stalls: int = 0
    shifted_s: float = 0.0
    """By which the schedule was moved because this client stood still."""
    spared_cores: int = 0
    """Left to a server on this machine; the load would have had a client process on each."""

    @property
    def known(self) -> bool:
        """False for a run that was killed before it could say how its client was."""
        return self.wall_s > 0

    def joined(self, earlier: Health) -> Health:
        """Of two sittings at one cell: the worse of each delay, and the sum of what adds up."""
        added = ("cpu_s", "wall_s", "stalls", "shifted_s")
        one, other = asdict(self), asdict(earlier)
        return Health(
            **{name: one[name] + other[name] if name in added else max(one[name], other[name]) for name in one}
        )

    def spoils_tail(self, itl_p99_s: float) -> bool:
        """Whether lags that are seldom, and spoil no mean, are more than a tenth of the gaps that are seldom."""
        return self.lag_p99_s > LARGEST_SHARE * itl_p99_s

    @property
    def cpu_share(self) -> float:
        """Of the cores that the processes could use, one each."""
        return self.cpu_s / self.wall_s / self.processes if self.wall_s > 0 else 0.0

    @property
    def stood_share(self) -> float:
        """Of the run, in which each process stood still on average."""
        return self.shifted_s / self.wall_s / self.processes if self.wall_s > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "cpu_share": self.cpu_share}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Health:
        """What `to_dict` wrote; what is missing is as in a run that was not finished. Raises TypeError otherwise."""
        known = {each.name for each in fields(cls)}
        values = {name: value for name, value in found.items() if name in known}
        if not all(isinstance(value, int | float) for value in values.values()):
            raise TypeError("a figure of the client's health is no number")
        return cls(**values)


class Watch:
    """Beats on a running loop and notes how late each beat comes."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lags_ns: array[int] = array("q")
        self._begun_ns = self._beat_ns = 0
        self._cpu_s = 0.0
        self._running = False
        self.stalls, self.shifted_ns = 0, 0

    def begin(self) -> None:
        """From now on."""
        self._begun_ns = self._beat_ns = now_ns()
        self._cpu_s = time.process_time()
        self._running = True
        self._loop.call_later(_BEAT_S, self._beat)

    def _beat(self) -> None:
        now = now_ns()
        self._lags_ns.append(max(0, now - self._beat_ns - int(_BEAT_S * NS) - _ROUNDING_NS))
        self._beat_ns = now
        if self._running:
            self._loop.call_later(_BEAT_S, self._beat)

    def stop(self) -> tuple[array[int], float, float]:
        """Lags in nanoseconds, CPU seconds and wall seconds since the beginning."""
        self._running = False
        return self._lags_ns, time.process_time() - self._cpu_s, (now_ns() - self._begun_ns) / NS


def cores() -> int:
    """That this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
