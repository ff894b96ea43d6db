"""What people are confused by and what an engine would refuse, said where it applies to a deployment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bide.facts.deployment import Deployment
from bide.facts.formats import served_scheme
from bide.facts.kv_formats import kv_format
from bide.facts.layers import Cost
from bide.i18n import _
from bide.physics.memory import Memory
from bide.units import format_bytes

_SHORT_TOKENS = 2048
_INT8_MULTIPLIED = "int8-channel"
"""Weights whose activations are quantised too (W8A8); other int8 weights are widened first."""


def cautions(memory: Memory, contexts: Sequence[int] = ()) -> tuple[str, ...]:
    """The warnings of a deployment, those about the `contexts` that are shown included."""
    deployment = memory.deployment
    parts = (_cache(memory), _contexts(deployment, contexts), refusals(memory), _given_pool(memory))
    return (*deployment.warnings, *(text for part in parts for text in part), *deployment.model.notes)


def refusals(memory: Memory) -> tuple[str, ...]:
    """What would keep the engine from starting, or is left out of the arithmetic."""
    return (*_longest(memory), *_unsupported(memory.deployment))


def speed_cautions(memory: Memory) -> tuple[str, ...]:
    """What is to be said beside step times."""
    return (*refusals(memory), *_apart(memory.deployment))


def runs_fp8_weights(deployment: Deployment) -> bool:
    """Whether the engine has kernels for fp8 weights on this GPU; True where that is not known.

    On AMD from CDNA 3 on, which multiplies fp8 (vLLM 0.33.0 model_executor/kernels/linear/scaled_mm/rocm.py).
    """
    gpu = deployment.gpu
    if gpu is not None and gpu.vendor == "amd":
        return "fp8" in gpu.tflops
    return _reaches(deployment, deployment.engine.fp8_weights_capability)


def runs_fp8_cache(deployment: Deployment) -> bool:
    """The same for an fp8 cache."""
    return _reaches(deployment, deployment.engine.fp8_cache_capability)


def _reaches(deployment: Deployment, least: float | None) -> bool:
    capability = deployment.gpu.compute_capability if deployment.gpu else None
    return capability is None or least is None or capability >= least


def _cache(memory: Memory) -> Iterator[str]:
    deployment, cost = memory.deployment, memory.kv.model
    if cost.windows or cost.fixed_bytes_per_request:
        yield _(
            "the tokens that the engine prints are not a capacity here: windows and states make a request's bytes "
            "differ from tokens x bytes per token; use requests at once"
        )
    yield from _copies(memory)
    if memory.fits and memory.pool.requests(_SHORT_TOKENS) > deployment.max_num_seqs:
        text = _("short requests are capped at max_num_seqs = {n:,} running at once, whatever the pool holds")
        yield text.format(n=deployment.max_num_seqs)


def _copies(memory: Memory) -> Iterator[str]:
    """Where tensor-parallel ranks keep the same: a latent cache, or heads of which there are fewer than ranks."""
    ranks = memory.deployment.attention_tp
    whole, held = _token_bytes(memory.kv.model), _token_bytes(memory.kv.per_gpu) * memory.deployment.pp
    if ranks == 1 or not whole:
        return
    ways = whole / held
    if math.isclose(ways, 1):
        yield _("the cache is copied to every tensor-parallel rank, not divided: tp buys no cache per request")
    elif not math.isclose(ways, ranks):
        text = _("there are fewer KV heads than ranks, which keep copies: tp {ranks} divides the cache by {ways:.3g}")
        yield text.format(ranks=ranks, ways=ways)


def _token_bytes(cost: Cost) -> float:
    """Of the cache that grows, within windows or without end."""
    return cost.growing_bytes_per_token + sum(window.bytes_per_token for window in cost.windows)


def _contexts(deployment: Deployment, contexts: Sequence[int]) -> Iterator[str]:
    """Contexts that the engine would not take."""
    longest = deployment.max_model_len
    if max(contexts, default=0) > longest:
        text = _("contexts above max_model_len = {longest:,} are refused by the engine: this is arithmetic alone")
        yield text.format(longest=longest)


def _longest(memory: Memory) -> Iterator[str]:
    """A longest context that the engine would not start with.

    vLLM 0.33.0 v1/core/kv_cache_utils.py _check_enough_kv_cache_memory: the pool must hold one request of
    max_model_len.
    """
    longest = memory.deployment.max_model_len
    if not memory.fits or memory.deployment.engine.name != "vllm" or memory.pool.requests(longest) >= 1:
        return
    text = _("vLLM will not start with max_model_len = {longest:,}: one such request needs {need}, the pool has {pool}")
    need = format_bytes(memory.pool.request_bytes(longest))
    told = text.format(longest=longest, need=need, pool=format_bytes(memory.pool_bytes.mid))
    holds = _longest_held(memory)
    yield told + ("; " + _("--max-model-len {tokens} is the most it holds").format(tokens=holds) if holds else "")


def _longest_held(memory: Memory) -> int:
    """The longest context of which the pool holds one request; 0 where it holds none of 1 token."""
    low, high = 0, memory.deployment.max_model_len
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if memory.pool.requests(middle) >= 1 else (low, middle)
    return low


def _unsupported(deployment: Deployment) -> Iterator[str]:
    if deployment.speculative_tokens and not deployment.model.draft_groups:
        yield _("the model has no draft layers of its own: a draft model's weights, cache and time are not counted")
    asks_cache = kv_format(deployment.kv_dtype, deployment.model).name.startswith("fp8")
    weights_refused = _has_fp8_weights(deployment) and not runs_fp8_weights(deployment)
    if weights_refused or (asks_cache and not runs_fp8_cache(deployment)):
        text = _("{gpu} has no kernels for fp8: the engine refuses it, this is arithmetic alone")
        yield text.format(gpu=deployment.gpu.name if deployment.gpu else "")
    if _multiplies_int8(deployment) and not _has_int8_kernels(deployment):
        text = _("{engine} has no kernels for int8 activations on {gpu}: it refuses these weights; fp8 ones run there")
        yield text.format(engine=deployment.engine.name, gpu=deployment.gpu.name if deployment.gpu else "")


def _has_fp8_weights(deployment: Deployment) -> bool:
    """Whether fp8 is the format of most layers, asked for or the checkpoint's own."""
    scheme = served_scheme(deployment.model, deployment.weights)
    return scheme is not None and scheme.default is not None and scheme.default.family == "fp8"


