"""Step 3 (factored queries, one KV head) and Step 3.5 / 3.7 (windows, a gate per head).

Sources: vLLM 0.33 `step3_text.py`, `step3p5.py`, `step3p5_mtp.py`; transformers 5.24 `models/step3p7`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.common import finish, pre_norms
from bide.facts.hf.fields import Fields
from bide.facts.hf.kinds import local_layers
from bide.facts.hf.parts import Attention, Layers, Linear, Mlp, Moe, Norm, Piece, Vector, linear, vector
from bide.facts.layers import FullAttention, LayerGroup
from bide.facts.model import Tensor

EXPERTS = ("moe_num_experts", *d.EXPERTS)


@dataclass(frozen=True, slots=True)
class FactoredAttention:
    """Queries go through a shared vector of `query_rank`; K and V have one head each, whole on every rank."""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    query_rank: int

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return (FullAttention(layers, self.kv_heads, self.head_dim, self.head_dim),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        path, key_rows = "self_attn", self.kv_heads * self.head_dim
        width = self.heads * self.head_dim
        return (
            *linear("attention", f"{path}.q_proj", self.query_rank, self.hidden, layers),
            *linear("attention", f"{path}.k_proj", key_rows, self.hidden, layers),
            *linear("attention", f"{path}.v_proj", key_rows, self.hidden, layers),
            vector("norm", f"{path}.inter_norm", self.query_rank, layers),
            *linear("attention", f"{path}.wq", width, self.query_rank, layers, "column"),
            *linear("attention", f"{path}.o_proj", self.hidden, width, layers, "row"),
        )


def read_step3(f: Fields) -> Decoder:
    """Step 3: experts on `moe_layers_enum`, elsewhere a dense part."""
    sizes = d.read_sizes(f)
    attends = FactoredAttention(sizes.hidden, sizes.heads, sizes.kv_heads, sizes.head_dim, f.int("share_q_dim"))
    routed, moe = _moe_layers(f, sizes.layers), _experts(f, sizes.hidden)
    rest = (*pre_norms(sizes.hidden, "post_attention_layernorm"), attends)
    dense = Mlp(sizes.hidden, f.int("intermediate_size"))
    return finish(f, sizes, tuple((*rest, moe if is_routed else dense) for is_routed in routed))


def read_step3p5(f: Fields) -> Decoder:
    """Step 3.5 and 3.7: one full layer to three local ones, which may have other head counts."""
    sizes = d.read_sizes(f)
    local, routed = local_layers(f, sizes.layers) or [False] * sizes.layers, _moe_layers(f, sizes.layers)
    norms = pre_norms(sizes.hidden, "post_attention_layernorm")
    moe = replace(_experts(f, sizes.hidden), router_bias=f.flag("use_moe_router_bias", default=True))
    full, window = _attention(f, sizes), _window_attention(f, sizes)
    dense = Mlp(sizes.hidden, f.int("intermediate_size"))
    layers = tuple((*norms, *(window if local[i] else full), moe if routed[i] else dense) for i in range(sizes.layers))
    return _with_drafts(f, finish(f, sizes, layers), (*norms, *window, dense))


def _attention(f: Fields, sizes: d.Sizes, window: int | None = None) -> tuple[Piece, ...]:
    """Norms on the heads of Q and K, and one gate per head."""
    dim, bias = sizes.head_dim, "qkv" if f.flag("attention_bias") else ""
    dims = (sizes.hidden, sizes.heads, sizes.kv_heads, dim, dim)
    attends = Attention(*dims, window=window, bias=bias, q_norm=dim, k_norm=dim)
    if not f.flag("use_head_wise_attn_gate", default=True):
        return (attends,)
    return attends, Linear("attention", "self_attn.g_proj", sizes.heads, sizes.hidden, "column")


def _window_attention(f: Fields, sizes: d.Sizes) -> tuple[Piece, ...]:
    other = f.part("attention_other_setting")
    heads = f.int("num_sliding_attention_heads", default=other.int("num_attention_heads", default=sizes.heads))
    kv_heads = other.int("num_attention_groups", default=sizes.kv_heads)
    dim = other.int("head_dim", default=sizes.head_dim)
    window = f.int("sliding_window", default=None)
    return _attention(f, replace(sizes, heads=heads, kv_heads=kv_heads, head_dim=dim), window)


def _moe_layers(f: Fields, layers: int) -> list[bool]:
    """`moe_layers_enum` lists them, as a text of numbers or a list; else the usual rules, the first layer dense."""
    given = f.raw("moe_layers_enum")[1]
    if isinstance(given, str):
        given = [int(part) for part in given.split(",") if part.strip().isdecimal()]
    if isinstance(given, list):
        return [i in given for i in range(layers)]
    if f.has("mlp_layer_types", "first_k_dense_replace"):
        return d.moe_layers(f, layers)
    return [i > 0 for i in range(layers)]


def _experts(f: Fields, hidden: int) -> Moe:
    width = f.int("moe_intermediate_size")
    shared = f.int("share_expert_dim", default=0, low=0) or f.int("n_shared_experts", default=0, low=0) * width
    return Moe(hidden, f.int(*EXPERTS), f.int(*d.EXPERTS_PER_TOKEN), width, shared_intermediate=shared)


def _with_drafts(f: Fields, made: Decoder, layer: Layer) -> Decoder:
    """Draft layers are local and dense, each with a head of its own."""
    count = f.int("num_nextn_predict_layers", default=0, low=0, high=64)
    joint = Vector("mlp", "eh_proj", 2 * made.hidden**2)
    norms = (Norm(path, made.hidden) for path in ("enorm", "hnorm", "shared_head.norm"))
    first = len(made.layers)
    heads = tuple(
        Tensor("lm_head", f"model.layers.{i}.shared_head.output", made.vocab, made.hidden, split="vocab")
        for i in range(first, first + count)
    )
    return replace(made, drafts=((*layer, joint, *norms),) * count, draft_shell=heads)
