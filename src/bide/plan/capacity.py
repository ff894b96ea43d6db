"""The highest rate at which one replica of a fleet keeps what is asked, found by simulation on a grid of rates.

The grid is fixed for a candidate: rates up to twice the one at which it works off a backlog, whatever
the load and the limits are. Halving it always asks the same rates in the same order until
two answers differ: the first rate where a longer patience says yes and a shorter one no sends the longer
one to the upper half and the shorter one to the lower. So **a longer patience never has a lower highest
rate**, whether or not a latency rises with the rate in the simulation.

What a replica gets depends on how many there are: of n that take turns, each has every n-th request, which
come the more evenly the larger n is. So there is a highest rate R(k) for each k of 1, 2, 3, 4, 6, 8, 12, ...,
measured with every k-th request, and a fleet of n replicas is enough for a load where load / n <= R(k) for
the largest such k <= n. A longer patience and a lower load each leave every fleet enough that was: R(k) does
not fall and load / n does not rise, and k is a matter of n alone. So of the fleets that are enough, **the
smallest never grows with patience and never shrinks with load**. At the slow end it is the smallest that is
enough at both ends.

A run of the usual length leaves a margin for what it does not know. Where a limit lies within it, a run up to
four times as long decides, if the workload has so many requests. With v and u of the short run (as measured,
and what other runs stay below) and U of the long one, what is promised is min(u, max(v, U)): a number that
does not depend on the limit either.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property

from bide.plan.asks import Asks, Probe, asks_of
from bide.plan.basket import Basket, Share, basket_of
from bide.plan.bounds import Work, kept_bound_rps, work_of
from bide.plan.candidate import Candidate, End
from bide.plan.question import Goodput
from bide.plan.remembered import Runs, runs_of
from bide.plan.replica_state import replica_state
from bide.plan.thresholds import ReplicaState
from bide.plan.trial import Seen, highest_rps, saturated, watch
from bide.simulate.fleet.rules import RouterName
from bide.simulate.replica_setup import ReplicaSetup

POINTS = 512
_TOP = 2.0
"""Of the likely saturated rate: the fast end reaches beyond it. The grid is that x (1 .. 512 / 512) squared: half the
saturated rate is asked first, and steps are 1 % and less where most answers lie, wider the emptier a replica is."""
FULLEST = 0.95
"""No replica is planned to be busier than this share of the rate at which it works off a backlog: nearer to it
queues grow for longer than any peak lasts."""
_LONG = 4
"""Times as many requests as usual, where the usual run leaves it open."""
_SHARES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Of so many requests a replica is tried with one: of the largest number that the fleet has engines. Where there are
more, arrivals are hardly more even."""


