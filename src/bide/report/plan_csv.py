"""A plan's two tables as CSV: what each patience costs, and what each number of GPUs does."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from bide.interval import Interval
from bide.plan.answer import Plan, ServicePlan
from bide.plan.findings import Doubling, Row

_ENDS = ("low", "mid", "high")
_FLEET = (
    "service",
    "gpus",
    "replicas",
    "prefill_replicas",
    "decode_replicas",
    "way",
    "kept",
    "kept_surely",
    "requests_per_s_of_a_replica",
)


def frontier_csv(plan: Plan) -> str:
    """A row a limit; seconds and USD a month, empty where no fleet that is allowed does it."""
    header = ("service", "limit_on", "limit_s", "gpus", "gpus_surely", "usd_per_month", "usd_per_month_surely")
    rows = [
        (
            service.service.name,
            point.measure.name,
            point.seconds,
            point.gpus,
            point.gpus_surely,
            point.usd_per_month,
            point.usd_per_month_surely,
            point.candidate,
        )
        for service in plan.services
        for point in (*service.frontier, *service.streaming)
    ]
    return _text((*header, "replica"), rows)


def fleets_csv(plan: Plan) -> str:
    """A row a fleet: replicas, whether the patience is kept, and each latency with its range in seconds.

    How many replicas are for prompts and for answers is empty where they do both.
    """
    services = [(service, _lines(service)) for service in plan.services]
    measures = list(dict.fromkeys(m for _service, lines in services for line in lines for m in line.reading.seconds))
    names = [f"{measure.name}_{end}_s" for measure in measures for end in _ENDS]
    header = (*_FLEET, *names)
    rows = [
        (
            service.service.name,
            *_fleet(line),
            *(value for measure in measures for value in _ends(line.reading.seconds.get(measure))),
        )
        for service, lines in services
        for line in lines
    ]
    return _text(header, rows)


def _lines(service: ServicePlan) -> list[Row]:
    return [*service.rows, *service.around, *service.doublings]


def _fleet(line: Row) -> tuple[object, ...]:
    way = line.way if isinstance(line, Doubling) else "replicas"
    pair = (line.pair.prefill, line.pair.decode) if line.pair else (None, None)
    return line.gpus, line.replicas, *pair, way, line.met, line.met_surely, line.reading.requests_per_s


def _ends(found: Interval | None) -> tuple[float | None, ...]:
    return (None,) * len(_ENDS) if found is None else (found.low, found.mid, found.high)


def _text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
