"""Zamba 2: Mamba 2 layers, some of them behind one of a few shared transformer blocks.

Each use of a shared block caches its own keys and values; its weights are stored once a block, with
a low-rank adapter for each use. Source: transformers 5.24 `models/zamba2`, vLLM 0.33 `zamba2.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.common import conv_dtype, finish, state_dtype
from bide.facts.hf.fields import Fields
from bide.facts.hf.kinds import layers_of_kind
from bide.facts.hf.mamba_parts import Mamba2
from bide.facts.hf.parts import Again, Attention, Linear, Mlp, Norm, Piece


@dataclass(frozen=True, slots=True)
class _Adapters:
    """Widths of the shared blocks' low-rank adapters, in order: input to `rank`, `rank` to output."""

    pairs: tuple[tuple[str, int, int], ...]
    rank: int

    def pieces(self, use: int) -> tuple[Piece, ...]:
        made: tuple[Piece, ...] = ()
        for path, rows, cols in self.pairs:
            where = f"shared_transformer.{path}_adapter_list.{use}"
            made += (
                Linear("mlp", f"{where}.0", self.rank, cols),
                Linear("mlp", f"{where}.1", rows, self.rank, "column"),
            )
        return made


def read_zamba2(f: Fields) -> Decoder:
    """The first `num_mem_blocks` hybrid layers bring the shared blocks, the later ones use them in turn."""
    sizes = _sizes(f)
    mixer, blocks = _mamba(f, sizes.hidden), f.int("num_mem_blocks", default=1)
    shared = _shared(sizes)
    hybrid = _hybrid_layers(f, sizes.layers)
    layers: list[Layer] = []
    uses = 0
    for is_hybrid in hybrid:
        layer: Layer = (Norm("input_layernorm", sizes.hidden), mixer)
        if is_hybrid:
            layer += (Linear("mlp", "linear", sizes.hidden, sizes.hidden), *_use(f, sizes, shared, uses, blocks))
            uses += 1
        layers.append(layer)
    layers = _with_adapters(f, sizes, layers, hybrid)
    return finish(f, sizes, tuple(layers), tied=True)


def _sizes(f: Fields) -> d.Sizes:
    """Attention works on the state joined with the embedding: twice the hidden size."""
    layers, hidden = f.int(*d.LAYER_COUNT, high=d.MAX_LAYERS), f.int(*d.HIDDEN)
    heads = f.int(*d.HEADS, high=10**5)
    kv_heads = f.int("num_key_value_heads", default=heads, high=10**5)
    return d.Sizes(
        layers, hidden, heads, kv_heads, f.int("attention_head_dim", default=2 * hidden // heads), f.int(*d.VOCAB)
    )


def _mamba(f: Fields, hidden: int) -> Mamba2:
    heads, inner = f.int("n_mamba_heads"), f.int("mamba_expand") * hidden
    return Mamba2(
        hidden,
        heads,
        f.int("mamba_headdim", default=inner // heads),
        f.int("mamba_ngroups", default=1),
        f.int("mamba_d_state"),
        f.int("mamba_d_conv"),
        state_dtype(f),
        conv_dtype(f),
        f.flag("use_conv_bias", default=True),
        f.flag("add_bias_linear"),
    )


def _hybrid_layers(f: Fields, layers: int) -> list[bool]:
    listed = f.list("hybrid_layer_ids") or []
    return layers_of_kind(f, layers, ("hybrid",), ("mamba", "linear_attention")) or [i in listed for i in range(layers)]


def _shared(sizes: d.Sizes) -> Attention:
    dims = (2 * sizes.hidden, sizes.heads, sizes.kv_heads, sizes.head_dim, sizes.head_dim)
    return Attention(*dims, path="shared_transformer.self_attn", output_rows=sizes.hidden)


def _use(f: Fields, sizes: d.Sizes, shared: Attention, use: int, blocks: int) -> tuple[Piece, ...]:
    if use >= blocks:
        return (Again(shared),)
    at, hidden = "shared_transformer", sizes.hidden
    width, bias = f.int("intermediate_size", default=4 * hidden), f.flag("add_bias_linear")
    mlp = Mlp(hidden, width, bias=bias, path=f"{at}.feed_forward")
    return (shared, mlp, Norm(f"{at}.input_layernorm", 2 * hidden), Norm(f"{at}.pre_ff_layernorm", hidden))


def _with_adapters(f: Fields, sizes: d.Sizes, layers: list[Layer], hybrid: list[bool]) -> list[Layer]:
    """Each use has its adapters, in the block that it uses."""
    width = f.int("intermediate_size", default=4 * sizes.hidden)
    pairs = [("feed_forward.gate_up_proj", 2 * width, sizes.hidden)]
    if f.flag("use_shared_attention_adapter"):
        heads = {"q": sizes.heads, "k": sizes.kv_heads, "v": sizes.kv_heads}
        pairs += [(f"self_attn.linear_{p}", n * sizes.head_dim, 2 * sizes.hidden) for p, n in heads.items()]
    adapters = _Adapters(tuple(pairs), f.int("adapter_rank", default=128))
    where = [i for i, is_hybrid in enumerate(hybrid) if is_hybrid]
    made = list(layers)
    for use, i in enumerate(where):
        made[i] += adapters.pieces(use)
    return made
