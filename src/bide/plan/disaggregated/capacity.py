"""The highest rate at which a fleet of so many replicas for prompts and so many for answers keeps what is asked.

As for a single replica (`plan.capacity`): each pair of counts has a rate R, found by halving a grid that is fixed
for it, so that a longer patience never lowers R. A pair is enough for a load of at most R. A longer patience or a lower
load leaves every pair enough that was, and the pair of the fewest replicas is looked for by questions that depend
on neither: **their number never grows with patience and never shrinks with load**.

What rules a pair out without its run depends on patience and load in the same direction: the rates at which
either stage works off a backlog, the least time of a request that is alone, and what the prompts alone take.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from bide.errors import BadInput
from bide.plan.asks import Ask, Asks, Probe, asks_of
from bide.plan.basket import Basket, run_requests, stream_of
from bide.plan.candidate import Candidate, End
from bide.plan.capacity import FULLEST, Capacity, halved
from bide.plan.disaggregated.pair import Pair
from bide.plan.disaggregated.stages import Stage, least_s, most_rps, transfer_s, worked_off_rps
from bide.plan.disaggregated.watch import Answering, PairSeen, Prompts, after_prompts, computed, watch_pair
from bide.plan.question import Goodput
from bide.plan.remembered import Runs, runs_of
from bide.simulate.fleet.link import Link, link_of
from bide.simulate.fleet.rules import BLIND, FleetRules, RouterName
from bide.simulate.replica_setup import ReplicaSetup

_MOST_STREAM = 65_536
_LONG = 4
"""Times as many answers as usual, where the usual run leaves it open."""
_MOST_DIFFERENT = 16_384
"""Requests of a longer run than usual: more of the same would be no surer."""
_WIDEST = 10_000
_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Of replicas that answer: those that are asked for first."""
_TRIED = 4
"""Times as many replicas for prompts as the load takes at least (and one more): with still more there is no hope."""
_KEPT_PROMPTS = 4
_IDLE = 1e-4
"""Of the rate at which a fleet works off a backlog."""