def _multiplies_int8(deployment: Deployment) -> bool:
    scheme = served_scheme(deployment.model, deployment.weights)
    return scheme is not None and any(kind.name == _INT8_MULTIPLIED for kind in scheme.formats)


def _has_int8_kernels(deployment: Deployment) -> bool:
    """Cards below a capability have them; True where nothing is known."""
    capability = deployment.gpu.compute_capability if deployment.gpu else None
    bound = deployment.engine.int8_below_capability
    return capability is None or bound is None or capability < bound


def _apart(deployment: Deployment) -> Iterator[str]:
    """A layer that is divided over more GPUs than reach each other over their link."""
    gpu, shared = deployment.gpu, deployment.model.moe is not None
    ranks = deployment.gpus_per_stage if shared else deployment.attention_tp
    if gpu is None or ranks <= gpu.link_domain_gpus:
        return
    text = _(
        "each layer is divided over {ranks} GPUs, of which {joined} share a fast link: the latency of the network "
        "between them is not in the step times, which are too short for it"
    )
    yield text.format(ranks=ranks, joined=gpu.link_domain_gpus)


def _given_pool(memory: Memory) -> Iterator[str]:
    if memory.deployment.pool_bytes_per_gpu is None:
        return
    yield _("the pool was given: it carries no interval")
    missing = -memory.size.ledger.unused_bytes if memory.size else 0
    if missing > 0:
        text = _("the pool that was given and what else lies on the card are {size} more than it holds")
        yield text.format(size=format_bytes(missing))
