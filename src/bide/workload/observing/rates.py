"""Requests a second over time, from counters read step by step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, groupby

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests that arrived in each step of `step_s` seconds; steps without data are left out.

    `arrived` is by the number of the step, 1 for the first. A step's count is what the engines began to answer plus the
    growth of their queues, where the queue is known (`queue_known`): a full engine begins no more than it can.
    """

    step_s: float
    arrived: Mapping[int, float]
    queue_known: bool

    @property
    def covered_s(self) -> float:
        """The time for which there is data."""
        return len(self.arrived) * self.step_s

    @property
    def mean_rps(self) -> float:
        """Requests a second over the time that has data; 0 where none has."""
        return math.fsum(self.arrived.values()) / self.covered_s if self.arrived else 0.0

    @property
    def peak_rps(self) -> float:
        """The highest rate of any step."""
        return max(self.arrived.values(), default=0.0) / self.step_s

    @property
    def peak_step(self) -> int:
        """The number of the step with the highest rate."""
        return max(self.arrived, key=lambda step: self.arrived[step], default=0)

    @property
    def busiest_hour_rps(self) -> float | None:
        """The highest mean rate of an hour without gaps; None where there is no such hour."""
        steps = max(1, round(HOUR_S / self.step_s))
        runs = (_sums(run, steps) for run in _runs(self.arrived))
        most = max((total for sums in runs for total in sums), default=None)
        return None if most is None else most / (steps * self.step_s)

    @property
    def dispersion(self) -> float | None:
        """Variance over mean of the counts of steps: 1 for Poisson arrivals at a constant rate, more for bursts."""
        counts = list(self.arrived.values())
        mean = math.fsum(counts) / len(counts) if counts else 0.0
        if len(counts) < 2 or mean <= 0:
            return None
        return math.fsum((count - mean) ** 2 for count in counts) / (len(counts) - 1) / mean


def _runs(counts: Mapping[int, float]) -> Iterator[list[float]]:
    """The counts of steps that follow each other without a gap."""
    for _gap, run in groupby(enumerate(sorted(counts)), key=lambda pair: pair[1] - pair[0]):
        yield [counts[step] for _place, step in run]


def _sums(run: list[float], steps: int) -> list[float]:
    """The sum of every `steps` counts in a row.

    >>> _sums([1.0, 2.0, 3.0], 2)
    [3.0, 5.0]
    """
    to = [0.0, *accumulate(run)]
    return [high - low for low, high in zip(to, to[steps:], strict=False)]


def arrivals(begun: Mapping[int, float], waiting: Mapping[int, float], step_s: float) -> Rates:
    """Counts of arrivals from those of begun requests and the length of the queue at the end of each step.

    What arrived either began or still waits: arrived = begun + growth of the queue. `waiting[0]` is the queue at the
    start. Steps at which the queue is not known take what began.
    """
    grown = {step: waiting[step] - waiting[step - 1] for step in begun if step in waiting and step - 1 in waiting}
    counts = {step: count + grown.get(step, 0.0) for step, count in begun.items()}
    return Rates(step_s, counts, bool(grown))


@dataclass(frozen=True, slots=True)
class Level:
    """A gauge over time."""

    mean: float
    p95: float
    largest: float

    def to_dict(self) -> dict[str, float]:
        return {"mean": self.mean, "p95": self.p95, "largest": self.largest}


def level(values: Mapping[int, float]) -> Level | None:
    """Mean, 95th percentile (the nearest rank) and maximum of a gauge; None where it was never there.

    >>> level({0: 1.0, 1: 3.0})
    Level(mean=2.0, p95=3.0, largest=3.0)
    """
    if not values:
        return None
    ordered = sorted(values.values())
    place = math.ceil(0.95 * len(ordered)) - 1
    return Level(math.fsum(ordered) / len(ordered), ordered[place], ordered[-1])
