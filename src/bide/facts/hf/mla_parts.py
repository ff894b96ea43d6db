"""Pieces of latent attention (MLA) and of the indexer that makes it sparse.

Shapes: transformers 5.24 `models/deepseek_v3`, `deepseek_v32`, `longcat_flash`; what is cached:
vLLM 0.33 `MLAAttentionSpec` and `DeepseekV32IndexerCache`.
"""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.hf.parts import Layers, linear, name, vector
from bide.facts.layers import KeyIndex, LatentAttention, LayerGroup
from bide.facts.model import Tensor

INDEX_BLOCK = 128
"""Index keys are kept in fp8 with one fp32 scale for each block of this many elements."""


@dataclass(frozen=True, slots=True)
class Latent:
    """Attention through one compressed latent per token that all heads share.

    `q_rank` 0: queries are projected directly (DeepSeek V2 Lite). `bias`: the projections that
    read the hidden state and the output have one. `gate_rows`: outputs of a projection that gates
    the result.
    """

    hidden: int
    heads: int
    q_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int
    sparse: bool = False
    bias: bool = False
    gate_rows: int = 0
    path: str = "self_attn"
    output: str = "o_proj"

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return (LatentAttention(layers, self.kv_rank, self.rope_dim, self.sparse),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        made = self._queries(layers)
        made += self._matrix("kv_a_proj_with_mqa", self.kv_rank + self.rope_dim, self.hidden, layers, bias=self.bias)
        made += (vector("norm", f"{self.path}.kv_a_layernorm", self.kv_rank, layers),)
        kv_rows = self.heads * (self.nope_dim + self.value_dim)
        made += self._by_head("kv_b_proj", kv_rows, self.kv_rank, layers)
        if self.gate_rows:
            made += self._by_head("g_proj", self.gate_rows, self.hidden, layers)
        width = self.heads * self.value_dim
        out = linear("attention", f"{self.path}.{self.output}", self.hidden, width, layers, "row", bias=self.bias)
        return made + out

    def _queries(self, layers: Layers) -> tuple[Tensor, ...]:
        rows = self.heads * (self.nope_dim + self.rope_dim)
        if not self.q_rank:
            return self._by_head("q_proj", rows, self.hidden, layers)
        down = self._matrix("q_a_proj", self.q_rank, self.hidden, layers, bias=self.bias)
        norm = vector("norm", f"{self.path}.q_a_layernorm", self.q_rank, layers)
        return (*down, norm, *self._by_head("q_b_proj", rows, self.q_rank, layers))

    def _matrix(self, part: str, rows: int, cols: int, layers: Layers, *, bias: bool) -> tuple[Tensor, ...]:
        """A projection down to a latent: whole on every rank."""
        return linear("attention", f"{self.path}.{part}", rows, cols, layers, bias=bias)

    def _by_head(self, part: str, rows: int, cols: int, layers: Layers) -> tuple[Tensor, ...]:
        return linear("attention", f"{self.path}.{part}", rows, cols, layers, "column")


@dataclass(frozen=True, slots=True)
class Indexer:
    """The small attention that picks which tokens the sparse one reads: one key per token, on every rank."""

    hidden: int
    query_input: int
    heads: int
    key_dim: int
    path: str = "self_attn.indexer"

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return (KeyIndex(layers, index_key_bytes(self.key_dim)),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        queries = linear("indexer", f"{self.path}.wq_b", self.heads * self.key_dim, self.query_input, layers)
        keys = linear("indexer", f"{self.path}.wk", self.key_dim, self.hidden, layers)
        norm = vector("norm", f"{self.path}.k_norm", 2 * self.key_dim, layers)
        return (*queries, *keys, norm, head_weights(f"{self.path}.weights_proj", self.heads, self.hidden, layers))


def index_key_bytes(key_dim: int) -> int:
    """Bytes of a cached index key: fp8 elements and an fp32 scale for each block of 128, whatever the KV dtype.

    >>> index_key_bytes(128)
    132
    """
    return key_dim + 4 * (key_dim // INDEX_BLOCK)


def head_weights(path: str, heads: int, hidden: int, layers: Layers) -> Tensor:
    """The projection that weighs the indexer's heads: checkpoints and engines leave it unquantised."""
    return Tensor("indexer", name(path), heads, hidden, layers)
