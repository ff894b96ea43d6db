"""MiniMax-M3: grouped-query attention that reads only the blocks an index picks; the whole cache is kept."""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder
from bide.facts.hf.common import finish, pre_norms
from bide.facts.hf.fields import Fields
from bide.facts.hf.kinds import SOFTMAX, layers_of_kind
from bide.facts.hf.parts import Attention, Layers, Mlp, Moe, linear, vector
from bide.facts.layers import KeyIndex, LayerGroup
from bide.facts.model import Tensor

BF16 = 2


@dataclass(frozen=True, slots=True)
class BlockIndex:
    """Queries of `heads` and one key of `dim` a token, kept in bf16 (vLLM `MiniMaxM3IndexerCache`)."""

    hidden: int
    heads: int
    dim: int

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return (KeyIndex(layers, BF16 * self.dim),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        return (
            *linear("indexer", "self_attn.index_q_proj", self.heads * self.dim, self.hidden, layers, "column"),
            *linear("indexer", "self_attn.index_k_proj", self.dim, self.hidden, layers),
            vector("norm", "self_attn.index_q_norm", self.dim, layers),
            vector("norm", "self_attn.index_k_norm", self.dim, layers),
        )


def read_minimax_m3(f: Fields) -> Decoder:
    """Source: vLLM 0.33 `models/minimax_m3/nvidia/model.py`. Published checkpoints bring no draft layers."""
    sizes = d.read_sizes(f)
    dim, bias = sizes.head_dim, "qkvo" if f.flag("attention_bias") else ""
    norm = dim if f.flag("use_qk_norm", default=True) else 0
    dims = (sizes.hidden, sizes.heads, sizes.kv_heads, dim, dim)
    attends = Attention(*dims, bias=bias, q_norm=norm, k_norm=norm)
    norms, index = pre_norms(sizes.hidden, "post_attention_layernorm"), _index(f, sizes.hidden)
    moe, dense = _experts(f, sizes.hidden), Mlp(sizes.hidden, f.int("dense_intermediate_size", "intermediate_size"))
    sparse, routed = _sparse_layers(f, sizes.layers), d.moe_layers(f, sizes.layers)
    layers = tuple(
        (*norms, attends, *((index,) if index and sparse[i] else ()), moe if routed[i] else dense)
        for i in range(sizes.layers)
    )
    return finish(f, sizes, layers)


def _index(f: Fields, hidden: int) -> BlockIndex | None:
    part = f.part("sparse_attention_config")
    if part.has("sparse_index_dim"):
        return BlockIndex(hidden, part.int("sparse_num_index_heads"), part.int("sparse_index_dim"))
    if f.has("index_head_dim"):
        return BlockIndex(hidden, f.int("index_n_heads"), f.int("index_head_dim"))
    return None


def _sparse_layers(f: Fields, layers: int) -> list[bool]:
    given = f.part("sparse_attention_config").list("sparse_attention_freq", length=layers)
    if given is not None:
        return [bool(sparse) for sparse in given]
    sparse = ("minimax_m3_sparse", "sparse_attention", "sparse")
    return layers_of_kind(f, layers, sparse, SOFTMAX) or [False] * layers


def _experts(f: Fields, hidden: int) -> Moe:
    width = f.int("moe_intermediate_size", "intermediate_size")
    shared = f.int("n_shared_experts", default=0, low=0) * f.int("shared_intermediate_size", default=width)
    count, chosen = f.int(*d.EXPERTS), f.int(*d.EXPERTS_PER_TOKEN)
    bias = f.flag("use_routing_bias", default=True)
    return Moe(hidden, count, chosen, width, shared_intermediate=shared, router_bias=bias, path="block_sparse_moe")
