"""A plan as plain data: the object that `bide plan --json` prints (schema bide.plan/1)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bide.plan.answer import Plan, ServicePlan
from bide.plan.asked_dict import service_dict
from bide.plan.details_dict import details_dict, reading_dict, row_dict, span_dict
from bide.plan.flags import serve_command, serving
from bide.plan.measured.as_dict import measured_dict
from bide.plan.measured.capacity import measured_of
from bide.plan.operation_dict import (
    cost_dict,
    mixed_dict,
    operation_dict,
    shared_dict,
    source_dict,
    verified_dict,
)
from bide.plan.option import Option
from bide.plan.pools_dict import pools_dict
from bide.plan.question import Service
from bide.workload.requests import LengthSummary, summarise


def plan_dict(plan: Plan) -> dict[str, Any]:
    """Everything in the plan; numbers that do not exist (unstable load, no price) are null."""
    hardware = plan.question.hardware
    return {
        "feasible": plan.feasible,
        "gpus": plan.gpus,
        "gpus_surely": plan.gpus_surely,
        "usd_per_hour": plan.usd_per_hour,
        "usd_per_month": plan.usd_per_month,
        "usd_per_month_surely": plan.usd_per_month_surely,
        "hardware": {
            "gpus": [gpu.id for gpu in hardware.gpus],
            "max_gpus": hardware.max_gpus,
            "prices": dict(hardware.prices),
            "price_multiplier": hardware.price_multiplier,
            "price_note": hardware.price_note,
        },
        "fleet": asdict(plan.question.fleet),
        "services": [_service(service) for service in plan.services],
        "shared": [shared_dict(shared) for shared in plan.shared],
        "question": {"given": dict(plan.question.given), "flags": list(plan.question.flags)},
        "rejection": plan.over_limit.to_dict() if plan.over_limit else None,
        "profile": {name: getattr(plan.profile, name) for name in ("name", "date", "summary")},
        "assumptions": [assumption.to_dict() for assumption in plan.question.assumptions],
    }


def _service(plan: ServicePlan) -> dict[str, Any]:
    service = plan.service
    assumptions = (*service.workload.assumptions, *(plan.chosen.candidate.assumptions if plan.chosen else ()))
    return {
        **service_dict(service),
        "workload": _workload(service),
        "chosen": _option(plan.chosen) if plan.chosen else None,
        "others": [_option(option) for option in plan.others],
        "fleets": [row_dict(row) for row in plan.rows],
        "fleets_around": [row_dict(row) for row in plan.around],
        "verified": verified_dict(plan.verified) if plan.verified else None,
        **details_dict(plan),
        "mixed": mixed_dict(plan.mixed) if plan.mixed else None,
        "operation": operation_dict(plan.operation) if plan.operation else None,
        "rejections": [rejection.to_dict() for rejection in plan.rejections],
        "assumptions": [assumption.to_dict() for assumption in assumptions],
    }


def _workload(service: Service) -> dict[str, Any]:
    work = service.workload
    return {
        "requests": len(work),
        "prompt_tokens": _lengths(summarise(work.prompt_tokens)),
        "output_tokens": _lengths(summarise(work.output_tokens)),
        "mean_resident_tokens": work.mean_resident_tokens,
        "largest_tokens": work.largest_tokens,
        "burstiness": work.burstiness,
        "source": source_dict(work.source),
        "notes": list(work.notes),
    }


def _lengths(lengths: LengthSummary) -> dict[str, float]:
    return {name: getattr(lengths, name) for name in LengthSummary.__dataclass_fields__}


def _option(option: Option) -> dict[str, Any]:
    candidate, memory = option.candidate, option.candidate.memory
    measured = measured_of(candidate)
    return {
        "name": option.name,
        "gpu": candidate.gpu.id,
        "setting": dict(candidate.setting),
        "tp": candidate.deployment.tp,
        "replica_gpus": candidate.gpus,
        "replicas": option.replicas,
        "replicas_surely": option.replicas_surely,
        "replicas_fast": option.replicas_fast,
        "spare_replicas": option.spare,
        "gpus": option.gpus,
        "gpus_surely": option.gpus_surely,
        "memory": {
            "kv_bytes_per_token_per_gpu": memory.kv.per_gpu.growing_bytes_per_token,
            "request_bytes_per_gpu": candidate.held_bytes,
            "requests_at_once": candidate.likely.slots,
            "pool_bytes_per_gpu": span_dict(memory.pool_bytes),
            "ledger": memory.ledger.to_dict(),
        },
        "reading": reading_dict(option.reading),
        "measured": measured_dict(measured) if measured else None,
        "highest_kept_rps_per_replica": span_dict(option.kept_rps),
        "highest_stable_rps_per_replica": span_dict(option.highest_stable_rps),
        "cost": cost_dict(option.cost) if option.cost else None,
        "pools": pools_dict(option, option.pools) if option.pools else None,
        **_serve(option),
    }


def _serve(option: Option) -> dict[str, Any]:
    """The command of a replica; of a disaggregated fleet they are among its pools."""
    if option.pools is not None:
        return {"serve": None, "serve_remarks": []}
    deployment = option.candidate.deployment
    return {"serve": serve_command(deployment), "serve_remarks": list(serving(deployment).remarks)}
