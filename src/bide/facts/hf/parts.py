"""The pieces that decoder layers are made of: each knows its cache groups and its tensors.

A layer is a tuple of pieces. Equal pieces of different layers become one group and one set of
tensors (`assemble.py`), so a reader only says, layer by layer, what a layer is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bide.facts.layers import ChunkedAttention, CrossAttention, FullAttention, LayerGroup, SlidingWindow
from bide.facts.model import Component, Split, Tensor

Layers = tuple[int, ...]


class Piece(Protocol):
    """Part of a decoder layer; `layers` are the indices of the layers that have it."""

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]: ...

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]: ...


class Uncached:
    """A piece that keeps nothing between tokens."""

    __slots__ = ()

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return ()


def name(path: str) -> str:
    """The canonical module name of a layer's part."""
    return f"model.layers.{{i}}.{path}"


def linear(
    component: Component,
    path: str,
    rows: int,
    cols: int,
    layers: Layers,
    split: Split = "none",
    *,
    shards: int | None = None,
    copies: int = 1,
    bias: bool = False,
) -> tuple[Tensor, ...]:
    """A quantisable matrix, and its bias (divided with the outputs, whole where the inputs are divided)."""
    matrix = Tensor(component, name(path), rows, cols, layers, copies, split, shards, linear=True)
    if not bias:
        return (matrix,)
    bias_split: Split = "none" if split == "row" else split
    return matrix, Tensor(component, name(path) + ".bias", rows, 1, layers, copies, bias_split, shards)


def vector(
    component: Component, path: str, size: int, layers: Layers, split: Split = "none", *, dtype: str | None = None
) -> Tensor:
    """A norm's weight or another small parameter that is never quantised."""
    return Tensor(component, name(path), size, 1, layers, split=split, dtype=dtype)


@dataclass(frozen=True, slots=True)
class Norm(Uncached):
    """A norm over `size` channels; LayerNorm has a bias, RMSNorm has none."""

    path: str
    size: int
    bias: bool = False

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        return (vector("norm", self.path, self.size * (2 if self.bias else 1), layers),)


@dataclass(frozen=True, slots=True)
class Linear(Uncached):
    """One more quantisable matrix of a layer: an output gate, a draft layer's projection."""

    component: Component
    path: str
    rows: int
    cols: int
    split: Split = "none"
    bias: bool = False

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        return linear(self.component, self.path, self.rows, self.cols, layers, self.split, bias=self.bias)


@dataclass(frozen=True, slots=True)
class Vector(Uncached):
    """One more parameter of a layer that is never quantised; `dtype` where it is not the model's."""

    component: Component
    path: str
    size: int
    dtype: str | None = None
    split: Split = "none"

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        return (vector(self.component, self.path, self.size, layers, self.split, dtype=self.dtype),)


