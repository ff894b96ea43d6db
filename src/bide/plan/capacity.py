"""The highest rate at which one replica keeps what is asked, found by simulation on a grid of rates.

The grid is fixed for a candidate: rates from 1/64 of the one at which it works off a backlog to twice
that, whatever the load and the limits are. Halving it always asks the same rates in the same order until
two answers differ: the first rate where a longer patience says yes and a shorter one no sends the longer
one to the upper half and the shorter one to the lower. So **a longer patience never has a lower highest
rate**, whether or not a latency rises with the rate in the simulation; and as replicas = load / highest
rate, rounded up, **more load never needs fewer**. At the slow end it is the lower of the two ends' rates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from bide.plan.asks import Asks, Probe, asks_of
from bide.plan.basket import basket_of
from bide.plan.candidate import Candidate, End
from bide.plan.question import Goodput
from bide.plan.trial import Seen, highest_rps, saturated, watch
from bide.simulate.replica_setup import ReplicaSetup

POINTS = 512
_OCTAVES = 7.0
_TOP = 2.0
"""Of the likely saturated rate: the fast end reaches beyond it."""
FULLEST = 0.95
"""No replica is planned to be busier than this share of the rate at which it works off a backlog: nearer to it
queues grow for longer than any peak lasts."""


class Capacity:
    """One candidate's simulated replicas: what was simulated once is not simulated again."""

    def __init__(
        self, candidate: Candidate, probes: tuple[Probe, ...] = (), likely: ReplicaSetup | None = None
    ) -> None:
        """`probes`: taken of every run, beside what the service asks for. `likely`: in place of the likely end."""
        self.candidate = candidate
        self.basket = basket_of(candidate.service)
        self.probes = tuple(dict.fromkeys((*(ask.probe for ask in asks_of(candidate.service)), *probes)))
        self.runs = 0
        self._setups: dict[End, ReplicaSetup] = {"likely": likely} if likely else {}
        self._saturated: dict[End, float] = {}
        self._seen: dict[tuple[End, float], Seen] = {}

    @property
    def is_tried(self) -> bool:
        """Whether it was simulated at any rate."""
        return bool(self._seen)

    def setup(self, end: End) -> ReplicaSetup:
        if end not in self._setups:
            self._setups[end] = self.candidate.setup_at(end)
        return self._setups[end]

    def bound_rps(self) -> float:
        """What no grid rate that is kept exceeds, without a simulation."""
        return FULLEST * highest_rps(self.setup("likely"), self.basket)

    def saturated_rps(self, end: End = "likely") -> float:
        """Requests a second at which a replica works off a backlog."""
        if end not in self._saturated:
            self.runs += 1
            self._saturated[end] = saturated(self.setup(end), self.basket, self.candidate.most_running)
        return self._saturated[end]

    def at(self, requests_per_s: float, end: End = "likely") -> Seen | None:
        """One replica at a rate; None where it is too busy."""
        if requests_per_s > FULLEST * self.saturated_rps(end):
            return None
        key = (end, requests_per_s)
        if key not in self._seen:
            self.runs += 1
            self._seen[key] = watch(self.setup(end), self.basket, self.probes, requests_per_s)
        return self._seen[key]

    def value(self, requests_per_s: float, probe: Probe, end: End = "likely") -> float:
        """What is promised of `probe` at an end (what other runs stay below), infinite where the replica is too busy.

        The outer ends are those of step times; where predictions of a latency were further off than those of steps,
        they are so much further out.
        """
        seen = self.at(requests_per_s, end)
        return math.inf if seen is None else seen.values[probe][1] * self._further(probe, end)

    def _further(self, probe: Probe, end: End) -> float:
        """How much further off a latency is than the time of a step (for several latencies, the widest)."""
        if end == "likely":
            return 1.0
        measure, spreads, place = probe.measure, self.candidate.spreads, int(end == "slow")
        names = [name for name, _limit in measure.limits] if isinstance(measure, Goodput) else [measure.latency]
        ratios = [spreads[f"{'tpot' if name == 'itl' else name}_s"][place] / spreads["tpot_s"][place] for name in names]
        return max(1.0, *ratios) if end == "slow" else min(1.0, *ratios)

    def keeps(self, requests_per_s: float, asks: Asks, end: End = "likely") -> bool:
        """Whether everything that is asked holds at a rate."""
        return all(self.value(requests_per_s, ask.probe, end) <= ask.most for ask in asks)

    def rate(self, point: int) -> float:
        """The rate of a point of the grid, from 0."""
        return float(_TOP * self.saturated_rps() * 2.0 ** (_OCTAVES * ((point + 1) / POINTS - 1)))

    def halving(self, asks: Asks, end: End = "likely") -> Iterator[tuple[float, float]]:
        """(a rate that is kept, a rate that is not), nearer and nearer; the first is 0 as long as none is kept."""
        low, high = -1, POINTS - 1  # the last point is twice what a likely replica can do: never kept
        yield 0.0, self.rate(high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.keeps(self.rate(middle), asks, end) else (low, middle)
            yield self.rate(low) if low >= 0 else 0.0, self.rate(high)

    def highest_rate(self, asks: Asks | None = None, end: End = "likely") -> float | None:
        """Requests a second of one replica, to 1 % (a step of the grid); None where not even the lowest holds."""
        asked = asks_of(self.candidate.service) if asks is None else asks
        kept, _broken = list(self.halving(asked, end))[-1]
        if end == "slow" and kept:
            kept = min(kept, self.highest_rate(asked) or 0.0)
        return kept or None

    def fewest(self, planned_rps: float, most: float, asks: Asks, end: End = "likely") -> int | None:
        """Replicas for a load: load / highest rate, rounded up. None where that is more than `most`.

        Halving ends as soon as the count is certain.
        """
        at_least = self.fewest(planned_rps, most, asks) if end == "slow" else 1
        if at_least is None or planned_rps > most * FULLEST * self.saturated_rps(end):
            return None
        enough = math.inf
        for kept, broken in self.halving(asks, end):
            enough = _replicas(planned_rps, kept)
            if _least(planned_rps, broken) > most:
                return None
            if enough == _least(planned_rps, broken) or enough <= at_least:
                break
        return max(at_least, int(enough)) if enough <= most else None


def _replicas(planned_rps: float, kept_rps: float) -> float:
    return math.ceil(planned_rps / kept_rps) if kept_rps > 0 else math.inf


def _least(planned_rps: float, broken_rps: float) -> int:
    """Replicas where every rate below `broken_rps` may yet be kept."""
    return math.floor(planned_rps / broken_rps) + 1


def highest_rate(candidate: Candidate, asks: Asks | None = None, end: End = "likely") -> float | None:
    """Requests a second at which one replica keeps what is asked (by its service, unless told); None for never."""
    return Capacity(candidate).highest_rate(asks, end)
