"""Looped models: layers that are passed through more than once, with a cache for each pass and one set of weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.dense import attention, finish, layer, local_layers
from bide.facts.hf.families import output_gate
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Again, Linear, Piece, Vector
from bide.facts.hf.traits import Traits, all_but_each
from bide.facts.model import Tensor


def iquest_loop(f: Fields) -> Decoder:
    """IQuest-Coder Loop: further passes keep a window of their own beside the first pass's full cache."""
    sizes, traits = d.read_sizes(f), Traits()
    attend = attention(f, traits, sizes)
    windowed = Again(replace(attend, window=f.int("loop_window_size", default=64)))
    gate = Linear("attention", "gate_projections", sizes.heads, sizes.head_dim, "column", bias=True)
    passes = f.int("loop_num", default=2, high=64) - 1
    one: Layer = (*layer(f, traits, sizes, None, False), gate, *(windowed,) * passes)
    return finish(f, traits, sizes, (one,) * sizes.layers)


def hrm_text(f: Fields) -> Decoder:
    """HRM: two stacks of layers, each passed many times; every pass has a cache of its own.

    A high cycle is `L_cycles` passes through the low stack and one through the high one.
    """
    total = d.read_sizes(f)
    high, low = f.int("H_cycles", high=64), f.int("L_cycles", high=64)
    stack = f.int("num_layers_per_stack", default=total.layers)
    gate = output_gate("self_attn.gate_proj", "attention_bias")
    traits = Traits(norms=(), final_norm=False, extras=gate, shell_extras=_first_state)
    one = layer(f, traits, total, None, False)
    again: Layer = (Again(attention(f, traits, total)),)
    # the first pass through each stack carries its weights: the first low pass, and the pass that ends the cycle
    firsts = {0, low}
    layers = tuple(
        one if step in firsts and cycle == 0 else again
        for cycle in range(high)
        for step in range(low + 1)
        for _layer in range(stack)
    )
    return finish(f, traits, replace(total, layers=len(layers)), layers)


def _first_state(f: Fields, sizes: d.Sizes) -> tuple[Tensor, ...]:
    return (Tensor("embedding", "model.z_L_init", sizes.hidden),)


def dory(f: Fields) -> Decoder:
    """Dory: learned scales instead of norms; the middle layers are passed `n_recurrent_loops` times.

    Published configs count attention and feed-forward as two layers each (`mlp` in `layer_types`).
    """
    halves = 2 if "mlp" in (f.list("layer_types") or ()) else 1
    kinds = (f.list("layer_types") or [])[::halves]
    plain = {**f.values, "layer_types": kinds or None, "num_hidden_layers": f.int("num_hidden_layers") // halves}
    g = Fields(plain, f.where, f.defaults)
    traits = Traits(norms=(), final_norm=False, window=all_but_each(4), extras=_dory_scales, shell_extras=_dory_head)
    sizes = d.read_sizes(g)
    windows = local_layers(g, traits, sizes.layers)
    first = f.int("n_input_layers", default=8 * halves, low=0) // halves
    last = sizes.layers - f.int("n_output_layers", default=8 * halves, low=0) // halves
    passes = f.int("n_recurrent_loops", default=2, high=64) - 1
    if f.text("recurrent_kv_cache_mode", default="per_loop") == "last_loop":
        passes = 0
    layers = []
    for i, window in enumerate(windows):
        again: Layer = (Again(attention(g, traits, sizes, window)),) * (passes if first <= i < last else 0)
        layers.append((*layer(g, traits, sizes, window, False), *again))
    return finish(g, traits, sizes, tuple(layers))


def _dory_scales(f: Fields, sizes: d.Sizes) -> tuple[Piece, ...]:
    queries, width = sizes.heads * sizes.head_dim, f.int(*d.INTERMEDIATE)
    return (
        Vector("norm", "lambdas", 2 * sizes.hidden),
        Vector("attention", "self_attn.scales", 2 * queries),
        Vector("mlp", "mlp.suv", 2 * width),
        *output_gate("self_attn.gate_proj")(f, sizes),
    )


def _dory_head(f: Fields, sizes: d.Sizes) -> tuple[Tensor, ...]:
    return (Tensor("lm_head", "lm_head.logit_scale", sizes.vocab, split="vocab"),)


READERS: dict[str, Callable[[Fields], Decoder]] = {
    "dory": dory,
    "hrm_text": hrm_text,
    "iquestloopcoder": iquest_loop,
    "iquest_loopcoder": iquest_loop,
}
