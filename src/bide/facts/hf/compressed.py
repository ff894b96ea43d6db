"""DeepSeek V4: a raw window and compressed states in every layer, hyper-connections, hashed routing.

Sources: transformers 5.24 `models/deepseek_v4`, vLLM 0.33 `models/deepseek_v4/{attention,compressor}.py`
and `nvidia/{model,mtp}.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.fields import Fields
from bide.facts.hf.mla_parts import head_weights, index_key_bytes
from bide.facts.hf.parts import Layers, Linear, Moe, Norm, Uncached, Vector, linear, name, vector
from bide.facts.layers import CompressedAttention, KeyIndex, LayerGroup
from bide.facts.model import Tensor
from bide.i18n import _

SPARSE_RATIO = 4
"""Layers that compress four tokens into a state overlap two windows, and pick states with an indexer."""
SCALE_BYTES = 8
FP32 = 4
RATIO_OF_KIND = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}


def packed_state_bytes(head_dim: int, rope_dim: int) -> int:
    """Bytes of one cached state in the `fp8_ds_mla` layout: fp8 elements, a bf16 rope part, block scales.

    >>> packed_state_bytes(512, 64)
    584
    """
    return head_dim - rope_dim + 2 * rope_dim + SCALE_BYTES


def compressor_state_bytes(ratio: int, dim: int) -> int:
    """fp32 bytes that a compressor keeps per request: a key and a score for each token not yet compressed.

    >>> compressor_state_bytes(4, 512), compressor_state_bytes(128, 512)
    (65536, 524288)
    """
    overlap = 2 if ratio == SPARSE_RATIO else 1
    return overlap * ratio * 2 * overlap * dim * FP32


@dataclass(frozen=True, slots=True)
class Compressor:
    """What turns `ratio` tokens into one state of `dim`: two projections of the hidden state, a norm, biases."""

    path: str
    hidden: int
    dim: int
    ratio: int

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        width = self.dim * (2 if self.ratio == SPARSE_RATIO else 1)
        return (
            Tensor("attention", name(f"{self.path}.wkv"), width, self.hidden, layers),
            Tensor("attention", name(f"{self.path}.wgate"), width, self.hidden, layers),
            vector("norm", f"{self.path}.norm", self.dim, layers),
            vector("attention", f"{self.path}.ape", self.ratio * width, layers, dtype="fp32"),
        )


@dataclass(frozen=True, slots=True)
class CompressedLatent:
    """One layer's attention: keys and values are one vector of `head_dim` for all heads.

    `ratio` 0: only the raw window of `window` tokens. The output projection is in two steps,
    the first one by `output_groups` groups of heads.
    """

    hidden: int
    heads: int
    head_dim: int
    rope_dim: int
    q_rank: int
    output_groups: int
    output_rank: int
    window: int
    ratio: int
    index_heads: int
    index_dim: int

    @property
    def sparse(self) -> bool:
        return self.ratio == SPARSE_RATIO

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        size = packed_state_bytes(self.head_dim, self.rope_dim)
        compressor = compressor_state_bytes(self.ratio, self.head_dim) if self.ratio else 0
        if self.sparse:
            compressor += compressor_state_bytes(self.ratio, self.index_dim)
        made = CompressedAttention(layers, size, self.ratio, self.window, compressor)
        if not self.sparse:
            return (made,)
        return made, KeyIndex(layers, index_key_bytes(self.index_dim), self.ratio)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        made = self._projections(layers)
        made += (vector("attention", "self_attn.attn_sink", self.heads, layers, "column", dtype="fp32"),)
        if self.ratio:
            made += Compressor("self_attn.compressor", self.hidden, self.head_dim, self.ratio).tensors(layers)
        return made + (self._indexer(layers) if self.sparse else ())

    def _projections(self, layers: Layers) -> tuple[Tensor, ...]:
        width = self.heads * self.head_dim
        rank = self.output_groups * self.output_rank
        return (
            *linear("attention", "self_attn.wq_a", self.q_rank, self.hidden, layers),
            vector("norm", "self_attn.q_norm", self.q_rank, layers),
            *linear("attention", "self_attn.wq_b", width, self.q_rank, layers, "column"),
            *linear("attention", "self_attn.wkv", self.head_dim, self.hidden, layers),
            vector("norm", "self_attn.kv_norm", self.head_dim, layers),
            *linear("attention", "self_attn.wo_a", rank, width // self.output_groups, layers, "column"),
            *linear("attention", "self_attn.wo_b", self.hidden, rank, layers, "row"),
        )

    def _indexer(self, layers: Layers) -> tuple[Tensor, ...]:
        path = "self_attn.indexer"
        queries = linear("indexer", f"{path}.wq_b", self.index_heads * self.index_dim, self.q_rank, layers)
        keys = Compressor(f"{path}.compressor", self.hidden, self.index_dim, self.ratio).tensors(layers)
        return (*queries, head_weights(f"{path}.weights_proj", self.index_heads, self.hidden, layers), *keys)


@dataclass(frozen=True, slots=True)
class HyperConnection(Uncached):
    """Mixes `streams` residual streams before and after a part of the layer; fp32."""

    path: str
    hidden: int
    streams: int

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        mixes = (2 + self.streams) * self.streams
        size = mixes * self.streams * self.hidden + mixes + 3
        return (vector("mlp", self.path, size, layers, dtype="fp32"),)


def read_compressed(f: Fields) -> Decoder:
    """A DeepSeek V4 decoder: `compress_ratios` says what each layer compresses."""
    sizes = _sizes(f)
    ratios = _ratios(f, sizes.layers)
    hashed = f.int("num_hash_layers", default=0, low=0)
    layers = tuple(_layer(f, sizes, ratio, hashed=i < hashed) for i, ratio in enumerate(ratios))
    shell = (*d.shell(sizes, f.flag("tie_word_embeddings")), _head_mix(f, sizes.hidden))
    count = f.int("num_nextn_predict_layers", default=0, low=0, high=64)
    draft = _layer(f, sizes, 0, hashed=False) + _draft_ends(f, sizes.hidden)
    return Decoder(sizes.hidden, sizes.heads, sizes.vocab, layers, shell, d.max_context(f), drafts=(draft,) * count)


def _sizes(f: Fields) -> d.Sizes:
    layers = f.int(*d.LAYER_COUNT, high=d.MAX_LAYERS)
    return d.Sizes(layers, f.int(*d.HIDDEN), f.int(*d.HEADS, high=10**5), 1, f.int("head_dim"), f.int(*d.VOCAB))


def _ratios(f: Fields, layers: int) -> list[int]:
    given = f.list("compress_ratios", length=layers)
    if given is None:
        kinds = d.layer_kinds(f, layers)
        given = [RATIO_OF_KIND.get(kind) for kind in kinds] if kinds else [None]
    for ratio in given:
        if ratio not in RATIO_OF_KIND.values():
            raise f.bad("compress_ratios", ratio, _("0, 4 or 128 for each layer"))
    return given


def _layer(f: Fields, sizes: d.Sizes, ratio: int, *, hashed: bool) -> Layer:
    hidden, streams = sizes.hidden, f.int("hc_mult", high=1024)
    return (
        CompressedLatent(
            hidden,
            sizes.heads,
            sizes.head_dim,
            f.int("qk_rope_head_dim"),
            f.int("q_lora_rank"),
            f.int("o_groups", high=10**5),
            f.int("o_lora_rank"),
            f.int("sliding_window"),
            ratio,
            f.int("index_n_heads"),
            f.int("index_head_dim"),
        ),
        *_experts(f, sizes, hashed),
        Norm("attn_norm", hidden),
        Norm("ffn_norm", hidden),
        HyperConnection("hc_attn", hidden, streams),
        HyperConnection("hc_ffn", hidden, streams),
    )


def _experts(f: Fields, sizes: d.Sizes, hashed: bool) -> tuple[Moe | Vector, ...]:
    """Routed experts; the first layers look the experts up by token instead of by a score with a bias."""
    width, chosen = f.int("moe_intermediate_size"), f.int("num_experts_per_tok")
    shared = f.int("n_shared_experts", default=0, low=0) * width
    moe = Moe(
        sizes.hidden, f.int("n_routed_experts"), chosen, width, shared_intermediate=shared, router_bias=not hashed
    )
    return (moe, Vector("router", "mlp.gate.tid2eid", sizes.vocab * chosen, "int64")) if hashed else (moe,)


def _head_mix(f: Fields, hidden: int) -> Tensor:
    streams = f.int("hc_mult", high=1024)
    return Tensor("mlp", "hc_head", streams * streams * hidden + streams + 1, dtype="fp32")


def _draft_ends(f: Fields, hidden: int) -> tuple[Linear | Norm | Vector, ...]:
    """A draft layer projects embedding and hidden state apart and has its own mix; embedding and head are shared."""
    mix = _head_mix(f, hidden)
    return (
        Linear("mlp", "e_proj", hidden, hidden),
        Linear("mlp", "h_proj", hidden, hidden),
        *(Norm(path, hidden) for path in ("enorm", "hnorm", "norm")),
        Vector("mlp", "hc_head", mix.rows, "fp32"),
    )
