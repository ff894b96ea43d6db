"""One replica at a rate, at the three ends of what its step times may be."""

from __future__ import annotations

import math

from bide.interval import Interval, spanning
from bide.metrics import LATENCIES, latency_s, summary
from bide.plan.answer import Reading
from bide.plan.candidate import Candidate
from bide.plan.question import Limit, Measure
from bide.records import RequestTable
from bide.simulate.operating import Bound, Load, Mix
from bide.simulate.solved import largest_part, solve
from bide.simulate.steady import Steady

_SHOWN_PERCENT = 95.0
_FULL = 0.9
"""From this share of the slots on, room for more requests is what binds."""


def shown_measures(patience: tuple[Limit, ...]) -> tuple[Measure, ...]:
    """What is asked of each latency, in the order TTFT, TPOT, E2E; the 95th percentile where nothing is."""
    shown: list[Measure] = []
    for latency in LATENCIES:
        asked = [limit.measure for limit in patience if limit.measure.latency == latency]
        shown += asked or [Measure(latency, _SHOWN_PERCENT)]
    return tuple(dict.fromkeys(shown))


def read_replica(candidate: Candidate, patience: tuple[Limit, ...], requests_per_s: float) -> Reading:
    """A replica of `candidate` at `requests_per_s`, measured as `patience` asks."""
    tables = [replica.requests(requests_per_s) for replica in candidate.ends]
    steady = candidate.likely.at(requests_per_s)
    return Reading(
        requests_per_s,
        {measure: _seconds(candidate, tables, measure) for measure in shown_measures(patience)},
        steady.running_requests if steady else None,
        steady.prefill_share if steady else None,
        _bound(candidate, steady) if steady else "unstable",
    )


def _seconds(candidate: Candidate, tables: list[RequestTable | None], measure: Measure) -> Interval | None:
    """Over the fast, likely and slow tables: an infinite end where only the slow one is unstable.

    The ends are no nearer than predictions of this latency were off: a TTFT repeats worse than the steps that it is of.
    """
    fast, likely, slow = (
        math.inf if table is None else summary(latency_s(table, measure.latency), measure.percent) for table in tables
    )
    low, high = candidate.spread(measure.latency)
    return spanning(min(fast, likely * low), likely, max(slow, likely * high)) if math.isfinite(likely) else None


def _bound(candidate: Candidate, steady: Steady) -> Bound:
    """What more of would help most: room for requests, or what the largest part of a token's time is spent on."""
    replica = candidate.likely
    if steady.running_requests > _FULL * replica.slots:
        return "memory" if replica.pool_requests < replica.most_requests else "max_num_seqs"
    work = replica.workload
    mix = Mix(float(work.prompt_tokens.mean()), float(work.output_tokens.mean()))
    load = Load("concurrency", steady.running_requests)
    row = next(solve(candidate.profile, [candidate.case], [mix], [load]).rows())
    return largest_part(row | {"prefill_s": steady.tpot_s - steady.decode_step_s})
