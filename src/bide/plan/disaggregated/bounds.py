"""What rules a pair of counts out without its run, and moves with patience and load in the same direction.

What either stage works off from a backlog, what the links carry, and the least time of a request that is alone.
"""

from __future__ import annotations

import math
from dataclasses import replace

from bide.errors import BadInput
from bide.plan.asks import Ask, Asks, Probe, asks_of
from bide.plan.basket import Basket
from bide.plan.candidate import Candidate, End
from bide.plan.capacity import FULLEST, Capacity, halved
from bide.plan.disaggregated.cell import Cell
from bide.plan.disaggregated.even import even_stream, evenly_answered, share_of
from bide.plan.disaggregated.pair import Pair
from bide.plan.disaggregated.stages import Stage, before_answer_s, least_s, most_rps, transfer_s, worked_off_rps
from bide.plan.question import Goodput
from bide.plan.remembered import Runs, runs_of
from bide.simulate.fleet.link import Link, link_of
from bide.simulate.fleet.rules import BLIND, FleetRules, RouterName
from bide.simulate.replica_setup import ReplicaSetup

_WIDEST = 10_000
_SMALLEST = Pair(1, 1)


class PairBounds:
    """Of one candidate's fleets."""

    def __init__(
        self,
        candidate: Candidate,
        probes: tuple[Probe, ...] = (),
        router: RouterName = "round-robin",
        likely: ReplicaSetup | None = None,
    ) -> None:
        """`probes`: taken of every run, beside what the service asks for. `likely`: in place of the likely end.

        Routers that look at their replicas are taken to be as even as turns, as for replicas that do both.
        """
        self.candidate, self.service = candidate, candidate.service
        self.router: RouterName = router if router in BLIND else "round-robin"
        self.probes = tuple(dict.fromkeys((*(ask.probe for ask in asks_of(self.service)), *probes)))
        self._one = Capacity(candidate, likely=likely, router=router)
        self._kept = Runs() if likely else runs_of(candidate, self.probes, self.router)
        self._setups: dict[End, ReplicaSetup] = {}
        self._streams: dict[Cell, Basket] = {}
        self._links: dict[int, Link | None] = {}
        self._least: dict[tuple[Probe, float], float] = {}
        self._moved: dict[float, float] = {}
        self._evenly_kept: dict[tuple[Ask, End], float] = {}
        self._asked: set[object] = set()

    @property
    def is_tried(self) -> bool:
        """Whether it was simulated at any rate."""
        return bool(self._asked)

    @property
    def runs(self) -> int:
        """Simulations that were asked for, whether or not somebody had made them before."""
        return len(self._asked)

    def setup(self, end: End) -> ReplicaSetup:
        if end not in self._setups:
            self._setups[end] = self._one.simulated(end)
        return self._setups[end]

    def bound_rps(self, stage: Stage) -> float:
        """What a replica for this stage is never planned beyond, without a simulation."""
        return FULLEST * most_rps(self.setup("likely"), self._one.basket, stage)

    def worked_off_rps(self, stage: Stage, end: End = "likely") -> float:
        """Requests a second at which a replica for this stage works off a backlog."""
        found, key = self._kept.worked_off, (stage, end)
        self._asked.add(key)
        if key not in found:
            most, basket = self.candidate.most_running, self._one.basket
            found[key] = worked_off_rps(self.setup(end), basket, stage, most)
        return found[key]

    def link(self, pair: Pair) -> Link | None:
        """None where the replicas do not fit into one node and the catalogue knows no network."""
        if pair.replicas not in self._links:
            self._links[pair.replicas] = self._linked(pair)
        return self._links[pair.replicas]

    def _linked(self, pair: Pair) -> Link | None:
        rules = FleetRules(prefill_replicas=pair.prefill, decode_replicas=pair.decode)
        try:
            return link_of(self.candidate.deployment, rules)
        except BadInput:
            return None

    def saturated_rps(self, pair: Pair, end: End = "likely") -> float:
        """Of the whole fleet: the slower stage, or the links between them; 0 where there is no link."""
        link = self.link(pair)
        if link is None:
            return 0.0
        engines, moved_s = min(pair.prefill, pair.decode) * self.setup("likely").engines, self.moved_s(pair)
        prompts, answers = (self.worked_off_rps(stage, end) for stage in ("prompts", "answers"))
        return min(pair.prefill * prompts, pair.decode * answers, engines / moved_s)

    def least(self, planned_rps: float, end: End | None = None) -> Pair:
        """The fewest of either that the load takes, by what a replica works off; without `end`, by bounds alone."""
        counts = []
        for stage in ("prompts", "answers"):
            rps = self.bound_rps(stage) if end is None else FULLEST * self.worked_off_rps(stage, end)
            counts.append(min(_WIDEST, math.ceil(planned_rps / rps)))
        return Pair(*counts)

    def floor(self, planned_rps: float, asks: Asks, end: End) -> Pair:
        """The fewest of either that the load takes, by what a replica works off and by the steps that answers need."""
        least, answers_rps = self.least(planned_rps, end), self.answers_rps(asks, end)
        needed = math.ceil(planned_rps / answers_rps) if answers_rps > 0 else _WIDEST
        return replace(least, decode=min(_WIDEST, max(least.decode, needed)))

    def answers_rps(self, asks: Asks, end: End) -> float:
        """What a replica for answers is not planned beyond: what it keeps of an even stream, if nothing else."""
        kept = [self._evenly_kept_rps(ask, end) for ask in asks]
        return min(kept, default=math.inf)

    def _evenly_kept_rps(self, ask: Ask, end: End) -> float:
        """Infinite where an even stream says nothing; 0 where it is never kept."""
        share, key = share_of(ask.probe), (ask, end)
        if share is None:
            return math.inf
        if key not in self._evenly_kept:
            (most,), top = self.most((ask,), end), self.worked_off_rps("answers")
            *_before, (kept, _broken) = halved(top, lambda rps: self._evenly(rps, end)[ask.probe] <= most.most)
            self._evenly_kept[key] = kept / share
        return self._evenly_kept[key]

    def _evenly(self, requests_per_s: float, end: End) -> dict[Probe, float]:
        key, found = (end, requests_per_s), self._kept.evenly
        self._asked.add(key)
        if key not in found:
            stream, setup, link = even_stream(self.service), self.setup(end), self.link(_SMALLEST)
            assert link is not None
            before_s = before_answer_s(setup, stream, link)
            found[key] = evenly_answered(setup, stream, requests_per_s, before_s, self.probes)
        return found[key]

    def most(self, asks: Asks, end: End) -> Asks:
        """What a run may show, for predictions of latencies that were further off than those of steps."""
        if end == "likely":
            return asks
        return tuple(replace(ask, most=ask.most / self._one.further(ask.probe, end)) for ask in asks)

    def alone_keeps(self, pair: Pair, asks: Asks) -> bool:
        """Whether a request that is alone in such a fleet may keep what is asked, by the costs of steps."""
        return all(self.alone(pair, ask) <= ask.most for ask in asks)

    def alone(self, pair: Pair, ask: Ask) -> float:
        """The least that `ask` can come to, at the likely end; infinite where there is no link."""
        link = self.link(pair)
        if link is None:
            return math.inf
        key = ask.probe, link.bytes_per_s
        if key not in self._least:
            self._least[key] = self._alone(link, ask.probe)
        return self._least[key]

    def _alone(self, link: Link, probe: Probe) -> float:
        import numpy as np

        measure, setup, basket = probe.measure, self.setup("likely"), self._one.basket
        if isinstance(measure, Goodput):
            return max(
                float(np.percentile(least_s(setup, basket, link, latency), 100 * measure.share)) / limit
                for latency, limit in measure.limits
            )
        seconds = least_s(setup, basket, link, measure.latency)
        if not len(seconds):
            return 0.0
        return float(seconds.mean() if measure.percent is None else np.percentile(seconds, measure.percent))

    def moved_s(self, pair: Pair) -> float:
        """For the cache of a prompt to move, on average, when the link is free."""
        link = self.link(pair)
        if link is None:
            return math.inf
        if link.bytes_per_s not in self._moved:
            self._moved[link.bytes_per_s] = float(transfer_s(self.setup("likely"), self._one.basket, link).mean())
        return self._moved[link.bytes_per_s]