@dataclass(frozen=True, slots=True)
class Attention:
    """Softmax attention with grouped KV heads, full, sliding, chunked or across to an encoder.

    `bias` holds the letters of `qkvo` whose projections have one. `q_norm` and `k_norm` are the
    sizes of the norms on queries and keys (0: none). `gate_rows` are extra query outputs that
    gate the result (Qwen3-Next). A layer that reuses another's cache has `cached` false, and
    `stores_kv` false when it has no K and V projections either.
    """

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    window: int | None = None
    chunk: int | None = None
    encoder_tokens: int | None = None
    bias: str = ""
    q_norm: int = 0
    k_norm: int = 0
    gate_rows: int = 0
    sinks: bool = False
    cached: bool = True
    stores_kv: bool = True
    value_is_key: bool = False
    path: str = "self_attn"
    kv_input: int | None = None
    """Width of what K and V are projected from, where it is not the hidden state."""
    output_rows: int | None = None
    """Width of the output, where it is not the hidden state."""

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        if not self.cached:
            return ()
        heads = (layers, self.kv_heads, self.head_dim, self.value_dim)
        if self.encoder_tokens is not None:
            return (CrossAttention(*heads, encoder_tokens=self.encoder_tokens),)
        if self.window is not None:
            return (SlidingWindow(*heads, window_tokens=self.window),)
        if self.chunk is not None:
            return (ChunkedAttention(*heads, chunk_tokens=self.chunk),)
        return (FullAttention(*heads),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        q_rows = self.heads * self.head_dim + self.gate_rows
        made = self._linear("q", q_rows, self.hidden, layers)
        if self.stores_kv:
            width = self.kv_input or self.hidden
            made += self._linear("k", self.kv_heads * self.head_dim, width, layers)
            if not self.value_is_key:
                made += self._linear("v", self.kv_heads * self.value_dim, width, layers)
        made += self._linear("o", self.output_rows or self.hidden, self.heads * self.value_dim, layers)
        return made + self._small(layers)

    def _linear(self, letter: str, rows: int, cols: int, layers: Layers) -> tuple[Tensor, ...]:
        shards = {"k": self.kv_heads, "v": self.kv_heads}.get(letter)
        split: Split = "row" if letter == "o" else "column"
        path = f"{self.path}.{letter}_proj"
        return linear("attention", path, rows, cols, layers, split, shards=shards, bias=letter in self.bias)

    def _small(self, layers: Layers) -> tuple[Tensor, ...]:
        sizes = {"q_norm": self.q_norm, "k_norm": self.k_norm if self.stores_kv else 0}
        made = tuple(vector("norm", f"{self.path}.{part}", size, layers) for part, size in sizes.items() if size)
        if self.sinks:
            made += (vector("attention", f"{self.path}.sinks", self.heads, layers, "column"),)
        return made


@dataclass(frozen=True, slots=True)
class Again:
    """A further pass through an attention layer (a looped model): a cache of its own, the same weights."""

    attention: Attention

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return self.attention.groups(layers)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Mlp(Uncached):
    """A dense feed-forward: gate, up and down where gated, up and down where not."""

    hidden: int
    intermediate: int
    gated: bool = True
    bias: bool = False
    path: str = "mlp"
    component: Component = "mlp"

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        ins = ("gate_proj", "up_proj") if self.gated else ("up_proj",)
        made: tuple[Tensor, ...] = ()
        for part in ins:
            path = f"{self.path}.{part}"
            made += linear(self.component, path, self.intermediate, self.hidden, layers, "column", bias=self.bias)
        path = f"{self.path}.down_proj"
        return made + linear(self.component, path, self.hidden, self.intermediate, layers, "row", bias=self.bias)


@dataclass(frozen=True, slots=True)
class Moe(Uncached):
    """Routed experts with a router, and shared experts that every token passes through.

    `latent` (0: none) is the width that the experts work on, with a projection down to it and
    back up. `router_bias` adds one fp32 number per expert (DeepSeek's `e_score_correction_bias`,
    gpt-oss's router bias in the model's type with `router_bias_dtype` None).
    """

    hidden: int
    experts: int
    experts_per_token: int
    intermediate: int
    gated: bool = True
    bias: bool = False
    shared_intermediate: int = 0
    shared_gate: bool = False
    router_bias: bool = False
    router_bias_dtype: str | None = "fp32"
    latent: int = 0
    latent_norm: bool = False
    path: str = "mlp"
    router: str = "gate"
    shared_path: str = "shared_experts"
    shared_bias: bool = False

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        made = self._router(layers) + self._experts(layers)
        if self.shared_intermediate:
            path = f"{self.path}.{self.shared_path}"
            shared = Mlp(self.hidden, self.shared_intermediate, self.gated, self.shared_bias, path, "shared_experts")
            made += shared.tensors(layers)
        if self.shared_gate:
            made += (Tensor("router", name(f"{self.path}.shared_expert_gate"), 1, self.hidden, layers),)
        return made + self._latent(layers)

    def _router(self, layers: Layers) -> tuple[Tensor, ...]:
        path = f"{self.path}.{self.router}"
        made: tuple[Tensor, ...] = (Tensor("router", name(path), self.experts, self.hidden, layers, linear=True),)
        if self.router_bias:
            made += (vector("router", f"{path}.bias", self.experts, layers, dtype=self.router_bias_dtype),)
        return made

    def _experts(self, layers: Layers) -> tuple[Tensor, ...]:
        width = self.latent or self.hidden
        made: tuple[Tensor, ...] = ()
        shapes = {"up_proj": (self.intermediate, width), "down_proj": (width, self.intermediate)}
        if self.gated:
            shapes = {"gate_proj": (self.intermediate, width), **shapes}
        for part, (rows, cols) in shapes.items():
            path = f"{self.path}.experts.{{e}}.{part}"
            made += linear("experts", path, rows, cols, layers, "experts", copies=self.experts, bias=self.bias)
        return made

    def _latent(self, layers: Layers) -> tuple[Tensor, ...]:
        if not self.latent:
            return ()
        down = linear("experts", f"{self.path}.fc1_latent_proj", self.latent, self.hidden, layers)
        up = linear("experts", f"{self.path}.fc2_latent_proj", self.hidden, self.latent, layers)
        norm = (vector("norm", f"{self.path}.latent_norm", self.latent, layers),) if self.latent_norm else ()
        return down + up + norm
