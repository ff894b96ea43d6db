"""What one layer asks of the block pool: tokens a block, bytes a page, blocks a request.

A page is one block of one layer. Rules as read in vLLM's v1/kv_cache_interface.py (max_memory_usage_bytes of
each spec), platforms/interface.py (_align_hybrid_block_size) and model_executor/layers/mamba (0.33.0, and the
releases that `facts/data/engines/vllm.json` names).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bide.facts.layers import (
    ChunkedAttention,
    CrossAttention,
    FullAttention,
    KeyIndex,
    KvFormat,
    LatentAttention,
    LayerGroup,
    RecurrentState,
    SlidingWindow,
    heads_per_rank,
)

Kind = Literal["full", "window", "chunk", "state", "state_per_block", "cross"]
_KERNEL_BLOCK_TOKENS = 16
"""The smallest block of the usual attention kernels; blocks grow in multiples of it."""


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """How a layer's cache is paged. Equal specs may share a group."""

    kind: Kind
    block_tokens: int
    page_bytes: int
    shape: tuple[float | str, ...] = ()
    """What else must be equal for two layers to be alike: heads and dimensions, or bytes of a state."""
    reach_tokens: int = 0
    """The window, chunk or encoder length."""
    states: int = 0
    """Blocks that a request holds whatever its length (states)."""

    @property
    def family(self) -> tuple[object, ...]:
        """Layers of one family always need the same slots, so all of them fit one block table."""
        pages = (self.page_bytes,) if self.kind == "state" else ()
        return (self.kind, self.block_tokens, self.reach_tokens, self.states, *pages)

    def blocks(self, tokens: int, in_flight_tokens: int) -> int:
        """Blocks that a request of `tokens` holds at most, with `in_flight_tokens` scheduled but not settled."""
        if self.kind == "full":
            return -(-tokens // self.block_tokens)
        if self.kind == "window":  # + 1: a window need not start at a block's first token
            return -(-min(self.reach_tokens - 1 + in_flight_tokens, tokens) // self.block_tokens) + 1
        if self.kind == "chunk":
            return -(-min(self.reach_tokens + in_flight_tokens, tokens) // self.block_tokens)
        if self.kind == "cross":
            return -(-self.reach_tokens // self.block_tokens)
        if self.kind == "state_per_block":
            return -(-tokens // self.block_tokens) + self.states
        return self.states

    def with_page(self, page_bytes: int) -> LayerSpec:
        """The same layer with pages of `page_bytes`: more tokens a block where that divides, else padding."""
        if self.kind in ("state", "state_per_block") or page_bytes % self.page_bytes:
            return replace(self, page_bytes=page_bytes)
        return replace(self, page_bytes=page_bytes, block_tokens=self.block_tokens * page_bytes // self.page_bytes)


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers (0-based indices, in order) that are paged alike."""

    spec: LayerSpec
    layers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Paging:
    """The knobs that decide how layers are paged."""

    block_tokens: int
    tp: int
    kv: KvFormat
    speculative_tokens: int = 0
    prefix_caching: bool = True
    state_cache_mode: str = "align"
    state_checkpoint_blocks: int = 0
    latent_state_alignment: int = 128


def layer_specs(groups: tuple[LayerGroup, ...], paging: Paging) -> list[Layers]:
    """The paging of every cache-holding group on one rank, states already aligned with attention."""
    states = [group for group in groups if isinstance(group, RecurrentState)]
    attention = [group for group in groups if not isinstance(group, RecurrentState)]
    if not states:
        return [Layers(_attention_spec(group, paging), group.layers) for group in attention]
    state_bytes = max(group.layer_bytes(paging.tp, paging.speculative_tokens) for group in states)
    paging, page_bytes = _aligned(attention, paging, state_bytes)
    return [
        *(Layers(_attention_spec(group, paging), group.layers) for group in attention),
        *(Layers(_state_spec(group, paging, page_bytes), group.layers) for group in states),
    ]


def _attention_spec(group: LayerGroup, paging: Paging) -> LayerSpec:
    """One attention layer's spec; compressed attention is paged elsewhere (`packed`)."""
    block = paging.block_tokens
    page = int(_token_bytes(group, paging) * block)
    if isinstance(group, LatentAttention):
        return LayerSpec("full", block, page, (1, group.latent_dim + group.rope_dim))
    if isinstance(group, KeyIndex):
        return LayerSpec("full", block, page, (1, group.key_bytes))
    if not isinstance(group, (FullAttention, SlidingWindow, ChunkedAttention, CrossAttention)):
        raise TypeError(type(group).__name__)
    shape = (heads_per_rank(group.kv_heads, paging.tp), group.head_dim_k, group.head_dim_v)
    if isinstance(group, SlidingWindow):
        return LayerSpec("window", block, page, shape, group.window_tokens)
    if isinstance(group, ChunkedAttention):
        return LayerSpec("chunk", block, page, shape, group.chunk_tokens)
    if isinstance(group, CrossAttention):
        return LayerSpec("cross", block, page, shape, group.encoder_tokens)
    return LayerSpec("full", block, page, shape)


def _token_bytes(group: LayerGroup, paging: Paging) -> float:
    """Bytes of one token in one layer of `group` on one rank."""
    if isinstance(group, RecurrentState) or not hasattr(group, "layer_bytes_per_token"):
        raise TypeError(type(group).__name__)
    return float(group.layer_bytes_per_token(paging.kv, paging.tp))


def _aligned(attention: Sequence[LayerGroup], paging: Paging, state_bytes: int) -> tuple[Paging, int]:
    """Blocks grown until an attention page holds a state, and that page's bytes.

    block = align x ceil(state bytes / (align x attention bytes per token)); a state is padded to the page.
    Qwen3.8-27B, fp8 cache: 3,207,168 B of state over 2,048 B a token gives 1,568 tokens.
    """
    if not attention:
        return paging, state_bytes
    latent = any(isinstance(group, LatentAttention) for group in attention)
    token_bytes = _token_bytes(_leading(attention), paging)
    align = max(paging.latent_state_alignment if latent else _KERNEL_BLOCK_TOKENS, paging.block_tokens)
    block = align * -int(-state_bytes // (align * token_bytes))
    block = max(block, paging.block_tokens)
    return replace(paging, block_tokens=block), int(block * token_bytes)


def _leading(attention: Sequence[LayerGroup]) -> LayerGroup:
    """The attention that a model's config calls its own: full before local, in the order of the layers."""
    full = [group for group in attention if isinstance(group, (FullAttention, LatentAttention))]
    return (full or attention)[0]


def _state_spec(group: RecurrentState, paging: Paging, page_bytes: int) -> LayerSpec:
    """States of a request: one, and one for each draft token; prefix caching keeps more."""
    states, kind = 1 + paging.speculative_tokens, "state"
    if paging.prefix_caching and paging.state_cache_mode == "all":
        states, kind = paging.speculative_tokens, "state_per_block"
    elif paging.prefix_caching:
        checkpoints = paging.state_checkpoint_blocks if group.kind == "mamba2" else 0
        states += 1 + checkpoints
    shape = (group.layer_bytes(paging.tp, paging.speculative_tokens),)
    if kind == "state_per_block":
        return LayerSpec("state_per_block", paging.block_tokens, page_bytes, shape, states=states)
    return LayerSpec("state", paging.block_tokens, page_bytes, shape, states=states)
