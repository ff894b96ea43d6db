"""Curves and points as plain values: the stable keys of `bide curve --json` and `--batch`."""

from __future__ import annotations

import math
from collections.abc import Collection

from bide.simulate.operating import Curve, Parts, Point


def curve_dict(curve: Curve, front: Collection[int] = ()) -> dict[str, object]:
    """What was run, and its points; `front` are those on the Pareto front. Null: not known, or no such load."""
    deployment, knee = curve.deployment, curve.knee
    return {
        "model": deployment.model.name,
        "gpu": deployment.gpu.id if deployment.gpu else None,
        "gpus": curve.gpus,
        **{key: getattr(deployment, key) for key in ("tp", "pp", "dp", "ep", "weights", "kv_dtype")},
        "engine": deployment.engine.name,
        "engine_version": deployment.engine.version_text,
        "prompt_tokens": curve.mix.prompt_tokens,
        "output_tokens": curve.mix.output_tokens,
        "points": [_placed(curve, point, number in front) for number, point in enumerate(curve.points)],
        "knee": curve.points.index(knee) if knee in curve.points else None,
        "slots": curve.slots if math.isfinite(curve.slots) else None,
        "kv_outweighs_weights_at": curve.kv_outweighs_weights_at,
        "usd_per_hour": curve.usd_per_hour(),
        "step_source": curve.step_source,
        "assumptions": [assumption.to_dict() for assumption in deployment.assumptions],
        "warnings": list(curve.warnings),
    }


def _placed(curve: Curve, point: Point, on_front: bool) -> dict[str, object]:
    """A point with what only its curve knows."""
    return {
        "load": {point.load.kind: point.load.value},
        **point_dict(point),
        "parts": parts_dict(point),
        "tokens_per_s_per_user": tokens_per_s_per_user(point),
        "output_tokens_per_s_per_gpu": curve.output_tokens_per_s_per_gpu(point),
        "usd_per_million_output_tokens": curve.usd_per_million_output_tokens(point),
        "pareto": on_front,
    }


def tokens_per_s_per_user(point: Point) -> float | None:
    """How fast one answer streams, once it has begun: 1 / TPOT."""
    return 1 / point.tpot_s if point.tpot_s else None


def point_dict(point: Point) -> dict[str, object]:
    """One point: times in seconds, rates of the whole replica, intervals as [10th, 90th percentile] by metric."""
    unstable = point.bound == "unstable"
    return {
        "ttft_s": None if unstable else point.ttft_s,
        "tpot_s": point.tpot_s,
        "itl_s": point.itl_s,
        "e2e_s": None if unstable else point.e2e_s,
        "output_tokens_per_s": point.output_tokens_per_s,
        "requests_per_s": point.requests_per_s,
        "highest_requests_per_s": point.highest_requests_per_s,
        "running_requests": point.running_requests,
        "waiting_requests": point.waiting_requests if math.isfinite(point.waiting_requests) else None,
        "bound": point.bound,
        "interval": {metric: list(ends) for metric, ends in point.interval.items()} if point.interval else {},
        "warnings": list(point.warnings),
    }


def parts_dict(point: Point) -> dict[str, dict[str, float] | None]:
    """What a token's time and the first token's are made of, in seconds by cause."""
    return {"tpot_s": _parts(point.tpot_parts), "ttft_s": _parts(point.ttft_parts)}


def _parts(parts: Parts | None) -> dict[str, float] | None:
    if parts is None:
        return None
    return {
        "weights_s": parts.weights_s,
        "kv_s": parts.kv_s,
        "compute_s": parts.compute_s,
        "network_s": parts.network_s,
        "overhead_s": parts.overhead_s,
        "prefill_s": parts.prefill_s,
        "queue_s": parts.queue_s,
    }
