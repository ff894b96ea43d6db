"""Why a deployment cannot run a service at all, with what it needs and what there is."""

from __future__ import annotations

from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.physics.cautions import runs_fp8_cache, runs_fp8_weights
from bide.physics.memory import Memory
from bide.plan.question import Service
from bide.plan.rejection import Rejection
from bide.units import format_gib


def unfit(name: str, service: Service, memory: Memory) -> Rejection | None:
    """The first reason against the deployment of `memory`; None where there is none."""
    return (
        _without_kernels(name, memory.deployment)
        or _without_pool(name, service, memory)
        or _largest_request(name, service, memory)
    )


def _without_kernels(name: str, deployment: Deployment) -> Rejection | None:
    """None where the engine can compute with these weights and this cache on the card."""
    for kind, format_, runs in (
        (_("weights"), deployment.weights, runs_fp8_weights(deployment)),
        (_("cache"), deployment.kv_dtype, runs_fp8_cache(deployment)),
    ):
        if format_.startswith("fp8") and not runs:
            reason = _("{engine} has no kernels for fp8 {kind} on this card.")
            return Rejection(name, reason.format(engine=deployment.engine.name, kind=kind), None, None, "", "")
    return None


def _without_pool(name: str, service: Service, memory: Memory) -> Rejection | None:
    """None where something is left for the cache once the weights and the engine have their part."""
    ledger = memory.ledger
    if ledger.pool_bytes > 0:
        return None
    needed = ledger.total_bytes - ledger.unused_bytes - ledger.pool_bytes
    available = ledger.total_bytes - ledger.unused_bytes
    reason = _("{model} does not fit: weights and engine need {needed} GiB a GPU, {available} may be used").format(
        model=service.model.name, needed=format_gib(needed), available=format_gib(available)
    )
    nearest = _("More GPUs a replica (tp), or smaller weights.")
    return Rejection(name, reason + ".", needed, available, "bytes", nearest)


def _largest_request(name: str, service: Service, memory: Memory) -> Rejection | None:
    """None where the pool holds the longest request at least once, even at its low end.

    vLLM starts only where it holds one of max_model_len (v1/core/kv_cache_utils.py _check_enough_kv_cache_memory).
    """
    longest, deployment = service.workload.largest_tokens, memory.deployment
    if memory.requests(longest).low < 1:
        text = _("the longest request, {tokens:,} tokens, needs {needed} GiB of cache; the pool may have {there}")
        nearest = _("More GPUs a replica (tp), an fp8 cache, or smaller weights.")
    elif deployment.engine.name == "vllm" and memory.requests(deployment.max_model_len).low < 1:
        longest = deployment.max_model_len
        text = _(
            "vLLM starts only where {tokens:,} tokens (max_model_len) fit: {needed} GiB; the pool may have {there}"
        )
        nearest = _("A shorter max_model_len, more GPUs a replica (tp), or an fp8 cache.")
    else:
        return None
    needed, available = memory.pool.request_bytes(longest), memory.pool_bytes.low
    reason = text.format(tokens=longest, needed=format_gib(needed), there=format_gib(available))
    return Rejection(name, reason + ".", needed, available, "bytes", nearest)