class PairCapacity:
    """One candidate's simulated fleets: what was simulated once is not simulated again."""

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
        self._prompts: dict[tuple[End, float, int, int], Prompts] = {}
        """The latest few: a pair's own are asked for twice in a row, and others' seldom."""
        self._kept = Runs() if likely else runs_of(candidate, self.probes, self.router)
        self._alone: dict[tuple[Asks, End], bool] = {}
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
        return self._one.simulated(end)

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

    def stream(self, pair: Pair, times: int = 1) -> Basket:
        """Requests of the whole fleet, so that a replica for answers gets as many as one of a fleet usually does."""
        turns = 1 << (pair.decode - 1).bit_length()
        return stream_of(self.service, min(_MOST_STREAM, max(turns, times) * run_requests(self.service)))

    def _prompts_of(self, requests_per_s: float, pair: Pair, end: End, times: int) -> Prompts:
        stream = self.stream(pair, times)
        key = (end, requests_per_s, pair.prefill, len(stream))
        self._asked.add(key)
        if key not in self._prompts:
            while len(self._prompts) >= _KEPT_PROMPTS:
                del self._prompts[next(iter(self._prompts))]
            self._prompts[key] = computed(self.setup(end), stream, requests_per_s, pair.prefill, self.router)
        return self._prompts[key]

    def at(self, requests_per_s: float, pair: Pair, end: End = "likely", times: int = 1) -> PairSeen | None:
        """The fleet at a rate, over `times` the usual answers; None where it is too busy."""
        link = self.link(pair)
        if link is None or requests_per_s > FULLEST * self.saturated_rps(pair, end):
            return None
        key, found = (end, requests_per_s, pair, times), self._kept.pairs
        self._asked.add(key)
        if key not in found:
            setup, prompts = self.setup(end), self._prompts_of(requests_per_s, pair, end, times)
            engines = pair.decode * setup.engines
            simulated = min(engines, math.ceil(engines * self._answers(times) / len(prompts.requests)))
            answering = Answering(link, engines, simulated, self.router, pair.prefill)
            found[key] = watch_pair(setup, prompts, answering, self.probes, requests_per_s)
        return found[key]

    def _answers(self, times: int) -> int:
        usual = run_requests(self.service)
        return min(times * usual, max(usual, min(len(self.service.workload), _MOST_DIFFERENT)))

    def value(self, requests_per_s: float, pair: Pair, probe: Probe, end: End = "likely") -> float:
        """What is promised of `probe`, as `Capacity.value` is; infinite where the fleet is too busy."""
        seen, longer = (self.at(requests_per_s, pair, end, times) for times in (1, _LONG))
        if seen is None or longer is None:
            return math.inf
        value, above = seen.values[probe]
        return min(above, max(value, longer.values[probe][1])) * self._one.further(probe, end)

    def keeps(self, requests_per_s: float, pair: Pair, asks: Asks, end: End = "likely") -> bool:
        """Whether `value` is within everything that is asked; nothing is run that does not decide."""
        if requests_per_s > FULLEST * self.saturated_rps(pair, end) or not self.alone_keeps(pair, asks):
            return False
        most = self._most(asks, end)
        if not self._prompts_keep(requests_per_s, pair, most, end):
            return False
        seen = self.at(requests_per_s, pair, end)
        if seen is None or any(seen.values[ask.probe][0] > ask.most for ask in most):
            return False
        opened = [ask for ask in most if seen.values[ask.probe][1] > ask.most]
        if not opened:
            return True
        longer = self.at(requests_per_s, pair, end, _LONG)
        return longer is not None and all(longer.values[ask.probe][1] <= ask.most for ask in opened)

    def _most(self, asks: Asks, end: End) -> Asks:
        """What a run may show, for predictions of latencies that were further off than those of steps."""
        return tuple(replace(ask, most=ask.most / self._one.further(ask.probe, end)) for ask in asks)

    def _prompts_keep(self, requests_per_s: float, pair: Pair, asks: Asks, end: End) -> bool:
        """Whether the prompts alone leave it open."""
        return all(self._after_prompts(requests_per_s, pair, end)[ask.probe] <= ask.most for ask in asks)

    def _after_prompts(self, requests_per_s: float, pair: Pair, end: End) -> dict[Probe, float]:
        """The least that everything can come to, once the prompts are computed."""
        link, stream = self.link(pair), self.stream(pair)
        assert link is not None
        key, found = (end, requests_per_s, pair.prefill, len(stream), link.bytes_per_s), self._kept.after_prompts
        if key not in found:
            after_s = transfer_s(self.setup(end), stream, link) + link.latency_s
            prompts = self._prompts_of(requests_per_s, pair, end, 1)
            found[key] = {probe: after_prompts(prompts, probe, after_s) for probe in self.probes}
        return found[key]

    def alone_keeps(self, pair: Pair, asks: Asks) -> bool:
        """Whether a request that is alone in such a fleet may keep what is asked, by the costs of steps."""
        return all(self.alone(pair, ask) <= ask.most for ask in asks)

    def alone(self, pair: Pair, ask: Ask) -> float:
        """The least that `ask` can come to, at the likely end; infinite where there is no link."""
        import numpy as np

        measure, link, setup, basket = ask.probe.measure, self.link(pair), self.setup("likely"), self._one.basket
        if link is None:
            return math.inf
        if isinstance(measure, Goodput):
            return max(
                float(np.percentile(least_s(setup, basket, link, latency), 100 * measure.share)) / limit
                for latency, limit in measure.limits
            )
        seconds = least_s(setup, basket, link, measure.latency)
        if not len(seconds):
            return 0.0
        return float(seconds.mean() if measure.percent is None else np.percentile(seconds, measure.percent))

    def halving(self, pair: Pair, asks: Asks, end: End = "likely") -> Iterator[tuple[float, float]]:
        """(a rate that is kept, a rate that is not), nearer and nearer."""
        return halved(self.saturated_rps(pair), lambda rate: self.keeps(rate, pair, asks, end))

    def highest_rate(self, pair: Pair, asks: Asks, end: End = "likely") -> float:
        """Requests a second of the whole fleet, to a step of the grid; 0 where none holds."""
        if not self.saturated_rps(pair):
            return 0.0
        kept, _broken = list(self.halving(pair, asks, end))[-1]
        return min(kept, self.highest_rate(pair, asks)) if end == "slow" else kept

    def is_enough(self, pair: Pair, planned_rps: float, asks: Asks, end: End = "likely") -> bool:
        """Whether the load is at most the pair's highest rate; halving ends as soon as that is certain."""
        if end == "slow" and not self.is_enough(pair, planned_rps, asks):
            return False
        if planned_rps > FULLEST * self.saturated_rps(pair, end) or not self.alone_keeps(pair, asks):
            return False
        kept = 0.0
        for kept, broken in self.halving(pair, asks, end):
            if planned_rps <= kept or planned_rps >= broken:
                break
        return planned_rps <= kept

    def fewest(self, planned_rps: float, most: int, asks: Asks, end: End = "likely") -> Pair | None:
        """The pair of the fewest replicas that are enough; None where that is more than `most`.

        For each number that computes prompts the fewest that answer, as far as these together may be fewer.
        """
        if self.least(planned_rps).replicas > most or not self.may(asks, end):
            return None
        floor, found = self.least(planned_rps, end), None
        for prefill in range(floor.prefill, min(most, _TRIED * (floor.prefill + 1)) + 1):
            if prefill + floor.decode > most:
                break
            if not self._prompts_enough(prefill, planned_rps, asks, end):
                continue
            decode = self._fewest_decode(prefill, most - prefill, planned_rps, asks, end)
            if decode is not None:
                found, most = Pair(prefill, decode), prefill + decode - 1
        return found

    def _fewest_decode(self, prefill: int, most: int, planned_rps: float, asks: Asks, end: End) -> int | None:
        """The fewest that answer beside `prefill`, at most `most`.

        The first of a fixed row of counts that is enough, then halving between it and the one before: the same
        questions whatever load and patience are, so that the answer moves as each of them does.
        """
        low = 0
        for high in _COUNTS:
            if self.is_enough(Pair(prefill, high), planned_rps, asks, end):
                break
            low = high
            if low >= most:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            enough = self.is_enough(Pair(prefill, middle), planned_rps, asks, end)
            low, high = (low, middle) if enough else (middle, high)
        return high if high <= most else None

    def _prompts_enough(self, prefill: int, planned_rps: float, asks: Asks, end: End) -> bool:
        """Whether the load is at most the rate up to which the prompts alone leave it open, however many answer."""
        widest, most = Pair(prefill, prefill), self._most(asks, end)
        if self.link(widest) is None:  # too many for a node, on a card without a network: smaller ones may do
            return True
        top = prefill * self.worked_off_rps("prompts")
        busiest = FULLEST * prefill * self.worked_off_rps("prompts", end)
        kept = 0.0
        for kept, broken in halved(top, lambda rate: rate <= busiest and self._prompts_keep(rate, widest, most, end)):
            if planned_rps <= kept or planned_rps >= broken:
                break
        return planned_rps <= kept

    def may(self, asks: Asks, end: End = "likely") -> bool:
        """Whether the smallest fleet, whose links are the fastest, keeps what is asked when it is next to idle."""
        if (asks, end) not in self._alone:
            one = Pair(1, 1)
            self._alone[asks, end] = self.saturated_rps(one) > 0 and self.keeps(self.idle_rps(one), one, asks, end)
        return self._alone[asks, end]

    def idle_rps(self, pair: Pair) -> float:
        """A rate at which hardly any two requests meet."""
        return _IDLE * self.saturated_rps(pair)

    def moved_s(self, pair: Pair) -> float:
        """For the cache of a prompt to move, on average, when the link is free."""
        link = self.link(pair)
        return float(transfer_s(self.setup("likely"), self._one.basket, link).mean()) if link else math.inf
