"""One replica at a rate, at the three ends of what its step times may be."""

from __future__ import annotations

import math

from bide.interval import Interval, spanning
from bide.metrics import LATENCIES, latency_s, summary
from bide.plan.answer import Reading
from bide.plan.candidate import Candidate
from bide.plan.question import Limit, Measure
from bide.records import RequestTable

_SHOWN_PERCENT = 95.0


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
        {measure: _seconds(tables, measure) for measure in shown_measures(patience)},
        steady.running_requests if steady else None,
        steady.prefill_share if steady else None,
        steady.bound if steady else "unstable",
    )


def _seconds(tables: list[RequestTable | None], measure: Measure) -> Interval | None:
    """Over the fast, likely and slow tables: an infinite end where only the slow one is unstable."""
    fast, likely, slow = (
        math.inf if table is None else summary(latency_s(table, measure.latency), measure.percent) for table in tables
    )
    return spanning(fast, likely, slow) if math.isfinite(likely) else None
