"""A model in the form that the kernel database reads: a Hugging Face config of an architecture that it knows.

Plain transformers (one kind of attention, gated feed-forwards or routed experts on every layer) are written
down from the Model's own facts. For the others the database's package holds a config of each model that it was
measured for; the one of the same shape is taken, without its quantisation, which the deployment decides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bide.facts.layers import FullAttention, SlidingWindow
from bide.facts.model import Component, Model

PACKAGE = "aiconfigurator_core"
_WIDE_WINDOW = 4096
"""A model whose only attention is a window of this or more is taken for full attention, which was measured."""
_GATED = {"gate_proj", "up_proj", "down_proj"}
_EXPERTS = ("num_local_experts", "n_routed_experts", "moe_num_experts", "num_experts")
"""What configs call the number of routed experts."""
Config = dict[str, Any]
Shape = tuple[int, ...]


def installed() -> bool:
    """Whether the database's package is there (it is not imported)."""
    return find_spec(PACKAGE) is not None


def config_of(model: Model, architectures: Sequence[str]) -> Config | None:
    """The config to ask with; None where no architecture of the database stands for the model.

    `architectures`: what the database may call the model's family, where it is no plain transformer.
    """
    return _packaged(model, architectures) if architectures else plain_config(model)


def plain_config(model: Model) -> Config | None:
    """The config of a plain transformer; None for any other.

    Llama 3 8B: 32 layers of 4,096, 32 heads, of which 8 hold a cache, feed-forwards of 14,336.
    """
    attention = _only_attention(model)
    layers = _experts(model) if model.moe else _feed_forwards(model)
    if attention is None or layers is None:
        return None
    return {
        "num_hidden_layers": model.layer_count,
        "hidden_size": model.hidden_size,
        "num_attention_heads": model.attention_heads,
        "num_key_value_heads": attention.kv_heads,
        "head_dim": attention.head_dim_k,
        "vocab_size": model.vocab_size,
        "max_position_embeddings": model.max_context_tokens or 131072,
        **layers,
    }


def _only_attention(model: Model) -> FullAttention | SlidingWindow | None:
    """The attention that every layer has, with keys and values of one size."""
    group = model.groups[0] if len(model.groups) == 1 else None
    if not isinstance(group, FullAttention | SlidingWindow):
        return None
    narrow = isinstance(group, SlidingWindow) and group.window_tokens < _WIDE_WINDOW
    alike = group.head_dim_k == group.head_dim_v and len(group.layers) == model.layer_count
    return group if alike and not narrow else None


def _feed_forwards(model: Model) -> Config | None:
    width = _gated_width(model, "mlp")
    name = "Qwen3ForCausalLM" if _has_query_norm(model) else "LlamaForCausalLM"
    return {"architectures": [name], "intermediate_size": width} if width else None


def _experts(model: Model) -> Config | None:
    width = _gated_width(model, "experts")
    besides = any(t.component in ("mlp", "shared_experts") and t.part == "text" for t in model.tensors)
    if model.moe is None or width is None or besides:
        return None
    return {
        "architectures": ["Qwen3MoeForCausalLM" if _has_query_norm(model) else "MixtralForCausalLM"],
        "intermediate_size": width,
        "moe_intermediate_size": width,
        "num_experts": model.moe.experts,
        "num_experts_per_tok": model.moe.experts_per_token,
    }


def _gated_width(model: Model, component: Component) -> int | None:
    """The inner width of gated feed-forwards, where every layer has the same; None where they differ."""
    found = [t for t in model.tensors if t.component == component and t.part == "text" and t.cols > 1]
    out = [t for t in found if t.module.endswith("down_proj")]
    widths = {t.cols for t in out}
    gated = {t.module.rsplit(".", 1)[-1] for t in found} == _GATED
    every_layer = sum(len(t.layers) for t in out) == model.layer_count
    return widths.pop() if gated and every_layer and len(widths) == 1 else None


def _has_query_norm(model: Model) -> bool:
    return any(t.component == "norm" and t.module.endswith("q_norm") for t in model.tensors)


def _packaged(model: Model, architectures: Sequence[str]) -> Config | None:
    """The package's config of the model's shape, of the first of `architectures` that has one."""
    experts = model.moe.experts if model.moe else 0
    shape = (model.layer_count, model.hidden_size, model.attention_heads, model.vocab_size, experts)
    known = _packaged_configs()
    return next((known[name, shape] for name in architectures if (name, shape) in known), None)


@lru_cache(maxsize=1)
def _packaged_configs() -> dict[tuple[str, Shape], Config]:
    """The package's configs by architecture and shape, without quantisation; empty where it is not installed."""
    spec = find_spec(PACKAGE)
    found: dict[tuple[str, Shape], Config] = {}
    for place in (spec.submodule_search_locations if spec else None) or ():
        for file in sorted(Path(place).glob("model_configs/*_config.json")):
            config = json.loads(file.read_text(encoding="utf-8"))
            if "architectures" in config:
                found.setdefault((config["architectures"][0], _shape(config)), _unquantised(config))
    return found


def _shape(config: Mapping[str, Any]) -> Shape:
    """Layers, hidden size, heads, vocabulary and experts."""
    text = config.get("text_config", config)
    layers = text.get("num_hidden_layers") or len(text.get("layers_block_type") or ())
    experts = next((text[key] for key in _EXPERTS if text.get(key)), 0)
    return (layers, text["hidden_size"], text["num_attention_heads"], text["vocab_size"], experts)


def _unquantised(config: Config) -> Config:
    kept = {key: value for key, value in config.items() if key != "quantization_config"}
    text = kept.get("text_config")
    return {**kept, "text_config": _unquantised(text)} if isinstance(text, dict) else kept
