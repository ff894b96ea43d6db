"""Llama 4: attention within chunks on layers with rotary positions, over everything on those without."""

from __future__ import annotations

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder
from bide.facts.hf.common import finish, pre_norms
from bide.facts.hf.fields import Fields
from bide.facts.hf.kinds import SOFTMAX, layers_of_kind
from bide.facts.hf.parts import Attention, Mlp, Moe


def read_llama4(f: Fields) -> Decoder:
    """Source: transformers 5.24 `models/llama4`. Norms on Q and K have no weights."""
    sizes = d.read_sizes(f)
    routed = _moe_layers(f, sizes.layers)
    moe, dense = _experts(f, sizes.hidden), _dense(f, sizes.hidden)
    norms = pre_norms(sizes.hidden, "post_attention_layernorm")
    layers = tuple(
        (*norms, _attention(f, sizes, chunked), moe if routed[i] else dense)
        for i, chunked in enumerate(chunked_layers(f, sizes.layers))
    )
    return finish(f, sizes, layers)


def chunked_layers(f: Fields, layers: int) -> list[bool]:
    """By `layer_types`, else `no_rope_layers` (1: rotary, so in chunks), else all but every fourth."""
    stated = layers_of_kind(f, layers, ("chunked_attention",), SOFTMAX)
    if stated is not None:
        return stated
    given = f.raw("no_rope_layers")[1]
    if isinstance(given, list) and given:
        return [bool(rotary) for rotary in f.list("no_rope_layers", length=layers) or ()]
    return [not full for full in d.every(layers, f.int("no_rope_layer_interval", default=4))]


def _attention(f: Fields, sizes: d.Sizes, chunked: bool) -> Attention:
    chunk = f.int("attention_chunk_size", default=None) if chunked else None
    bias = "qkvo" if f.flag("attention_bias") else ""
    dims = (sizes.hidden, sizes.heads, sizes.kv_heads, sizes.head_dim, sizes.head_dim)
    return Attention(*dims, chunk=chunk, bias=bias)


def _moe_layers(f: Fields, layers: int) -> list[bool]:
    given = f.list("moe_layers")
    if given is not None:
        return [i in given for i in range(layers)]
    step = f.int("interleave_moe_layer_step", default=1, low=0)
    return d.every(layers, step) if step else [False] * layers


def _experts(f: Fields, hidden: int) -> Moe:
    """One shared expert of an expert's width beside the routed ones."""
    width = f.int("intermediate_size")
    count, chosen = f.int(*d.EXPERTS), f.int(*d.EXPERTS_PER_TOKEN)
    return Moe(
        hidden,
        count,
        chosen,
        width,
        shared_intermediate=width,
        path="feed_forward",
        router="router",
        shared_path="shared_expert",
    )


def _dense(f: Fields, hidden: int) -> Mlp:
    return Mlp(hidden, f.int("intermediate_size_mlp", "intermediate_size"), path="feed_forward")
