"""What running a fleet means, as plain data: cost, energy, an API instead, the hours of the day, thresholds."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from bide.interval import Interval
from bide.plan.autoscale import Autoscaling
from bide.plan.break_even import BreakEven
from bide.plan.cost import Cost, UnitCost
from bide.plan.energy import Energy
from bide.plan.findings import Verified
from bide.plan.operation import Operation
from bide.plan.option import Option
from bide.plan.scaling import Scaling
from bide.plan.sharing import SharedFleet
from bide.plan.splitting import MixedFleet, Part
from bide.plan.thresholds import Thresholds
from bide.sourced import Source


def cost_dict(cost: Cost) -> dict[str, Any]:
    """The bill, and what it comes to for each of what is served."""
    mean = cost.at_mean
    return {
        "usd_per_gpu_hour": cost.price.usd_per_hour,
        "price_multiplier": cost.price.multiplier,
        "usd_per_hour": cost.usd_per_hour,
        "usd_per_month": cost.usd_per_month,
        "usd_per_million_tokens_at_peak": cost.usd_per_million_tokens,
        "usd_per_million_output_tokens_at_peak": cost.usd_per_million_output_tokens,
        "usd_per_user_month": cost.usd_per_user_month,
        "prefill_share_of_busy_time": cost.prefill_share,
        "mean_share_of_peak": cost.mean_share,
        "at_peak": _units(cost.at_peak),
        "at_mean": _units(mean) if mean else None,
        "price": source_dict(cost.price.source),
    }


def _units(unit: UnitCost) -> dict[str, Any]:
    return {
        "requests_per_s": unit.flow.requests_per_s,
        "usd_per_request": unit.usd_per_request,
        "usd_per_million_tokens": unit.usd_per_million_tokens,
        "usd_per_million_input_tokens": unit.usd_per_million_input_tokens,
        "usd_per_million_output_tokens": unit.usd_per_million_output_tokens,
        "usd_per_million_output_tokens_alone": unit.usd_per_million_output_tokens_alone,
    }


def operation_dict(operation: Operation) -> dict[str, Any]:
    """Null where a thing is not known: a TDP, an API's price, the hours of the day.

    Of a disaggregated fleet `autoscaling` is of both pools together, and each has thresholds of its own under `pools`.
    """
    return {
        "energy_at_most": _energy(operation.energy) if operation.energy else None,
        "api": _api(operation.api) if operation.api else None,
        "autoscaling": _autoscaling(operation.autoscaling) if operation.autoscaling else None,
        "thresholds": thresholds_dict(operation.thresholds) if operation.thresholds else None,
        "pools": {scaling.role: _pool(scaling) for scaling in operation.scalings if scaling.role} or None,
    }


def _pool(scaling: Scaling) -> dict[str, Any]:
    """Of replicas that do one of the two stages."""
    return {
        "autoscaling": _autoscaling(scaling.autoscaling) if scaling.autoscaling else None,
        "thresholds": thresholds_dict(scaling.thresholds),
    }


def _energy(energy: Energy) -> dict[str, Any]:
    return {
        "tdp_w": energy.tdp_w,
        "watts": energy.watts,
        "kwh_per_month": energy.kwh_per_month,
        "kwh_per_million_tokens_at_peak": energy.kwh_per_million_tokens,
        "kwh_per_million_output_tokens_at_peak": energy.kwh_per_million_output_tokens,
        "kwh_per_million_tokens_at_mean": energy.kwh_per_million_tokens_at_mean,
        "tdp": source_dict(energy.source),
    }


def _api(api: BreakEven) -> dict[str, Any]:
    return {
        "usd_per_million_input_tokens": api.price.usd_per_million_input_tokens,
        "usd_per_million_output_tokens": api.price.usd_per_million_output_tokens,
        "usd_per_request": api.usd_per_request,
        "break_even_requests_per_s": api.requests_per_s,
        "break_even_tokens_per_month": api.tokens_per_month,
        "within_reach": api.within_reach,
        "served_requests_per_s": api.served_rps,
        "carried_requests_per_s": api.carried_rps,
        "owning_is_cheaper": api.owning_is_cheaper,
        "api_usd_per_month": api.api_usd_per_month,
        "fleet_usd_per_month": api.fleet_usd_per_month,
    }


def _autoscaling(scaled: Autoscaling) -> dict[str, Any]:
    return {
        **asdict(scaled),
        "replicas_by_hour": list(scaled.replicas_by_hour),
        "usd_saved_per_month_scheduled": scaled.usd_saved_per_month,
        "usd_saved_per_month_reactive": scaled.usd_saved_per_month_reactive,
    }


def thresholds_dict(found: Thresholds) -> dict[str, Any]:
    """The figures, and the arithmetic of each under `why`."""
    return {**asdict(found), "why": dict(found.why)}


def mixed_dict(mixed: MixedFleet) -> dict[str, Any]:
    return {
        "threshold_prompt_tokens": mixed.threshold_tokens,
        "short_share_of_requests": mixed.short_share,
        "gpus": mixed.gpus,
        "usd_per_hour": mixed.usd_per_hour,
        "saved_usd_per_hour": mixed.saved_usd_per_hour,
        "short": _part(mixed.short),
        "long": _part(mixed.long),
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        **_fleet(part.option),
        "verified": verified_dict(part.verified) if part.verified else None,
        "operation": operation_dict(part.operation) if part.operation else None,
    }


def shared_dict(shared: SharedFleet) -> dict[str, Any]:
    return {
        "services": list(shared.services),
        **_fleet(shared.option),
        "verified": {name: verified_dict(one) for name, one in zip(shared.services, shared.verified, strict=False)},
        "saved_gpus": shared.saved_gpus,
        "saved_usd_per_hour": shared.saved_usd_per_hour,
        "operation": operation_dict(shared.operation) if shared.operation else None,
    }


def verified_dict(found: Verified) -> dict[str, Any]:
    """The whole fleet as it was simulated; intervals are those of the run."""
    return {
        "replicas": found.replicas,
        "added_replicas": found.added,
        "router": found.router,
        "requests": found.requests,
        "seconds": {measure.name: interval_dict(seconds) for measure, seconds in found.seconds.items()},
        "goodput": interval_dict(found.goodput) if found.goodput else None,
        "prefill_replicas": found.pair.prefill if found.pair else None,
        "decode_replicas": found.pair.decode if found.pair else None,
        "chosen_before": list(found.overtaken),
        "kept": found.met,
        "stationary": found.stationary,
    }


def interval_dict(interval: Interval) -> dict[str, float | None]:
    """What is not finite is null."""
    return {name: value if math.isfinite(value) else None for name, value in interval.to_dict().items()}


def _fleet(option: Option) -> dict[str, Any]:
    return {
        "candidate": option.candidate.name,
        "gpu": option.candidate.gpu.id,
        "replica_gpus": option.candidate.gpus,
        "replicas": option.replicas,
        "spare_replicas": option.spare,
        "gpus": option.gpus,
        "gpus_surely": option.gpus_surely,
        "cost": cost_dict(option.cost) if option.cost else None,
    }


def source_dict(source: Source) -> dict[str, Any]:
    return {"text": source.text, "checked": source.checked or None, "kind": source.kind, "verified": source.verified}
