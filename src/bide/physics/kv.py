"""Cache bytes per token and per request: sums over a model's layer groups, before any rounding to blocks."""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.deployment import Deployment
from bide.facts.kv_formats import kv_format
from bide.facts.layers import Cost, LayerGroup, Window, total_cost
from bide.facts.model import Model

__all__ = ["KvNeed", "attention_tp", "cached_groups", "kv_format", "kv_need"]


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


def attention_tp(deployment: Deployment) -> int:
    """How many parts a layer's KV heads are divided into: tp, or tp / dp where dp lies inside tp.

    In SGLang and TensorRT-LLM data-parallel attention gives each dp group its own requests, and
    divides heads over the tp / dp ranks of the group.
    """
    return max(1, deployment.tp // deployment.dp) if deployment.engine.dp_inside_tp else deployment.tp


def kv_need(deployment: Deployment) -> KvNeed:
    """Cache cost of `deployment`, for the model and on one GPU.

    Llama 3 8B in bf16: 2 x 8 heads x 128 x 2 B x 32 layers = 131,072 B a token.
    """
    model = deployment.model
    kv = kv_format(deployment.kv_dtype, model)
    groups = cached_groups(model, deployment.speculative_tokens)
    rank = total_cost(groups, kv, attention_tp(deployment))
    return KvNeed(total_cost(groups, kv, 1), _divided(rank, deployment.pp))


def _divided(cost: Cost, stages: int) -> Cost:
    windows = tuple(Window(w.window_tokens, w.bytes_per_token / stages) for w in cost.windows)
    return Cost(cost.growing_bytes_per_token / stages, windows, cost.fixed_bytes_per_request / stages)
