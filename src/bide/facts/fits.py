"""Whether a model can be split as asked: an engine refuses what these checks refuse."""

from __future__ import annotations

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.layers import ChunkedAttention, CrossAttention, FullAttention, SlidingWindow
from bide.facts.model import Model
from bide.i18n import _
from bide.units import format_bytes

_SHOWN_DIVISORS = 8


def check_fits(deployment: Deployment) -> None:
    """Raise BadInput where tp, pp, dp or ep do not divide the model, saying what would."""
    _check_dp(deployment)
    _check_heads(deployment)
    layers = deployment.model.layer_count
    if deployment.pp > layers:
        allowed = _("at most {layers}, the model's layers").format(layers=layers)
        raise BadInput("pp", deployment.pp, allowed)
    if deployment.ep > 1 and deployment.model.moe is None:
        raise BadInput("ep", deployment.ep, _("1: this model has no experts to divide"))
    ranks = deployment.gpus_per_stage
    if ranks % deployment.ep:
        allowed = _("a divisor of the {ranks} GPUs that share the experts").format(ranks=ranks)
        raise BadInput("ep", deployment.ep, allowed)


_LARGEST_VARIANT = 2


def check_batch(deployment: Deployment) -> None:
    """Raise BadInput where vLLM refuses the batch limits (0.33.0 config/scheduler.py verify_max_model_len)."""
    batched, seqs = deployment.max_num_batched_tokens, deployment.max_num_seqs
    if deployment.engine.name != "vllm":
        return
    if batched < seqs:
        raise BadInput("max_num_batched_tokens", batched, _("at least max_num_seqs, {seqs:,}").format(seqs=seqs))
    if batched < deployment.max_model_len and not deployment.enable_chunked_prefill:
        allowed = _("at least max_model_len, {length:,}, without chunked prefill")
        raise BadInput("max_num_batched_tokens", batched, allowed.format(length=deployment.max_model_len))


def check_pool(deployment: Deployment) -> None:
    """Raise BadInput where the pool that is given is more than any variant of the card holds.

    A pool comes from a log, and some cards are about with twice their usual memory (A100, RTX 4090): up to
    that the answer stands, with a caution.
    """
    given, gpu = deployment.pool_bytes_per_gpu, deployment.gpu
    if given is not None and gpu is not None and given > _LARGEST_VARIANT * gpu.memory_bytes:
        allowed = _("at most twice the {size} of {gpu}").format(size=format_bytes(gpu.memory_bytes), gpu=gpu.id)
        raise BadInput("pool_bytes_per_gpu", given, allowed)


def divides_heads(model: Model, tp: int) -> bool:
    """Whether the model's heads can be split over `tp` ranks."""
    return all(_divides(kind, count, tp) for kind, count in _heads(model).items())


def _check_dp(deployment: Deployment) -> None:
    """Where dp lies inside tp, one must divide the other."""
    tp, dp = deployment.tp, deployment.dp
    if deployment.engine.dp_inside_tp and tp % dp and dp % tp:
        allowed = _("a divisor or a multiple of tp {tp}: in {engine} dp lies inside tp")
        raise BadInput("dp", dp, allowed.format(tp=tp, engine=deployment.engine.name))


def _check_heads(deployment: Deployment) -> None:
    """Attention heads must divide over the ranks; KV heads must divide or be copied whole."""
    tp, heads = deployment.attention_tp, _heads(deployment.model)
    for kind, count in heads.items():
        if not _divides(kind, count, tp):
            raise BadInput("tp", deployment.tp, _allowed(heads), _hint(kind, count, tp))


def _heads(model: Model) -> dict[str, int]:
    """Attention heads, and the KV heads of every kind of layer."""
    heads = {"attention": model.attention_heads} if model.attention_heads else {}
    for group in model.groups:
        if isinstance(group, (FullAttention, SlidingWindow, ChunkedAttention, CrossAttention)):
            heads[f"KV ({group.kv_heads})"] = group.kv_heads
    return heads


def _allowed(heads: dict[str, int]) -> str:
    largest = max(heads.values())
    fitting = [tp for tp in range(1, largest + 1) if all(_divides(kind, n, tp) for kind, n in heads.items())]
    shown = ", ".join(str(tp) for tp in fitting[:_SHOWN_DIVISORS])
    return _("one of {numbers} for this model").format(numbers=shown)


def _divides(kind: str, count: int, tp: int) -> bool:
    return count % tp == 0 or (kind != "attention" and tp % count == 0)


def _hint(kind: str, count: int, tp: int) -> str:
    if kind == "attention":
        return _("{count} attention heads do not divide over {tp} ranks").format(count=count, tp=tp)
    return _("{count} KV heads neither divide over {tp} ranks nor repeat evenly on them").format(count=count, tp=tp)
