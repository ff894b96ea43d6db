"""Gemma 3n and Gemma 4: layers that reuse an earlier layer's cache, wider global heads, inputs of each layer's own.

Published checkpoints keep K and V projections (and their norm) of layers that reuse a cache, and engines load them.
Sources: transformers 5.24 `models/{gemma3n,gemma4}`, vLLM 0.33 `gemma3n.py`, `gemma4.py`.
"""

from __future__ import annotations

from dataclasses import replace

from bide.facts.hf import decoder as d
from bide.facts.hf import kinds
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.common import finish
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Attention, Linear, Mlp, Moe, Norm, Piece, Vector
from bide.facts.hf.traits import SANDWICH
from bide.facts.model import Tensor


def local_layers(f: Fields, layers: int, period: int) -> list[bool]:
    """By `layer_types`, else all but the last of each `period`."""
    return kinds.local_layers(f, layers) or [not full for full in d.every(layers, period)]


def cached_layers(f: Fields, layers: int) -> list[bool]:
    """The last `num_kv_shared_layers` read the cache of the last layer of their kind before them."""
    shared = f.int("num_kv_shared_layers", default=0, low=0, high=layers)
    return [i < layers - shared for i in range(layers)]


def read_gemma3n(f: Fields) -> Decoder:
    """Four local layers to a global one; AltUp keeps several streams, LAuReL adds a low-rank path."""
    sizes = d.read_sizes(f)
    local, cached = local_layers(f, sizes.layers, 5), cached_layers(f, sizes.layers)
    rest = (*_sandwich(sizes.hidden), *_altup(f, sizes.hidden), *_per_layer_input(f, sizes.hidden))
    window = f.int("sliding_window", default=512)
    layers = tuple(
        (*rest, _attention(f, sizes, window if local[i] else None, cached[i]), Mlp(sizes.hidden, _width(f, i)))
        for i in range(sizes.layers)
    )
    made = finish(f, sizes, layers, tied=True)
    return _with_shell(made, _per_layer_shell(f, sizes) + _altup_shell(f, sizes.hidden))


def _with_shell(made: Decoder, more: tuple[Tensor, ...]) -> Decoder:
    return replace(made, shell=made.shell + more)


def _sandwich(hidden: int) -> tuple[Piece, ...]:
    return tuple(Norm(path, hidden) for path in SANDWICH)


def _width(f: Fields, i: int) -> int:
    """`intermediate_size` may be a list, one for each layer."""
    name, value = f.raw("intermediate_size")
    if isinstance(value, list) and i < len(value):
        return int(Fields({name: value[i]}, f.where).int(name))
    return int(f.int(name))


def _attention(f: Fields, sizes: d.Sizes, window: int | None, cached: bool, *, value_is_key: bool = False) -> Attention:
    """Norms on the heads of Q and K (V's has no weight)."""
    dim, bias = sizes.head_dim, "qkvo" if f.flag("attention_bias") else ""
    return Attention(
        sizes.hidden,
        sizes.heads,
        sizes.kv_heads,
        dim,
        dim,
        window=window,
        bias=bias,
        q_norm=dim,
        k_norm=dim,
        cached=cached,
        value_is_key=value_is_key,
    )


def _per_layer_input(f: Fields, hidden: int) -> tuple[Piece, ...]:
    width = f.int("hidden_size_per_layer_input", default=0, low=0)
    if not width:
        return ()
    return (
        Linear("mlp", "per_layer_input_gate", width, hidden, "column"),
        Linear("mlp", "per_layer_projection", hidden, width, "row"),
        Norm("post_per_layer_input_norm", hidden),
    )


def _per_layer_shell(f: Fields, sizes: d.Sizes) -> tuple[Tensor, ...]:
    """An embedding of `hidden_size_per_layer_input` for each layer, and a projection of the main one."""
    width = f.int("hidden_size_per_layer_input", default=0, low=0)
    if not width:
        return ()
    all_layers, vocab = sizes.layers * width, f.int("vocab_size_per_layer_input", default=sizes.vocab)
    return (
        Tensor("embedding", "model.embed_tokens_per_layer", vocab, all_layers, split="vocab"),
        Tensor("mlp", "model.per_layer_model_projection", all_layers, sizes.hidden, split="column", linear=True),
        Tensor("norm", "model.per_layer_projection_norm", width),
    )


def _altup(f: Fields, hidden: int) -> tuple[Piece, ...]:
    streams, rank = f.int("altup_num_inputs", default=4, high=1024), f.int("laurel_rank", default=64)
    return (
        Vector("mlp", "altup.correct_output_scale", hidden),
        Vector("mlp", "altup.correction_coefs", streams * streams),
        Vector("mlp", "altup.prediction_coefs", streams * streams * streams),
        Vector("mlp", "altup.modality_router", streams * hidden),
        Norm("altup.router_norm", hidden),
        Linear("mlp", "laurel.linear_left", rank, hidden),
        Linear("mlp", "laurel.linear_right", hidden, rank),
        Norm("laurel.post_laurel_norm", hidden),
    )


def _altup_shell(f: Fields, hidden: int) -> tuple[Tensor, ...]:
    others = f.int("altup_num_inputs", default=4, high=1024) - 1
    ways = ("altup_projections", "altup_unembed_projections")
    return tuple(Tensor("mlp", f"model.{way}", hidden, hidden, copies=others, linear=True) for way in ways if others)


def read_gemma4(f: Fields) -> Decoder:
    """Global layers have heads of `global_head_dim`, and with `attention_k_eq_v` other KV heads and no V projection."""
    sizes = d.read_sizes(f)
    local, cached = local_layers(f, sizes.layers, 6), cached_layers(f, sizes.layers)
    rest = (*_sandwich(sizes.hidden), *_per_layer_input(f, sizes.hidden), Vector("mlp", "layer_scalar", 1))
    rest += _expert_block(f, sizes.hidden)
    window = f.int("sliding_window", default=512)
    layers = tuple(
        (
            *rest,
            _attention(f, sizes, window, cached[i]) if local[i] else _global_attention(f, sizes, cached[i]),
            Mlp(sizes.hidden, _width4(f, i, cached[i])),
        )
        for i in range(sizes.layers)
    )
    return _with_shell(finish(f, sizes, layers, tied=True), _per_layer_shell(f, sizes))


def _global_attention(f: Fields, sizes: d.Sizes, cached: bool) -> Attention:
    same = f.flag("attention_k_eq_v")
    heads = f.int("num_global_key_value_heads", default=sizes.kv_heads) if same else sizes.kv_heads
    wide = replace(sizes, kv_heads=heads, head_dim=f.int("global_head_dim", default=sizes.head_dim))
    return _attention(f, wide, None, cached, value_is_key=same)


def _width4(f: Fields, i: int, cached: bool) -> int:
    return _width(f, i) * (2 if f.flag("use_double_wide_mlp") and not cached else 1)


def _expert_block(f: Fields, hidden: int) -> Layer:
    """Routed experts beside the dense part, with norms around both."""
    if not f.flag("enable_moe_block"):
        return ()
    count = f.int(*d.EXPERTS)
    width = f.int("moe_intermediate_size", "expert_intermediate_size")
    norms = ("post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2")
    return (
        Moe(hidden, count, f.int(*d.EXPERTS_PER_TOKEN), width, path="moe", router="router"),
        Vector("router", "router.scale", hidden),
        Vector("router", "router.per_expert_scale", count),
        *(Norm(path, hidden) for path in norms),
    )
