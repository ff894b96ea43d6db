"""What a plan says of the chosen option beyond its size, and of the search, as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bide.plan.answer import Doubling, FrontierPoint, ServicePlan
from bide.plan.operation_dict import interval_dict


def details_dict(plan: ServicePlan) -> dict[str, Any]:
    """Keys of a service's object."""
    return {
        "doublings": [_doubling(line) for line in plan.doublings],
        "frontier": [_point(point) for point in plan.frontier],
        "streaming": [_point(point) for point in plan.streaming],
        "swings": [asdict(swing) for swing in plan.swings],
        "tried": asdict(plan.tried) if plan.tried else None,
        "measure_with": plan.measure_with or None,
    }


def _doubling(line: Doubling) -> dict[str, Any]:
    seconds = {
        measure.name: None if interval is None else interval_dict(interval)
        for measure, interval in line.reading.seconds.items()
    }
    return {
        "way": line.way,
        "gpus": line.gpus,
        "replicas": line.replicas,
        "tp": line.tp,
        "running_per_gpu": line.running_per_gpu,
        "seconds": seconds,
        "bound": line.reading.bound,
        "kept": line.met,
        "faster": line.faster,
    }


def _point(point: FrontierPoint) -> dict[str, Any]:
    """`measure` as in the service file."""
    return {**asdict(point), "measure": point.measure.name}
