"""One replica at a rate, at the three ends of what its step times and its pool may be."""

from __future__ import annotations

import math
from collections.abc import Collection
from itertools import islice

from bide.interval import Interval, spanning
from bide.metrics import LATENCIES
from bide.plan.asks import Probe, asks_of
from bide.plan.candidate import Candidate, End
from bide.plan.capacity import Capacity
from bide.plan.findings import Reading
from bide.plan.measured.capacity import MeasuredCapacity, measured_of
from bide.plan.mix import requests_at_once
from bide.plan.question import Limit, Measure, Service
from bide.simulate.fleet.rules import RouterName
from bide.simulate.operating import Bound, Load, Mix
from bide.simulate.solved import largest_part, solve

_SHOWN_PERCENT = 95.0
_FULL = 0.7
"""From this share of the slots on, in the mean, they are often all taken, and room for more requests is what binds."""


def shown_measures(patience: tuple[Limit, ...]) -> tuple[Measure, ...]:
    """What is asked of each latency, in the order TTFT, TPOT, E2E, ITL; the 95th percentile where nothing is."""
    shown: list[Measure] = []
    for latency in (*LATENCIES, "itl"):
        asked = [limit.measure for limit in patience if limit.measure.latency == latency]
        shown += asked or ([Measure(latency, _SHOWN_PERCENT)] if latency in LATENCIES else [])
    return tuple(dict.fromkeys(shown))


def shown_probes(service: Service) -> tuple[Probe, ...]:
    """The same as a run takes them, over all requests, and the goodput."""
    probes = [Probe(measure) for measure in shown_measures(service.patience)]
    return (*probes, Probe(service.goodput)) if service.goodput else tuple(probes)


def capacity_of(candidate: Candidate, *probes: Probe, router: RouterName = "round-robin") -> Capacity:
    """The candidate's simulations, or its benchmark, with everything that a reading shows."""
    shown, measured = (*shown_probes(candidate.service), *probes), measured_of(candidate)
    if measured is not None:
        return MeasuredCapacity(candidate, measured, shown, router)
    return Capacity(candidate, shown, router=router)


def read_replica(capacity: Capacity, requests_per_s: float, replicas: int = 1, kept: Collection[End] = ()) -> Reading:
    """One of `replicas`, each at `requests_per_s`, measured as its service asks.

    `kept`: the ends at which the search found that many to be enough.
    """
    service = capacity.candidate.service
    seen = capacity.at(requests_per_s, replicas=replicas)
    measures = shown_measures(service.patience)
    return Reading(
        requests_per_s,
        {measure: _interval(capacity, requests_per_s, Probe(measure), replicas, kept) for measure in measures},
        seen.running if seen else None,
        seen.prefill_share if seen else None,
        bound_of(capacity.candidate, seen.running) if seen else "unstable",
        goodput_ratio=_interval(capacity, requests_per_s, Probe(service.goodput), replicas, kept)
        if service.goodput
        else None,
        cached_share=seen.cached_share if seen else None,
        preemptions_per_request=seen.preemptions_per_request if seen else None,
    )


def _interval(
    capacity: Capacity, requests_per_s: float, probe: Probe, replicas: int, kept: Collection[End]
) -> Interval | None:
    """From the fast to the slow end; an infinite end where only the slow one is too busy."""

    def at(end: End) -> float:
        return _promised(capacity, requests_per_s, probe, end, replicas, end in kept)

    likely = at("likely")
    return spanning(min(at("fast"), likely), likely, at("slow")) if math.isfinite(likely) else None


def _promised(capacity: Capacity, requests_per_s: float, probe: Probe, end: End, replicas: int, kept: bool) -> float:
    """At this rate, or less where that much is kept at a higher one: more load is never taken to be faster.

    What other runs stay below is told of a run, and by chance may be more at a rate than at one above it.
    """
    value, asks = capacity.value(requests_per_s, probe, end, replicas), asks_of(capacity.candidate.service)
    if not kept or all(ask.probe != probe or value <= ask.most for ask in asks):
        return value
    above = (rate for rate, _broken in capacity.halving(asks, end, replicas) if rate >= requests_per_s)
    return min([value, *(capacity.value(rate, probe, end, replicas) for rate in islice(above, 1))])


def bound_of(candidate: Candidate, running: float) -> Bound:
    """What more of would help most: room for requests, or what the largest part of a token's time is spent on."""
    case, work = candidate.case, candidate.service.workload
    room = requests_at_once(candidate.memory.pool, candidate.held) * candidate.deployment.dp
    if running > _FULL * int(min(room, case.most_requests)):
        return "memory" if room < case.most_requests else "max_num_seqs"
    mix = Mix(float(work.prompt_tokens.mean()), float(work.output_tokens.mean()))
    return largest_part(next(solve(candidate.profile, [case], [mix], [Load("concurrency", running)]).rows()))
