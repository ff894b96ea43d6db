"""Cache bytes per token and per request: sums over a model's layer groups, before any rounding to blocks."""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.deployment import Deployment
from bide.facts.kv_formats import kv_format
from bide.facts.layers import Cost, KvFormat, LayerGroup, Window, total_cost
from bide.facts.model import Model
from bide.physics.same import Same, kept


@dataclass(frozen=True, slots=True)
class KvNeed:
    """What the cache of a deployment costs."""

    model: Cost
    """The model's own bytes: nothing divided, nothing copied."""
    per_gpu: Cost
    """On one tensor-parallel rank, the layers divided evenly over the pipeline stages."""


def cached_groups(model: Model, speculative_tokens: int) -> tuple[LayerGroup, ...]:
    """The groups that hold a cache: the draft layers' too, when drafts are made."""
    return model.groups + (model.draft_groups if speculative_tokens else ())


def kv_need(deployment: Deployment) -> KvNeed:
    """Cache cost of `deployment`, for the model and on one GPU.

    Llama 3 8B in bf16: 2 x 8 heads x 128 x 2 B x 32 layers = 131,072 B a token.
    """
    kv = kv_format(deployment.kv_dtype, deployment.model)
    tp, pp = deployment.attention_tp, deployment.pp
    return _kv_need(Same(deployment.model), kv, deployment.speculative_tokens, tp, pp)


@kept(4096)
def _kv_need(model: Same[Model], kv: KvFormat, speculative_tokens: int, tp: int, pp: int) -> KvNeed:
    groups = cached_groups(model.value, speculative_tokens)
    return KvNeed(total_cost(groups, kv, 1), _divided(total_cost(groups, kv, tp), pp))


def _divided(cost: Cost, stages: int) -> Cost:
    windows = tuple(Window(w.window_tokens, w.bytes_per_token / stages) for w in cost.windows)
    return Cost(cost.growing_bytes_per_token / stages, windows, cost.fixed_bytes_per_request / stages)
