"""Linear attention beside MLA: Kimi Linear, Kimi K3, and Ling's hybrids (lightning attention in 2.5, KDA in 3).

Sources: transformers 5.24 `models/{kimi_linear,bailing_hybrid}`, vLLM 0.33 `models/kimi_k3/nvidia/{model,kda,mla}.py`,
`bailing_moe_linear.py`, `bailing_moe_v3.py`.
"""

from __future__ import annotations

from dataclasses import replace

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder
from bide.facts.hf.common import conv_dtype, pre_norms
from bide.facts.hf.fields import Fields
from bide.facts.hf.kinds import softmax_layers
from bide.facts.hf.latent import LatentTraits, experts, latent, mla_sizes, with_drafts
from bide.facts.hf.linear_parts import Kda, Lightning
from bide.facts.hf.mla_parts import Latent
from bide.facts.hf.parts import Mlp, Moe, Norm, Piece, Vector
from bide.facts.model import Tensor


def read_kimi_linear(f: Fields) -> Decoder:
    """Kimi Linear and Kimi K3: `linear_attn_config` counts its layers from one."""
    sizes = mla_sizes(f)
    attends, mixer = replace(latent(f, sizes), gate_rows=_gate_rows(f, sizes)), _kda(f, sizes.hidden)
    full = _full_layers(f, sizes.layers)
    routed = d.moe_layers(f, sizes.layers)
    dense, moe = Mlp(sizes.hidden, f.int("intermediate_size")), _kimi_experts(f, sizes.hidden)
    rest = (*pre_norms(sizes.hidden, "post_attention_layernorm"), *_residual_attention(f, sizes.hidden))
    layers = tuple((*rest, attends if full[i] else mixer, moe if routed[i] else dense) for i in range(sizes.layers))
    return with_drafts(f, _finish(f, sizes, layers), False)


def _finish(f: Fields, sizes: d.Sizes, layers: tuple[tuple[Piece, ...], ...]) -> Decoder:
    shell = d.shell(sizes, f.flag("tie_word_embeddings"))
    if f.has("attn_res_block_size"):
        shell += (Tensor("norm", "model.output_attn_res", 2 * sizes.hidden),)
    return Decoder(sizes.hidden, sizes.heads, sizes.vocab, layers, shell, d.max_context(f))


def _gate_rows(f: Fields, sizes: d.Sizes) -> int:
    return sizes.heads * f.int("v_head_dim") if f.flag("mla_use_output_gate") else 0


def _full_layers(f: Fields, layers: int) -> list[bool]:
    linear = f.part("linear_attn_config")
    listed = linear.list("full_attn_layers")
    if listed is not None:
        return [i + 1 in listed for i in range(layers)]
    return softmax_layers(f, layers) or [i > 0 and i % 4 == 0 for i in range(layers)]


def _kda(f: Fields, hidden: int) -> Kda:
    """Gates are of low rank (the head's dimension) unless `use_full_rank_gate`, which holds for the output's."""
    part = f.part("linear_attn_config")
    dim = part.int("head_dim", default=f.int("linear_head_dim", default=128))
    heads = part.int("num_heads", default=f.int("linear_num_heads", default=32))
    kernel = part.int("short_conv_kernel_size", default=f.int("linear_conv_kernel_dim", default=4))
    gate_rank = 0 if part.flag("use_full_rank_gate") else dim
    return Kda(hidden, heads, dim, kernel, dim, gate_rank, conv_dtype=conv_dtype(f))


def _kimi_experts(f: Fields, hidden: int) -> Moe:
    """K3's experts work on a latent of `routed_expert_hidden_size`."""
    moe = experts(f, LatentTraits(), hidden)
    width = f.int("routed_expert_hidden_size", default=0, low=0)
    return replace(moe, latent=width, latent_norm=bool(width) and f.flag("latent_moe_use_norm"))


def _residual_attention(f: Fields, hidden: int) -> tuple[Piece, ...]:
    """K3 attends over earlier layers' residuals: a norm and a row of weights before each half of a layer."""
    if not f.has("attn_res_block_size"):
        return ()
    paths = ("self_attention_res", "mlp_res")
    norms = tuple(Norm(f"{path}_norm", hidden) for path in paths)
    return norms + tuple(Vector("mlp", f"{path}_proj", hidden) for path in paths)


def read_bailing(f: Fields) -> Decoder:
    """Ling 2.5 and 3: linear attention in all but the last layer of each `layer_group_size`."""
    sizes = mla_sizes(f)
    full = _group_ends(f, sizes.layers)
    kda = f.has("short_conv_kernel_size")
    mixer, attends = (_ling_kda(f, sizes) if kda else _ling_lightning(f, sizes)), _ling_latent(f, sizes, gated=kda)
    routed, moe = d.moe_layers(f, sizes.layers), _ling_experts(f, sizes.hidden)
    dense = Mlp(sizes.hidden, f.int("intermediate_size"))
    norms = pre_norms(sizes.hidden, "post_attention_layernorm")
    layers = tuple((*norms, attends if full[i] else mixer, moe if routed[i] else dense) for i in range(sizes.layers))
    return with_drafts(f, _finish(f, sizes, layers), True, (*norms, attends, moe))


def _group_ends(f: Fields, layers: int) -> list[bool]:
    return softmax_layers(f, layers) or d.every(layers, f.int("layer_group_size", default=6))


def _ling_kda(f: Fields, sizes: d.Sizes) -> Kda:
    """One full matrix for each gate, `head_dim` (not MLA's) for the heads."""
    dim, kernel = f.int("linear_head_dim", "head_dim", default=128), f.int("short_conv_kernel_size")
    return Kda(sizes.hidden, sizes.heads, dim, kernel, 0, 0, conv_dtype=conv_dtype(f))


def _ling_lightning(f: Fields, sizes: d.Sizes) -> Lightning:
    """Kept in the model's type (vLLM `linear_attention_state_dtype` on `auto`)."""
    dim = f.int("head_dim", default=sizes.hidden // sizes.heads)
    return Lightning(
        sizes.hidden,
        sizes.heads,
        dim,
        norm_size=sizes.heads * dim,
        head_norms=dim if f.flag("use_qk_norm") else 0,
        state_dtype=conv_dtype(f),
        names=("query_key_value", "g_proj", "dense"),
        path="attention",
    )


def _ling_latent(f: Fields, sizes: d.Sizes, *, gated: bool) -> Latent:
    """Ling 3 gates the result with one number per head."""
    return replace(latent(f, sizes), gate_rows=sizes.heads if gated else 0)


def _ling_experts(f: Fields, hidden: int) -> Moe:
    bias = f.flag("moe_router_enable_expert_bias", default=True)
    return replace(experts(f, LatentTraits(), hidden), router_bias=bias)
