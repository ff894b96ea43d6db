"""Fleets by hand, for what a plan hands over."""

from __future__ import annotations

from typing import Any

from bide.facts.deployment import Deployment
from bide.facts.gpus import Gpu
from bide.plan.thresholds import ReplicaState, Thresholds, thresholds
from bide.report.handover.unit import Unit
from served_models import llama_3_8b

# Llama-3-8B in bf16: 8.03e9 parameters x 2 bytes
WEIGHTS_BYTES = 16_060_000_000


def deployment(**keys: Any) -> Deployment:
    """Llama-3-8B on one H100 with vLLM, but for `keys`."""
    return Deployment.resolve({"model": llama_3_8b(), "gpu": "h100-sxm", "engine_version": "0.33.0", **keys})


def some_thresholds(replicas: tuple[int, int] = (2, 6)) -> Thresholds:
    """A replica is kept at 2 requests/s with 30.5 running; 2.5 requests/s are the most."""
    kept, highest = ReplicaState(2.0, 30.5, 0.2, 0.61), ReplicaState(2.5, 40.0, 1.4, 0.8)
    return thresholds(kept, highest, replicas=replicas, scale_up_s=300.0)


def unit(
    *,
    name: str = "chat",
    needed: int = 6,
    spare: int = 1,
    rolling: int = 0,
    scaled: bool = True,
    scale_up_s: float = 300.0,
    **keys: Any,
) -> Unit:
    """A fleet of `deployment(**keys)`."""
    found = deployment(**keys)
    assert isinstance(found.gpu, Gpu)
    return Unit(
        name=name,
        service=name,
        deployment=found,
        gpu=found.gpu,
        needed=needed,
        spare=spare,
        rolling=rolling,
        weights_bytes=WEIGHTS_BYTES,
        scale_up_s=scale_up_s,
        promises=("e2e_p95: at most 5 s, predicted 4.2 s.",),
        thresholds=some_thresholds() if scaled else None,
    )
