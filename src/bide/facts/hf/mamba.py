"""Mamba and the hybrids built on it: Jamba, Bamba, Falcon-H1, Granite 4."""

from __future__ import annotations

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.common import attention, conv_dtype, finish, pre_norms, state_dtype
from bide.facts.hf.fields import Fields
from bide.facts.hf.kinds import softmax_layers
from bide.facts.hf.mamba_parts import Mamba1, Mamba2
from bide.facts.hf.parts import Mlp, Moe, Norm


def _pure_sizes(f: Fields, heads: int) -> d.Sizes:
    layers = f.int(*d.LAYER_COUNT, high=d.MAX_LAYERS)
    return d.Sizes(layers, f.int(*d.HIDDEN), heads, 0, 0, f.int(*d.VOCAB))


def read_mamba1(f: Fields) -> Decoder:
    """Mamba and Falcon-Mamba: nothing but state-space layers. TP divides the inner channels."""
    hidden = f.int(*d.HIDDEN)
    inner = f.int("intermediate_size", default=0, low=0) or f.int("expand", default=2) * hidden
    sizes = _pure_sizes(f, inner)
    mixer = Mamba1(
        hidden,
        inner,
        f.int("state_size"),
        dt_rank(f, "time_step_rank", hidden),
        f.int("conv_kernel"),
        state_dtype(f),
        conv_dtype(f),
        f.flag("use_conv_bias", default=True),
        f.flag("use_bias"),
    )
    return finish(f, sizes, ((Norm("norm", hidden), mixer),) * sizes.layers, tied=True)


def dt_rank(f: Fields, key: str, hidden: int) -> int:
    """The rank of the time step's projection; `auto` is a sixteenth of the hidden size, rounded up."""
    if f.raw(key)[1] in (None, "auto"):
        return -(-hidden // 16)
    return int(f.int(key))


def read_mamba2(f: Fields) -> Decoder:
    """Mamba 2 alone (Codestral Mamba)."""
    heads = f.int("num_heads")
    sizes = _pure_sizes(f, heads)
    mixer = Mamba2(
        sizes.hidden,
        heads,
        f.int("head_dim"),
        f.int("n_groups"),
        f.int("state_size"),
        f.int("conv_kernel"),
        state_dtype(f),
        conv_dtype(f),
        f.flag("use_conv_bias", default=True),
        f.flag("use_bias"),
        path="mixer",
    )
    return finish(f, sizes, ((Norm("norm", sizes.hidden), mixer),) * sizes.layers)


def read_jamba(f: Fields) -> Decoder:
    """Jamba: attention once in `attn_layer_period`, experts once in `expert_layer_period`."""
    sizes = d.read_sizes(f)
    hidden, attends = sizes.hidden, attention(f, sizes)
    mixer = Mamba1(
        hidden,
        f.int("mamba_expand") * hidden,
        f.int("mamba_d_state"),
        dt_rank(f, "mamba_dt_rank", hidden),
        f.int("mamba_d_conv"),
        state_dtype(f),
        conv_dtype(f),
        f.flag("mamba_conv_bias", default=True),
        f.flag("mamba_proj_bias"),
        inner_norms=True,
        path="mamba",
    )
    count = f.int(*d.EXPERTS, default=1)
    routed = d.moe_layers(f, sizes.layers) if count > 1 else [False] * sizes.layers
    width = f.int("intermediate_size")
    dense = Mlp(hidden, width, path="feed_forward")
    experts = Moe(hidden, count, f.int(*d.EXPERTS_PER_TOKEN, default=1), width, path="feed_forward", router="router")
    layers = tuple(
        (*pre_norms(hidden, "pre_ff_layernorm"), attends if full else mixer, experts if routed[i] else dense)
        for i, full in enumerate(_jamba_attends(f, sizes.layers))
    )
    return finish(f, sizes, layers)


def _jamba_attends(f: Fields, layers: int) -> list[bool]:
    stated = softmax_layers(f, layers)
    if stated is not None:
        return stated
    period, offset = f.int("attn_layer_period"), f.int("attn_layer_offset", low=0)
    return [i % period == offset for i in range(layers)]


def mixer2(f: Fields, hidden: int, *, norm: bool = True) -> Mamba2:
    """Mamba 2 as Bamba, Falcon-H1 and Granite 4 describe it."""
    heads = f.int("mamba_n_heads")
    inner = f.int("mamba_d_ssm", default=0, low=0) or f.int("mamba_expand", default=2) * hidden
    given = f.raw("mamba_d_head")[1]
    head_dim = inner // heads if given in (None, "auto") else f.int("mamba_d_head")
    return Mamba2(
        hidden,
        heads,
        head_dim,
        f.int("mamba_n_groups", default=1),
        f.int("mamba_d_state"),
        f.int("mamba_d_conv", default=4),
        state_dtype(f),
        conv_dtype(f),
        f.flag("mamba_conv_bias", default=True),
        f.flag("mamba_proj_bias"),
        norm=norm,
    )


def read_bamba(f: Fields) -> Decoder:
    """Bamba: attention on `attn_layer_indices` alone."""
    sizes = d.read_sizes(f)
    mixer, attends = mixer2(f, sizes.hidden), attention(f, sizes)
    listed = f.list("attn_layer_indices") or []
    chosen = softmax_layers(f, sizes.layers) or [i in listed for i in range(sizes.layers)]
    rest = (*pre_norms(sizes.hidden, "pre_ff_layernorm"), _feed_forward(f, sizes.hidden))
    return finish(f, sizes, tuple((*rest, attends if is_full else mixer) for is_full in chosen))


def read_falcon_h1(f: Fields) -> Decoder:
    """Falcon-H1: every layer has attention and a Mamba 2 mixer side by side, and caches for both."""
    sizes = d.read_sizes(f)
    mixer = mixer2(f, sizes.hidden, norm=f.flag("mamba_rms_norm"))
    rest = (*pre_norms(sizes.hidden, "pre_ff_layernorm"), _feed_forward(f, sizes.hidden))
    return finish(f, sizes, ((*rest, mixer, attention(f, sizes)),) * sizes.layers)


def _feed_forward(f: Fields, hidden: int) -> Mlp:
    return Mlp(hidden, f.int("intermediate_size"), bias=f.flag("mlp_bias"), path="feed_forward")


def read_granite(f: Fields) -> Decoder:
    """Granite 4: `layer_types` of `mamba` and `attention`, a dense part in every layer and experts where stated."""
    sizes = d.read_sizes(f)
    hidden, chosen = sizes.hidden, softmax_layers(f, sizes.layers) or [False] * sizes.layers
    rest: Layer = (*pre_norms(hidden, "post_attention_layernorm"), *_granite_feed_forward(f, hidden))
    attends = attention(f, sizes)
    layers = tuple((*rest, attends if full else mixer2(f, hidden)) for full in chosen)
    return finish(f, sizes, layers)


def _granite_feed_forward(f: Fields, hidden: int) -> Layer:
    shared = Mlp(hidden, f.int("shared_intermediate_size"), path="shared_mlp", component="shared_experts")
    count = f.int("num_local_experts", default=0, low=0)
    if not count:
        return (Mlp(hidden, f.int("shared_intermediate_size"), path="shared_mlp"),)
    chosen, width = f.int(*d.EXPERTS_PER_TOKEN), f.int("intermediate_size")
    return shared, Moe(hidden, count, chosen, width, path="block_sparse_moe", router="router")
