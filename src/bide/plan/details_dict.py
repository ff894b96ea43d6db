"""What a plan says of the chosen option beyond its size, and of the search, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bide.interval import Interval
from bide.plan.answer import ServicePlan
from bide.plan.findings import Doubling, FrontierPoint, Reading, Row
from bide.plan.operation_dict import interval_dict
from bide.plan.telling import Saving, asked_point, savings


def details_dict(plan: ServicePlan) -> dict[str, Any]:
    """Keys of a service's object."""
    asked = asked_point(plan)
    return {
        "doublings": [_doubling(line) for line in plan.doublings],
        "frontier": _frontier(plan.frontier, asked),
        "together": _frontier(plan.together, asked),
        "streaming": _frontier(plan.streaming, asked),
        "swings": [asdict(swing) for swing in plan.swings],
        "tried": asdict(plan.tried) if plan.tried else None,
        "measure_with": plan.measure_with or None,
    }


def _doubling(line: Doubling) -> dict[str, Any]:
    return {"way": line.way, "tp": line.tp, "faster_share": line.faster, **row_dict(line)}


def row_dict(row: Row) -> dict[str, Any]:
    """A fleet and what it does at the planned rate."""
    return {
        "gpus": row.gpus,
        "replicas": row.replicas,
        "prefill_replicas": row.pair.prefill if row.pair else None,
        "decode_replicas": row.pair.decode if row.pair else None,
        "running_requests_per_gpu": row.running_per_gpu,
        "kept": row.met,
        "kept_surely": row.met_surely,
        **reading_dict(row.reading),
    }


def reading_dict(reading: Reading) -> dict[str, Any]:
    """What one replica does at a rate."""
    return {
        "requests_per_s_per_replica": reading.requests_per_s,
        "seconds": {measure.name: span_dict(seconds) for measure, seconds in reading.seconds.items()},
        "goodput_ratio": span_dict(reading.goodput_ratio),
        "running_requests": reading.running_requests,
        "prefill_share": reading.prefill_share,
        "cached_share": reading.cached_share,
        "preemptions_per_request": reading.preemptions_per_request,
        "bound": reading.bound,
    }


def span_dict(interval: Interval | None) -> dict[str, float | None] | None:
    """`high` is null where the slow end is unstable, the whole where the likely case is."""
    return None if interval is None else interval_dict(interval)


def _frontier(points: Sequence[FrontierPoint], asked: FrontierPoint | None) -> list[dict[str, Any]]:
    """Every point with what it saves against the one that was asked for."""
    return [_saving(saving, asked) for saving in savings(points, asked)]


def _saving(saving: Saving, asked: FrontierPoint | None) -> dict[str, Any]:
    point = saving.point
    return {
        "measure": point.measure.name,
        "seconds": point.seconds,
        "asked": point is asked,
        "candidate": point.candidate or None,
        "gpus": point.gpus,
        "gpus_surely": point.gpus_surely,
        "usd_per_month": point.usd_per_month,
        "usd_per_month_surely": point.usd_per_month_surely,
        "saved_gpus": saving.gpus,
        "saved_usd_per_month": saving.usd_per_month,
        "usd_per_month_per_second": saving.usd_per_second,
    }
