"""Fleets whose replicas do one of the two stages: a size is how many of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bide.plan.asks import Asks, asks_of
from bide.plan.candidate import Candidate, End
from bide.plan.capacity import Capacity
from bide.plan.disaggregated.capacity import PairCapacity
from bide.plan.disaggregated.option import pooled_reading
from bide.plan.disaggregated.pair import Pair
from bide.plan.disaggregated.pool_kinds import pool_kinds
from bide.plan.findings import Row
from bide.plan.option import Option
from bide.plan.reading import shown_probes
from bide.plan.scaling import Kind
from bide.simulate.fleet.rules import RouterName
from bide.simulate.replica_setup import ReplicaSetup

_STEPS = ((-1, 0), (0, -1), (1, 0), (0, 1))
_MOVES = 32
"""Ways to divide a large fleet that are worth telling apart, about."""


class Pooled:
    """`fleets.Fleets` of pairs."""

    smallest = 2

    def __init__(
        self, candidate: Candidate, near: Pair, router: RouterName, likely: ReplicaSetup | None = None
    ) -> None:
        """`near`: a pair whose replicas are divided well, from which better ones are looked for."""
        self._trial = PairCapacity(candidate, shown_probes(candidate.service), router, likely)
        self._one = Capacity(candidate, router=router)
        self._near = near
        self._router: RouterName = router

    @property
    def candidate(self) -> Candidate:
        return self._trial.candidate

    @property
    def _planned_rps(self) -> float:
        return self.candidate.service.traffic.planned_rps

    def like(self, candidate: Candidate, likely: ReplicaSetup | None = None) -> Pooled:
        return Pooled(candidate, self._near, self._router, likely)

    def answer(self, option: Option) -> Pair:
        assert option.pools is not None
        return option.pools.pair

    def sure(self, option: Option) -> Pair | None:
        assert option.pools is not None
        return option.pools.surely

    def with_fast(self, option: Option, size: Pair) -> Option:
        assert option.pools is not None
        return replace(option, replicas_fast=size.replicas, pools=replace(option.pools, fast=size))

    def replicas(self, size: Pair) -> int:
        return size.replicas

    def best(self, replicas: int) -> Pair:
        """Divided as the answer is, or better at the planned rate.

        Better is what holds, at the slow end or else at the likely one, and comes least near to its limits there; where
        all are too busy, what works off most.
        """
        ways, asks = [*self._better(replicas), *self._wider(replicas)], asks_of(self.candidate.service)
        ends: tuple[End, ...] = ("slow", "likely")
        for end in ends:
            for pair in ways:
                if self._nearest(pair, end) <= 1 and self.holds(pair, self._planned_rps, asks, end):
                    return pair
        return ways[0]

    def _wider(self, replicas: int) -> list[Pair]:
        """The answer with all that is left for either stage."""
        left = replicas - self._near.replicas
        return [] if left < 0 else [self._near.grown(0, left), self._near.grown(left, 0)]

    def _better(self, replicas: int) -> list[Pair]:
        """Found by moving a few replicas at a time: from what comes least near to its limits back to the answer."""
        prefill = round(replicas * self._near.prefill / self._near.replicas)
        ways = [Pair(max(1, min(replicas - 1, prefill)), min(replicas - 1, max(1, replicas - prefill)))]
        few = max(1, replicas // _MOVES)
        for step in (-few, few):
            while 0 < ways[0].prefill + step < replicas:
                other = ways[0].grown(step, -step)
                if self._badness(other) >= self._badness(ways[0]):
                    break
                ways.insert(0, other)
        return ways

    def _badness(self, pair: Pair) -> tuple[float, float, float]:
        return self._nearest(pair, "slow"), self._nearest(pair, "likely"), -self._trial.saturated_rps(pair)

    def _nearest(self, pair: Pair, end: End) -> float:
        """What comes nearest to its limit, over it; infinite where the fleet is too busy."""
        seen, asks = self._trial.at(self._planned_rps, pair, end), asks_of(self.candidate.service)
        if seen is None:
            return math.inf
        return max(seen.values[ask.probe][1] * self._one.further(ask.probe, end) / ask.most for ask in asks)

    def fewer(self, size: Pair) -> Sequence[Pair]:
        return [one for step in _STEPS[:2] if min((one := size.grown(*step)).prefill, one.decode) >= 1]

    def fewest(self, planned_rps: float, most: int, asks: Asks, end: End = "likely") -> Pair | None:
        return self._trial.fewest(planned_rps, most, asks, end)

    def holds(self, size: Pair, planned_rps: float, asks: Asks, end: End = "likely") -> bool:
        return self._trial.is_enough(size, planned_rps, asks, end)

    def halving(self, size: Pair, asks: Asks, end: End = "likely") -> Iterator[tuple[float, float]]:
        return self._trial.halving(size, asks, end) if self._trial.saturated_rps(size) else iter(())

    def row(self, size: Pair, met: bool, met_surely: bool) -> Row:
        gpus = size.replicas * self.candidate.gpus
        return Row(gpus, size.replicas, pooled_reading(self._trial, size), met, met_surely, size)

    def around(self, option: Option, most: int) -> Iterable[Row]:
        """The answer among fleets with one replica fewer and one more of either kind."""
        answer, asks = self.answer(option), asks_of(self.candidate.service)
        ways = {answer, *(answer.grown(*step) for step in _STEPS)}
        kept = [one for one in ways if min(one.prefill, one.decode) >= 1 and one.replicas <= most]
        for one in sorted(kept, key=lambda one: (one.replicas, one)):
            met = one == answer or self.holds(one, self._planned_rps, asks)
            yield self.row(one, met, met and self.holds(one, self._planned_rps, asks, "slow"))

    def kinds(self, option: Option, carried_rps: float, *, by_hours: bool) -> tuple[Kind, ...]:
        return pool_kinds(self._trial, option, carried_rps, by_hours=by_hours)
