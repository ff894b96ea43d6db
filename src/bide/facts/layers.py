"""What each kind of layer keeps in the cache: a model is a tuple of these groups.

A group holds the decoder layers that cache in the same way (`layers`: 0-based indices; an index
stands twice where a layer has two attention parts) and knows its own bytes on one tensor-parallel
rank. A model's cache is the sum over its groups, never a tree of ifs.

Every group answers `cost(kv, tp)` with a Cost: bytes that grow with each token, bytes that grow
only within a window, and bytes that a request holds from its first token on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DTYPE_BYTES = {"int64": 8, "fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
"""Bytes of one element of the types that states and unquantised tensors are kept in."""


@dataclass(frozen=True, slots=True)
class KvFormat:
    """How a cache element is stored: `bytes_per_element`, plus a scale per token and head on each side.

    `latent_bytes_per_token` replaces the plain product for latent (MLA) caches whose layout packs
    scales and an unquantised rope part (`fp8_ds_mla`: 656 bytes).
    """

    name: str
    bytes_per_element: float
    scale_bytes_per_token_head: float = 0.0
    latent_bytes_per_token: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """`bytes_per_token` for at most the last `window_tokens` tokens of a request."""

    window_tokens: int
    bytes_per_token: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Cache bytes of one or more groups on one rank."""

    growing_bytes_per_token: float = 0.0
    windows: tuple[Window, ...] = ()
    fixed_bytes_per_request: float = 0.0

    def request_bytes(self, context_tokens: int) -> float:
        """Bytes that a request of `context_tokens` holds, before any rounding to blocks."""
        windowed = sum(w.bytes_per_token * min(context_tokens, w.window_tokens) for w in self.windows)
        return self.growing_bytes_per_token * context_tokens + windowed + self.fixed_bytes_per_request

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.growing_bytes_per_token + other.growing_bytes_per_token,
            _merge(self.windows + other.windows),
            self.fixed_bytes_per_request + other.fixed_bytes_per_request,
        )


def _merge(windows: tuple[Window, ...]) -> tuple[Window, ...]:
    sizes = dict.fromkeys(w.window_tokens for w in windows)
    return tuple(Window(n, sum(w.bytes_per_token for w in windows if w.window_tokens == n)) for n in sizes)