class Capacity:
    """One candidate's simulated replicas: what was simulated once is not simulated again."""

    def __init__(
        self,
        candidate: Candidate,
        probes: tuple[Probe, ...] = (),
        likely: ReplicaSetup | None = None,
        router: RouterName = "round-robin",
    ) -> None:
        """`probes`: taken of every run, beside what the service asks for. `likely`: in place of the likely end."""
        self.candidate, self.router = candidate, router
        self.basket = basket_of(candidate.service)
        self.probes = tuple(dict.fromkeys((*(ask.probe for ask in asks_of(candidate.service)), *probes)))
        self._asked: set[object] = set()
        self._setups: dict[End, ReplicaSetup] = {"likely": likely} if likely else {}
        self._kept = Runs() if likely else runs_of(candidate, self.probes, router)

    @property
    def runs(self) -> int:
        """Simulations that were asked for, whether or not somebody had made them before."""
        return len(self._asked)

    @property
    def is_tried(self) -> bool:
        """Whether any rate was asked for."""
        return any(isinstance(key, tuple) for key in self._asked)

    def setup(self, end: End) -> ReplicaSetup:
        if end not in self._setups:
            self._setups[end] = self.candidate.setup_at(end)
        return self._setups[end]

    def simulated(self, end: End) -> ReplicaSetup:
        """Without looking for shared beginnings where no prompts share any: the same run, in less time."""
        setup = self.setup(end)
        if self.basket.traffic.blocks is not None or any(group.kind != "full" for group in setup.config.groups):
            return setup
        return replace(setup, config=replace(setup.config, enable_prefix_caching=False))

    def bound_rps(self, asks: Asks = ()) -> float:
        """What no grid rate at which `asks` are kept exceeds, without a simulation; 0 where none is."""
        setup = self.setup("likely")
        return min(FULLEST * highest_rps(setup, self.basket), kept_bound_rps(setup, self.basket, asks, self._work))

    @cached_property
    def _work(self) -> Work:
        return work_of(self.setup("likely"), self.basket)

    def saturated_rps(self, end: End = "likely") -> float:
        """Requests a second at which a replica works off a backlog."""
        self._asked.add(end)
        found = self._kept.saturated
        if end not in found:
            found[end] = saturated(self.simulated(end), self.basket, self.candidate.most_running)
        return found[end]

    def shared(self, replicas: int) -> int:
        """Of so many requests, an engine of a fleet of `replicas` is tried with one."""
        return _SHARES[bisect_right(_SHARES, replicas * self.setup("likely").engines) - 1]

    def _last(self, replicas: int) -> float:
        """The largest fleet whose engines have the same share."""
        engines = self.setup("likely").engines
        place = bisect_right(_SHARES, replicas * engines)
        return math.inf if place == len(_SHARES) else (_SHARES[place] - 1) // engines

    def served(self, replicas: int, times: int = 1) -> Basket:
        """The requests of one engine of a fleet."""
        share = Share(self.shared(replicas), self.router == "random")
        return basket_of(self.candidate.service, share, times)

    def at(self, requests_per_s: float, end: End = "likely", replicas: int = 1, times: int = 1) -> Seen | None:
        """One replica of so many at a rate, over `times` the usual requests; None where it is too busy."""
        if requests_per_s > FULLEST * self.saturated_rps(end):
            return None
        key = (end, requests_per_s, self.shared(replicas), times)
        self._asked.add(key)
        found = self._kept.seen
        if key not in found:
            found[key] = watch(self.simulated(end), self.served(replicas, times), self.probes, requests_per_s)
        return found[key]

    def state(self, requests_per_s: float, replicas: int) -> ReplicaState:
        """What an autoscaler reads off one replica of so many."""
        return replica_state(self.setup("likely"), self.served(replicas), requests_per_s)

    def value(self, requests_per_s: float, probe: Probe, end: End = "likely", replicas: int = 1) -> float:
        """What is promised of `probe` at an end (what other runs stay below), infinite where the replica is too busy.

        The outer ends are those of step times; where predictions of a latency were further off than those of steps,
        they are so much further out.
        """
        seen, longer = (self.at(requests_per_s, end, replicas, times) for times in (1, _LONG))
        if seen is None or longer is None:
            return math.inf
        value, above = seen.values[probe]
        return min(above, max(value, longer.values[probe][1])) * self.further(probe, end)

    def further(self, probe: Probe, end: End) -> float:
        """How much further off a latency is than the time of a step (for several latencies, the widest)."""
        if end == "likely":
            return 1.0
        measure, spreads, place = probe.measure, self.candidate.spreads, int(end == "slow")
        names = [name for name, _limit in measure.limits] if isinstance(measure, Goodput) else [measure.latency]
        ratios = [spreads[f"{'tpot' if name == 'itl' else name}_s"][place] / spreads["tpot_s"][place] for name in names]
        return max(1.0, *ratios) if end == "slow" else min(1.0, *ratios)

    def keeps(self, requests_per_s: float, asks: Asks, end: End = "likely", replicas: int = 1) -> bool:
        """Whether `value` is within everything that is asked; the long run is made only where it decides."""
        seen = self.at(requests_per_s, end, replicas)
        if seen is None:
            return False
        most = {ask: ask.most / self.further(ask.probe, end) for ask in asks}
        if any(seen.values[ask.probe][0] > limit for ask, limit in most.items()):
            return False
        opened = [ask for ask, limit in most.items() if seen.values[ask.probe][1] > limit]
        if not opened:
            return True
        longer = self.at(requests_per_s, end, replicas, _LONG)
        return longer is not None and all(longer.values[ask.probe][1] <= most[ask] for ask in opened)

    def rate(self, point: int) -> float:
        """The rate of a point of the grid, from 0."""
        return grid_rate(self.saturated_rps(), point)

    def halving(self, asks: Asks, end: End = "likely", replicas: int = 1) -> Iterator[tuple[float, float]]:
        """(a rate that is kept, a rate that is not), nearer and nearer; the first is 0 as long as none is kept."""
        return halved(self.saturated_rps(), lambda rate: self.keeps(rate, asks, end, replicas))

    def highest_rate(self, asks: Asks | None = None, end: End = "likely", replicas: int = 1) -> float | None:
        """Requests a second of one replica of so many, to a step of the grid; None where none holds."""
        asked = asks_of(self.candidate.service) if asks is None else asks
        kept, _broken = list(self.halving(asked, end, replicas))[-1]
        if end == "slow" and kept:
            kept = min(kept, self.highest_rate(asked, replicas=replicas) or 0.0)
        return kept or None

    def fewest(self, planned_rps: float, most: float, asks: Asks, end: End = "likely") -> int | None:
        """Replicas for a load: the fewest that are enough. None where that is more than `most`."""
        at_least = self.fewest(planned_rps, most, asks) if end == "slow" else 1
        if at_least is None or planned_rps > most * FULLEST * self.saturated_rps(end):
            return None
        first = max(at_least, math.ceil(planned_rps / (FULLEST * self.saturated_rps(end))))
        while first <= most:
            last = self._last(first)
            found = self._fewest_of(planned_rps, (first, min(last, most)), asks, end)
            if found is not None or not math.isfinite(last):
                return found
            first = int(last) + 1
        return None

    def _fewest_of(self, planned_rps: float, sizes: tuple[int, float], asks: Asks, end: End) -> int | None:
        """The same among fleets whose replicas have the same share. Halving ends as soon as the count is certain."""
        first, last = sizes
        for kept, broken in self.halving(asks, end, first):
            enough = max(first, _replicas(planned_rps, kept))
            least = max(first, _least(planned_rps, broken))
            if least > last:
                return None
            if enough == least:
                return int(enough)
        return int(enough) if enough <= last else None


def grid_rate(saturated_rps: float, point: int) -> float:
    """The rate of a point of the grid, from 0."""
    return float(_TOP * saturated_rps * ((point + 1) / POINTS) ** 2)


def halved(saturated_rps: float, keeps: Callable[[float], bool]) -> Iterator[tuple[float, float]]:
    """(a rate that is kept, a rate that is not) of the grid, nearer and nearer; the first is 0 until one is kept."""
    low, high = -1, POINTS - 1  # the last point is twice what a likely replica can do: never kept
    yield 0.0, grid_rate(saturated_rps, high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(grid_rate(saturated_rps, middle)) else (low, middle)
        yield grid_rate(saturated_rps, low) if low >= 0 else 0.0, grid_rate(saturated_rps, high)


def _replicas(planned_rps: float, kept_rps: float) -> float:
    return math.ceil(planned_rps / kept_rps) if kept_rps > 0 else math.inf


def _least(planned_rps: float, broken_rps: float) -> int:
    """Replicas where every rate below `broken_rps` may yet be kept."""
    return math.floor(planned_rps / broken_rps) + 1
