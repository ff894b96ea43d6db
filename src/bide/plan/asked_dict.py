"""What a service asks for, as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bide.plan.question import Goodput, Service, Traffic


def service_dict(service: Service) -> dict[str, Any]:
    """The question of one service, but for its workload."""
    return {
        "name": service.name,
        "model": service.model.name,
        "traffic": _traffic(service.traffic),
        "patience": {limit.measure.name: limit.seconds for limit in service.patience},
        "goodput": _goodput(service.goodput) if service.goodput else None,
        "deployment": dict(service.engine),
        "choices": {key: list(values) for key, values in service.choices.items()},
        "disaggregated": list(service.disaggregated),
        "api_price": asdict(service.api_price) if service.api_price else None,
    }


def _traffic(traffic: Traffic) -> dict[str, Any]:
    return {
        "peak_rps": traffic.peak_rps,
        "peak_from": traffic.peak_from or None,
        "growth": traffic.growth,
        "margin": traffic.margin,
        "planned_rps": traffic.planned_rps,
        "hours": list(traffic.hours) or None,
        "hours_from": traffic.hours_from or None,
        "users": traffic.users,
    }


def _goodput(goodput: Goodput) -> dict[str, Any]:
    return {"share": goodput.share, "limits_s": dict(goodput.limits)}
