"""MiMo-V2: local layers with their own head counts and attention sinks, values narrower than keys."""

from __future__ import annotations

from dataclasses import replace

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.common import finish, pre_norms
from bide.facts.hf.fields import Fields
from bide.facts.hf.kinds import local_layers
from bide.facts.hf.parts import Attention, Linear, Mlp, Moe, Norm


def read_mimo_v2(f: Fields) -> Decoder:
    """`hybrid_layer_pattern`: 1 is local. Source: transformers 5.24 `models/mimo_v2_flash`, vLLM 0.33 `mimo_v2.py`."""
    sizes = d.read_sizes(f)
    local, routed = _local_layers(f, sizes.layers), d.moe_layers(f, sizes.layers)
    norms = pre_norms(sizes.hidden, "post_attention_layernorm")
    window, full = _window_attention(f, sizes), _full_attention(f, sizes)
    moe, dense = _experts(f, sizes.hidden), Mlp(sizes.hidden, f.int("intermediate_size"))
    layers = tuple((*norms, window if local[i] else full, moe if routed[i] else dense) for i in range(sizes.layers))
    return replace(finish(f, sizes, layers), drafts=_drafts(f, sizes.hidden, (*norms, window, dense)))


def _local_layers(f: Fields, layers: int) -> list[bool]:
    pattern = f.list("hybrid_layer_pattern", length=layers) or [0] * layers
    return local_layers(f, layers) or [kind == 1 for kind in pattern]


def _bias(f: Fields) -> str:
    return "qkv" if f.flag("attention_bias") else ""


def _full_attention(f: Fields, sizes: d.Sizes) -> Attention:
    value = f.int("v_head_dim", default=sizes.head_dim)
    dims = (sizes.hidden, sizes.heads, sizes.kv_heads, sizes.head_dim, value)
    return Attention(*dims, bias=_bias(f), sinks=f.flag("add_full_attention_sink_bias"))


def _window_attention(f: Fields, sizes: d.Sizes) -> Attention:
    dim = f.int("swa_head_dim", default=sizes.head_dim)
    heads = f.int("swa_num_attention_heads", default=sizes.heads)
    kv_heads = f.int("swa_num_key_value_heads", default=sizes.kv_heads)
    dims = (sizes.hidden, heads, kv_heads, dim, f.int("swa_v_head_dim", "v_head_dim", default=dim))
    window = f.int("sliding_window", "sliding_window_size")
    return Attention(*dims, window=window, bias=_bias(f), sinks=f.flag("add_swa_attention_sink_bias", default=True))


def _experts(f: Fields, hidden: int) -> Moe:
    width = f.int("moe_intermediate_size")
    shared = f.int("n_shared_experts", default=0, low=0) * width
    count, chosen = f.int(*d.EXPERTS), f.int(*d.EXPERTS_PER_TOKEN)
    return Moe(hidden, count, chosen, width, shared_intermediate=shared, router_bias=True)


def _drafts(f: Fields, hidden: int, layer: Layer) -> tuple[Layer, ...]:
    """A draft layer is local and dense (vLLM `mimo_v2_mtp.py`); embedding and head are shared."""
    count = f.int("num_nextn_predict_layers", default=0, low=0, high=64)
    joint = Linear("mlp", "eh_proj", hidden, 2 * hidden)
    draft: Layer = (*layer, joint, *(Norm(path, hidden) for path in ("enorm", "hnorm", "final_layernorm")))
    return (draft,) * int(count)
