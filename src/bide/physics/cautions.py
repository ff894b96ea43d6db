"""What people are confused by and what an engine would refuse, said where it applies to a deployment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bide.facts.deployment import Deployment
from bide.facts.kv_formats import kv_format
from bide.i18n import _
from bide.physics.memory import Memory
from bide.units import format_bytes

_SHORT_TOKENS = 2048


def cautions(memory: Memory, contexts: Sequence[int] = ()) -> tuple[str, ...]:
    """The warnings of a deployment, those about the `contexts` that are shown included."""
    deployment = memory.deployment
    parts = (_cache(memory), _lengths(memory, contexts), _unsupported(deployment), _given_pool(memory))
    return (*deployment.warnings, *(text for part in parts for text in part), *deployment.model.notes)


def runs_fp8_weights(deployment: Deployment) -> bool:
    """Whether the engine has kernels for fp8 weights on this GPU; True where that is not known."""
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
    if deployment.tp > 1 and cost.growing_bytes_per_token == memory.kv.per_gpu.growing_bytes_per_token * deployment.pp:
        yield _("the cache is copied to every tensor-parallel rank, not divided: tp buys no cache per request")
    if memory.fits and memory.pool.requests(_SHORT_TOKENS) > deployment.max_num_seqs:
        text = _("short requests are capped at max_num_seqs = {n:,} running at once, whatever the pool holds")
        yield text.format(n=deployment.max_num_seqs)


def _lengths(memory: Memory, contexts: Sequence[int]) -> Iterator[str]:
    """Contexts that the engine would not take, and a longest one that it would not start with.

    vLLM 0.33.0 v1/core/kv_cache_utils.py _check_enough_kv_cache_memory: the pool must hold one request of
    max_model_len.
    """
    deployment, longest = memory.deployment, memory.deployment.max_model_len
    if max(contexts, default=0) > longest:
        text = _("contexts above max_model_len = {longest:,} are refused by the engine: this is arithmetic alone")
        yield text.format(longest=longest)
    if not memory.fits or deployment.engine.name != "vllm" or memory.pool.requests(longest) >= 1:
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
        yield _("the model has no draft layers of its own: a draft model's weights and cache are not counted")
    asks_cache = kv_format(deployment.kv_dtype, deployment.model).name.startswith("fp8")
    weights_refused = deployment.weights == "fp8" and not runs_fp8_weights(deployment)
    if weights_refused or (asks_cache and not runs_fp8_cache(deployment)):
        text = _("{gpu} has no kernels for fp8: the engine refuses it, this is arithmetic alone")
        yield text.format(gpu=deployment.gpu.name if deployment.gpu else "")


def _given_pool(memory: Memory) -> Iterator[str]:
    if memory.deployment.pool_bytes_per_gpu is None:
        return
    yield _("the pool was given: it carries no interval")
    missing = -memory.size.ledger.unused_bytes if memory.size else 0
    if missing > 0:
        text = _("the pool that was given and what else lies on the card are {size} more than it holds")
        yield text.format(size=format_bytes(missing))
