"""A model as bide sees it: layer groups for the cache, tensors for the weights. Nothing of Hugging Face here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bide.facts.layers import LayerGroup
from bide.facts.quantisation import Quantisation
from bide.sourced import Source

Component = Literal[
    "embedding",
    "lm_head",
    "attention",
    "indexer",
    "mlp",
    "experts",
    "shared_experts",
    "router",
    "state",
    "norm",
    "vision",
    "audio",
    "projector",
]
Part = Literal["text", "mtp", "encoder"]
"""`text`: always read; `mtp`: loaded only with speculative decoding; `encoder`: vision and audio towers."""

Split = Literal["vocab", "column", "row", "experts", "none"]
"""How tensor parallelism divides a tensor: by (padded) vocabulary, outputs, inputs, experts' width, or not at all."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """`rows x cols` parameters, once for each of `layers` (empty: once in the model) and `copies` (experts).

    `module` is the checkpoint's module name with `{i}` for the layer and `{e}` for the expert;
    ignore lists of quantised checkpoints are matched against it.
    """

    component: Component
    module: str
    rows: int
    cols: int = 1
    layers: tuple[int, ...] = ()
    copies: int = 1
    split: Split = "none"
    shards: int | None = None
    """The most parts that TP can make of it (KV heads); ranks beyond hold copies. None: any number."""
    linear: bool = False
    """A matrix that quantisation schemes apply to (embeddings, norms and biases are not)."""
    dtype: str | None = None
    """Kept in this type whatever the model's (`fp32` routers' biases, A_log); None: the model's dtype."""
    part: Part = "text"

    @property
    def count(self) -> int:
        """How many matrices of this shape there are."""
        return self.copies * max(1, len(self.layers))

    @property
    def parameters(self) -> int:
        return self.rows * self.cols * self.count


@dataclass(frozen=True, slots=True)
class Moe:
    """Routed experts: `experts_per_token` of `experts` on each of `layers`."""

    experts: int
    experts_per_token: int
    layers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RopeTable:
    """Cosines and sines of `dims` rotated dimensions for `positions` positions, kept in the model's type."""

    positions: int
    dims: int


@dataclass(frozen=True, slots=True)
class Model:
    """The facts of one model. Built by `facts.hf.from_config` or read from the catalogue."""

    name: str
    family: str
    hidden_size: int
    layer_count: int
    attention_heads: int
    vocab_size: int
    dtype: str
    groups: tuple[LayerGroup, ...]
    tensors: tuple[Tensor, ...]
    max_context_tokens: int | None = None
    original_context_tokens: int | None = None
    """Before longrope stretches it, where the config says so: an engine may start with it."""
    moe: Moe | None = None
    quantisation: Quantisation | None = None
    kv_dtype: str | None = None
    """The cache type that the checkpoint asks for (`kv_cache_scheme`), where it does."""
    draft_groups: tuple[LayerGroup, ...] = ()
    """What multi-token-prediction layers cache; held only with speculative decoding."""
    rope_tables: tuple[RopeTable, ...] = ()
    source: Source = field(default_factory=lambda: Source("not stated", kind="config", verified=False))
    notes: tuple[str, ...] = ()
    """What a reader of the figures should know (a derived config, an ignored key)."""

    @property
    def parameters(self) -> int:
        """All parameters, draft layers and encoders included."""
        return sum(tensor.parameters for tensor in self.tensors)
