"""Gated delta nets with gated attention: Qwen3-Next, Qwen3.5 to 3.8, and OLMo-Hybrid.

Sources: transformers 5.24 `models/{qwen3_next,qwen3_5,qwen3_5_moe,olmo_hybrid}`, vLLM 0.33
`qwen3_next_mtp.py`, `qwen3_5_mtp.py`.
"""

from __future__ import annotations

from dataclasses import replace

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.common import conv_dtype, finish, pre_norms, state_dtype
from bide.facts.hf.dense import experts_per_token
from bide.facts.hf.fields import Fields
from bide.facts.hf.kinds import softmax_layers
from bide.facts.hf.linear_parts import DeltaNet
from bide.facts.hf.parts import Attention, Linear, Mlp, Moe, Norm, Piece


def read_qwen3_next(f: Fields) -> Decoder:
    """States in the model's type; one draft layer in every checkpoint, which the config does not mention."""
    return _read_qwen(f, state_dtype(f), f.int("num_nextn_predict_layers", default=1, low=0, high=64))


def read_qwen3_5(f: Fields) -> Decoder:
    """States in fp32 unless `mamba_ssm_dtype` says otherwise."""
    return _read_qwen(f, state_dtype(f, "fp32"), f.int("mtp_num_hidden_layers", default=0, low=0, high=64))


def _read_qwen(f: Fields, ssm_dtype: str, drafts: int) -> Decoder:
    sizes = d.read_sizes(f)
    full = full_layers(f, sizes.layers)
    attends, mixer = _gated_attention(f, sizes), delta_net(f, sizes.hidden, ssm_dtype)
    norms = pre_norms(sizes.hidden, "post_attention_layernorm")
    routed = d.moe_layers(f, sizes.layers) if f.int(*d.EXPERTS, default=0, low=0) else [False] * sizes.layers
    layers = tuple(
        (*norms, attends if full[i] else mixer, _experts(f, sizes.hidden) if routed[i] else _dense(f, sizes.hidden))
        for i in range(sizes.layers)
    )
    draft = (*norms, attends, layers[-1][-1], *_draft_ends(sizes.hidden))
    return replace(finish(f, sizes, layers), drafts=(draft,) * drafts)


def full_layers(f: Fields, layers: int) -> list[bool]:
    """Which layers have softmax attention: by `layer_types`, else the last of every `full_attention_interval`."""
    return softmax_layers(f, layers) or d.every(layers, f.int("full_attention_interval", default=4))


def _gated_attention(f: Fields, sizes: d.Sizes) -> Attention:
    """Attention whose queries carry an output gate of the same width, with norms on the heads of Q and K."""
    dim = sizes.head_dim
    gate = sizes.heads * dim if f.flag("attn_output_gate", default=True) else 0
    bias = "qkvo" if f.flag("attention_bias") else ""
    dims = (sizes.hidden, sizes.heads, sizes.kv_heads, dim, dim)
    return Attention(*dims, bias=bias, q_norm=dim, k_norm=dim, gate_rows=gate)


def delta_net(f: Fields, hidden: int, ssm_dtype: str) -> DeltaNet:
    return DeltaNet(
        hidden,
        f.int("linear_num_key_heads"),
        f.int("linear_key_head_dim"),
        f.int("linear_num_value_heads"),
        f.int("linear_value_head_dim"),
        f.int("linear_conv_kernel_dim", default=4),
        ssm_dtype,
        conv_dtype(f),
    )


def _experts(f: Fields, hidden: int) -> Moe:
    width, shared = f.int("moe_intermediate_size"), f.int("shared_expert_intermediate_size", default=0, low=0)
    count = f.int(*d.EXPERTS)
    return Moe(hidden, count, experts_per_token(f), width, shared_intermediate=shared, shared_gate=bool(shared))


def _dense(f: Fields, hidden: int) -> Mlp:
    return Mlp(hidden, f.int("intermediate_size"))


def _draft_ends(hidden: int) -> tuple[Piece, ...]:
    """A draft layer joins the embedding and the hidden state in one projection; embedding and head are shared."""
    norms = ("pre_fc_norm_hidden", "pre_fc_norm_embedding", "norm")
    return (Linear("mlp", "fc", hidden, 2 * hidden), *(Norm(path, hidden) for path in norms))


def read_olmo_hybrid(f: Fields) -> Decoder:
    """OLMo-Hybrid: norms before a delta net, after attention; Q and K are normed over all heads."""
    sizes = d.read_sizes(f)
    hidden, width, bias = sizes.hidden, sizes.head_dim, "qkvo" if f.flag("attention_bias") else ""
    dims = (hidden, sizes.heads, sizes.kv_heads, width, width)
    attends = Attention(*dims, bias=bias, q_norm=sizes.heads * width, k_norm=sizes.kv_heads * width)
    after = Norm("post_attention_layernorm", hidden), Norm("post_feedforward_layernorm", hidden)
    linear: Layer = (*pre_norms(hidden, "post_attention_layernorm"), delta_net(f, hidden, state_dtype(f)))
    layers = tuple(
        ((*after, attends) if full else linear) + (_dense(f, hidden),) for full in full_layers(f, sizes.layers)
    )
    return finish(f, sizes, layers)
