"""MiniMax's lightning attention, LFM2's short convolutions, RecurrentGemma's RG-LRU.

Sources: transformers 5.24 `models/{minimax,lfm2,lfm2_moe,recurrent_gemma}`, vLLM 0.33 `lfm2.py`.
"""

from __future__ import annotations

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.common import attention, conv_dtype, finish, pre_norms
from bide.facts.hf.fields import Fields
from bide.facts.hf.kinds import softmax_layers
from bide.facts.hf.linear_parts import Lightning, RgLru, ShortConvolution
from bide.facts.hf.parts import Attention, Mlp, Moe, Norm


def read_minimax(f: Fields) -> Decoder:
    """MiniMax-Text-01 and M1: lightning attention where `attn_type_list` has 0 or `layer_types` say so.

    Its state is of the model's type (vLLM `linear_attention_state_dtype` on `auto`).
    """
    sizes = d.read_sizes(f)
    hidden, width = sizes.hidden, sizes.heads * sizes.head_dim
    mixer = Lightning(hidden, sizes.heads, sizes.head_dim, norm_size=width, state_dtype=conv_dtype(f))
    count, experts_width = f.int(*d.EXPERTS), f.int("intermediate_size")
    moe = Moe(hidden, count, f.int(*d.EXPERTS_PER_TOKEN), experts_width, path="block_sparse_moe")
    shared = f.raw("shared_intermediate_size")[1] or 0
    rest: Layer = (*pre_norms(hidden, "post_attention_layernorm"), moe)
    if shared:
        rest += (Mlp(hidden, f.int("shared_intermediate_size"), path="shared_mlp", component="shared_experts"),)
    attends = attention(f, sizes)
    return finish(f, sizes, tuple((*rest, attends if full else mixer) for full in _minimax_full(f, sizes.layers)))


def _minimax_full(f: Fields, layers: int) -> list[bool]:
    types = f.list("attn_type_list", length=layers)
    if types is not None:
        return [kind == 1 for kind in types]
    return softmax_layers(f, layers) or d.every(layers, 2, local_count_first=False)


def read_lfm2(f: Fields) -> Decoder:
    """LFM2: gated short convolutions, and attention with normed heads on some layers."""
    sizes = d.read_sizes(f)
    dim, hidden = sizes.head_dim, sizes.hidden
    attends = Attention(hidden, sizes.heads, sizes.kv_heads, dim, dim, q_norm=dim, k_norm=dim)
    mixer = ShortConvolution(hidden, f.int("conv_L_cache", default=3), f.flag("conv_bias"), conv_dtype(f))
    norms = Norm("operator_norm", hidden), Norm("ffn_norm", hidden)
    routed = d.moe_layers(f, sizes.layers) if f.has(*d.EXPERTS) else [False] * sizes.layers
    layers = tuple(
        (*norms, attends if full else mixer, _lfm2_experts(f, hidden) if routed[i] else _lfm2_mlp(f, hidden))
        for i, full in enumerate(_lfm2_full(f, sizes.layers))
    )
    return finish(f, sizes, layers, tied=True)


def _lfm2_full(f: Fields, layers: int) -> list[bool]:
    listed = f.list("full_attn_idxs")
    return softmax_layers(f, layers) or [listed is None or i in listed for i in range(layers)]


def _lfm2_experts(f: Fields, hidden: int) -> Moe:
    bias = f.flag("use_expert_bias", default=True)
    count, chosen = f.int(*d.EXPERTS), f.int(*d.EXPERTS_PER_TOKEN)
    return Moe(hidden, count, chosen, f.int("moe_intermediate_size"), router_bias=bias, path="feed_forward")


def _lfm2_mlp(f: Fields, hidden: int) -> Mlp:
    """Two thirds of the stated width, times a multiplier, rounded up, with `block_auto_adjust_ff_dim`."""
    width = f.int("block_ff_dim", "intermediate_size")
    if f.flag("block_auto_adjust_ff_dim", default=not f.has(*d.EXPERTS)):
        width = int(f.number("block_ffn_dim_multiplier", default=1.0) * int(2 * width / 3))
        multiple = f.int("block_multiple_of", default=256)
        width = multiple * -(-width // multiple)
    return Mlp(hidden, width, path="feed_forward")


def read_recurrent_gemma(f: Fields) -> Decoder:
    """RecurrentGemma: recurrent, recurrent, attention in turn, attention within a window."""
    sizes = d.read_sizes(f)
    hidden, dim = sizes.hidden, sizes.head_dim
    window = f.int("attention_window_size", default=2048)
    dims = (hidden, sizes.heads, sizes.kv_heads, dim, dim)
    attends = Attention(*dims, window=window, bias="o", path="temporal_block")
    width = f.int("lru_width", default=hidden)
    mixer = RgLru(hidden, width, sizes.heads, f.int("conv1d_width", default=4), conv_dtype(f))
    norms = Norm("temporal_pre_norm", hidden), Norm("channel_pre_norm", hidden)
    mlp = Mlp(hidden, f.int("intermediate_size") // 2, bias=True, path="mlp_block")
    turn = f.list("block_types", "_block_types", "layers_block_type") or ["recurrent", "recurrent", "attention"]
    layers = tuple((*norms, mixer if turn[i % len(turn)] == "recurrent" else attends, mlp) for i in range(sizes.layers))
    return finish(f, sizes, layers, tied=True)