def heads_per_rank(kv_heads: int, tp: int) -> int:
    """KV heads on one rank: replicated, never fewer than one, where TP exceeds them (vLLM `get_num_kv_heads`).

    >>> heads_per_rank(8, 2), heads_per_rank(2, 4)
    (4, 1)
    """
    return max(1, -(-kv_heads // tp))


@dataclass(frozen=True, slots=True)
class _Heads:
    """Attention that keeps a K and a V vector per KV head and token (MHA, GQA, MQA)."""

    layers: tuple[int, ...]
    kv_heads: int
    head_dim_k: int
    head_dim_v: int

    def layer_bytes_per_token(self, kv: KvFormat, tp: int) -> float:
        """heads x (K dim + V dim) x bytes, plus one scale per head and side; one layer, one rank."""
        elements = (self.head_dim_k + self.head_dim_v) * kv.bytes_per_element
        return heads_per_rank(self.kv_heads, tp) * (elements + 2 * kv.scale_bytes_per_token_head)

    def bytes_per_token(self, kv: KvFormat, tp: int) -> float:
        return len(self.layers) * self.layer_bytes_per_token(kv, tp)


@dataclass(frozen=True, slots=True)
class FullAttention(_Heads):
    """Every token attends to every earlier one: the cache grows with the context."""

    def cost(self, kv: KvFormat, tp: int) -> Cost:
        return Cost(self.bytes_per_token(kv, tp))


@dataclass(frozen=True, slots=True)
class SlidingWindow(_Heads):
    """Only the last `window_tokens` tokens are attended to, and kept."""

    window_tokens: int

    def cost(self, kv: KvFormat, tp: int) -> Cost:
        return Cost(windows=(Window(self.window_tokens, self.bytes_per_token(kv, tp)),))


@dataclass(frozen=True, slots=True)
class ChunkedAttention(_Heads):
    """Attention within fixed chunks of `chunk_tokens` (Llama 4's RoPE layers)."""

    chunk_tokens: int

    def cost(self, kv: KvFormat, tp: int) -> Cost:
        return Cost(windows=(Window(self.chunk_tokens, self.bytes_per_token(kv, tp)),))


@dataclass(frozen=True, slots=True)
class CrossAttention(_Heads):
    """K and V of `encoder_tokens` encoder positions, held whole by every request (Whisper, Llama 3.2 Vision)."""

    encoder_tokens: int

    def cost(self, kv: KvFormat, tp: int) -> Cost:
        return Cost(fixed_bytes_per_request=self.encoder_tokens * self.bytes_per_token(kv, tp))


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """MLA: one latent vector of `latent_dim + rope_dim` per token, not doubled, the same on every TP rank."""

    layers: tuple[int, ...]
    latent_dim: int
    rope_dim: int
    sparse: bool = False
    """Attended sparsely through an indexer; an fp8 cache then uses the packed `fp8_ds_mla` layout."""

    def layer_bytes_per_token(self, kv: KvFormat, tp: int) -> float:
        if self.sparse and kv.latent_bytes_per_token is not None:
            return kv.latent_bytes_per_token
        return (self.latent_dim + self.rope_dim) * kv.bytes_per_element + kv.scale_bytes_per_token_head

    def cost(self, kv: KvFormat, tp: int) -> Cost:
        return Cost(len(self.layers) * self.layer_bytes_per_token(kv, tp))


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """Index keys of sparse attention: `key_bytes` per `tokens_per_key` tokens, whatever the KV dtype, on every rank."""

    layers: tuple[int, ...]
    key_bytes: float
    tokens_per_key: int = 1

    def layer_bytes_per_token(self, kv: KvFormat, tp: int) -> float:
        return self.key_bytes / self.tokens_per_key

    def cost(self, kv: KvFormat, tp: int) -> Cost:
        return Cost(len(self.layers) * self.layer_bytes_per_token(kv, tp))


@dataclass(frozen=True, slots=True)
class CompressedAttention:
    """DeepSeek V4: one packed latent of `state_bytes` per `tokens_per_state` tokens, plus a raw window.

    `tokens_per_state` 0 means that the layer keeps only the window. `compressor_bytes` is the
    fixed fp32 state per request and layer from which the next compressed state is built.
    """

    layers: tuple[int, ...]
    state_bytes: int
    tokens_per_state: int
    window_tokens: int
    compressor_bytes: int

    def cost(self, kv: KvFormat, tp: int) -> Cost:
        count = len(self.layers)
        growing = count * self.state_bytes / self.tokens_per_state if self.tokens_per_state else 0.0
        window = Window(self.window_tokens, count * self.state_bytes)
        return Cost(growing, (window,), count * self.compressor_bytes)


StateKind = Literal["mamba1", "mamba2", "gdn", "kda", "lightning", "short_conv", "rglru"]


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """A state of constant size per request and layer (Mamba, GDN, KDA, linear attention, short convolution).

    Convolution part: `(conv_channels + groups x group_channels) x conv_length` elements of
    `conv_dtype`; recurrent part: `state_elements` of `state_dtype`. Both are divided by TP;
    `groups` is first raised to a multiple of TP (vLLM `mamba_utils`, `extra_groups_for_head_shards`).
    """

    layers: tuple[int, ...]
    kind: StateKind
    state_elements: int
    state_dtype: str
    conv_channels: int = 0
    conv_length: int = 0
    conv_dtype: str = "bf16"
    groups: int = 0
    group_channels: int = 0

    def layer_bytes(self, tp: int, speculative_tokens: int = 0) -> int:
        """Bytes of one layer's state on one rank; drafts lengthen the convolution by a slot each."""
        groups = -(-self.groups // tp) * tp
        channels = self.conv_channels + groups * self.group_channels
        length = self.conv_length + (speculative_tokens if self.conv_length else 0)
        conv = channels * length * DTYPE_BYTES[self.conv_dtype]
        return (conv + self.state_elements * DTYPE_BYTES[self.state_dtype]) // tp

    def cost(self, kv: KvFormat, tp: int) -> Cost:
        return Cost(fixed_bytes_per_request=len(self.layers) * self.layer_bytes(tp))


LayerGroup = (
    FullAttention
    | SlidingWindow
    | ChunkedAttention
    | CrossAttention
    | LatentAttention
    | KeyIndex
    | CompressedAttention
    | RecurrentState
)
"""Any of the groups above."""


def total_cost(groups: tuple[LayerGroup, ...], kv: KvFormat, tp: int) -> Cost:
    """The sum over `groups` on one rank."""
    return sum((group.cost(kv, tp) for group in groups), Cost())
