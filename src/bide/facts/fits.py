"""Whether a model can be split as asked: an engine refuses what these checks refuse."""

from __future__ import annotations

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.layers import ChunkedAttention, CrossAttention, FullAttention, SlidingWindow
from bide.i18n import _

_SHOWN_DIVISORS = 8


def check_fits(deployment: Deployment) -> None:
    """Raise BadInput where tp, pp, dp or ep do not divide the model, saying what would."""
    _check_dp(deployment)
    _check_heads(deployment)
    layers = deployment.model.layer_count
    if deployment.pp > layers:
        allowed = _("at most {layers}, the model's layers").format(layers=layers)
        raise BadInput("pp", deployment.pp, allowed)
    ranks = deployment.gpus_per_stage
    if ranks % deployment.ep:
        allowed = _("a divisor of the {ranks} GPUs that share the experts").format(ranks=ranks)
        raise BadInput("ep", deployment.ep, allowed)


def _check_dp(deployment: Deployment) -> None:
    """Where dp lies inside tp, one must divide the other."""
    tp, dp = deployment.tp, deployment.dp
    if deployment.engine.dp_inside_tp and tp % dp and dp % tp:
        allowed = _("a divisor or a multiple of tp {tp}: in {engine} dp lies inside tp")
        raise BadInput("dp", dp, allowed.format(tp=tp, engine=deployment.engine.name))


def _check_heads(deployment: Deployment) -> None:
    """Attention heads must divide over the ranks; KV heads must divide or be copied whole."""
    model, tp = deployment.model, deployment.tp
    if deployment.engine.dp_inside_tp:
        tp = max(1, tp // deployment.dp)
    heads = {"attention": model.attention_heads} if model.attention_heads else {}
    for group in model.groups:
        if isinstance(group, (FullAttention, SlidingWindow, ChunkedAttention, CrossAttention)):
            heads[f"KV ({group.kv_heads})"] = group.kv_heads
    for kind, count in heads.items():
        if count % tp and (kind == "attention" or tp % count):
            raise BadInput("tp", deployment.tp, _allowed(heads), _hint(kind, count, tp))


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
