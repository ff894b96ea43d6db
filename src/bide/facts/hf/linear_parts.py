"""Pieces of linear attention: gated delta nets, KDA, lightning attention, short convolutions, RG-LRU.

Shapes: transformers 5.24 `models/{qwen3_next,qwen3_5,olmo_hybrid,kimi_linear,bailing_hybrid,minimax,
lfm2,recurrent_gemma}` and vLLM 0.33 `models/kimi_k3/nvidia/kda.py`; states: vLLM 0.33
`model_executor/layers/mamba/mamba_utils.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.hf.mamba_parts import convolution
from bide.facts.hf.parts import Layers, linear, vector
from bide.facts.layers import LayerGroup, RecurrentState
from bide.facts.model import Component, Tensor


@dataclass(frozen=True, slots=True)
class DeltaNet:
    """Gated delta net: a state of `v_heads x v_dim x k_dim` behind a convolution over q, k and v."""

    hidden: int
    k_heads: int
    k_dim: int
    v_heads: int
    v_dim: int
    kernel: int
    state_dtype: str
    conv_dtype: str = "bf16"
    path: str = "linear_attn"

    @property
    def channels(self) -> int:
        return 2 * self.k_heads * self.k_dim + self.v_heads * self.v_dim

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        elements = self.v_heads * self.v_dim * self.k_dim
        conv = (self.channels, self.kernel - 1, self.conv_dtype)
        return (RecurrentState(layers, "gdn", elements, self.state_dtype, *conv),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        values = self.v_heads * self.v_dim
        shapes = {
            "in_proj_qkv": self.channels,
            "in_proj_z": values,
            "in_proj_b": self.v_heads,
            "in_proj_a": self.v_heads,
        }
        made: tuple[Tensor, ...] = ()
        for part, rows in shapes.items():
            made += linear("state", f"{self.path}.{part}", rows, self.hidden, layers, "column")
        return (
            *made,
            *convolution(self.path, self.channels, self.kernel, False, layers),
            *(vector("state", f"{self.path}.{part}", self.v_heads, layers, "column") for part in ("A_log", "dt_bias")),
            vector("norm", f"{self.path}.norm", self.v_dim, layers),
            *linear("state", f"{self.path}.out_proj", self.hidden, values, layers, "row"),
        )


@dataclass(frozen=True, slots=True)
class Kda:
    """Kimi delta attention: `heads x dim x dim` in fp32, with a forget gate per channel and an output gate.

    `forget_rank` and `gate_rank` are the inner widths of the low-rank gates, 0 where a gate is one full matrix.
    """

    hidden: int
    heads: int
    dim: int
    kernel: int
    forget_rank: int
    gate_rank: int
    state_dtype: str = "fp32"
    conv_dtype: str = "bf16"
    path: str = "self_attn"

    @property
    def width(self) -> int:
        return self.heads * self.dim

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        elements = self.width * self.dim
        return (
            RecurrentState(layers, "kda", elements, self.state_dtype, 3 * self.width, self.kernel - 1, self.conv_dtype),
        )

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        made: tuple[Tensor, ...] = ()
        for part in ("q_proj", "k_proj", "v_proj"):
            made += linear("state", f"{self.path}.{part}", self.width, self.hidden, layers, "column")
        return (
            *made,
            *convolution(self.path, 3 * self.width, self.kernel, False, layers),
            *self._gate("f", self.forget_rank, layers),
            *self._gate("g", self.gate_rank, layers),
            *linear("state", f"{self.path}.b_proj", self.heads, self.hidden, layers, "column"),
            vector("state", f"{self.path}.A_log", self.heads, layers, "column", dtype="fp32"),
            vector("state", f"{self.path}.dt_bias", self.width, layers, "column", dtype="fp32"),
            vector("norm", f"{self.path}.o_norm", self.dim, layers),
            *linear("state", f"{self.path}.o_proj", self.hidden, self.width, layers, "row"),
        )

    def _gate(self, letter: str, rank: int, layers: Layers) -> tuple[Tensor, ...]:
        if not rank:
            return linear("state", f"{self.path}.{letter}_proj", self.width, self.hidden, layers, "column")
        down = linear("state", f"{self.path}.{letter}_a_proj", rank, self.hidden, layers)
        return down + linear("state", f"{self.path}.{letter}_b_proj", self.width, rank, layers, "column")


@dataclass(frozen=True, slots=True)
class Lightning:
    """Lightning attention: `heads x dim x dim` with a fixed decay, an output gate and a norm.

    `norm_size` is the width of the norm on the output; `head_norms` that of each norm on Q and K (0: none).
    """

    hidden: int
    heads: int
    dim: int
    norm_size: int
    state_dtype: str
    head_norms: int = 0
    names: tuple[str, str, str] = ("qkv_proj", "output_gate", "out_proj")
    path: str = "self_attn"

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return (RecurrentState(layers, "lightning", self.heads * self.dim**2, self.state_dtype),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        width, (qkv, gate, out) = self.heads * self.dim, (f"{self.path}.{part}" for part in self.names)
        norms = [("norm", self.norm_size)]
        norms += [(part, self.head_norms) for part in ("q_norm", "k_norm") if self.head_norms]
        return (
            *linear("state", qkv, 3 * width, self.hidden, layers, "column"),
            *linear("state", gate, width, self.hidden, layers, "column"),
            *(vector("norm", f"{self.path}.{part}", size, layers) for part, size in norms),
            *linear("state", out, self.hidden, width, layers, "row"),
        )


@dataclass(frozen=True, slots=True)
class ShortConvolution:
    """LFM2's operator: only the last `kernel - 1` inputs of a gated convolution are kept."""

    hidden: int
    kernel: int
    bias: bool = False
    conv_dtype: str = "bf16"
    path: str = "conv"

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return (
            RecurrentState(layers, "short_conv", 0, self.conv_dtype, self.hidden, self.kernel - 1, self.conv_dtype),
        )

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        return (
            *linear("state", f"{self.path}.in_proj", 3 * self.hidden, self.hidden, layers, "column", bias=self.bias),
            *convolution(self.path, self.hidden, self.kernel, self.bias, layers),
            *linear("state", f"{self.path}.out_proj", self.hidden, self.hidden, layers, "row", bias=self.bias),
        )


@dataclass(frozen=True, slots=True)
class RgLru:
    """RecurrentGemma's recurrent block: `width` fp32 numbers and a convolution of `kernel`."""

    hidden: int
    width: int
    heads: int
    kernel: int
    conv_dtype: str = "bf16"
    path: str = "temporal_block"

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return (RecurrentState(layers, "rglru", self.width, "fp32", self.width, self.kernel - 1, self.conv_dtype),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        kind: Component = "state"
        block = self.width // self.heads
        gates = 2 * (self.heads * block * block + self.width)
        return (
            *linear(kind, f"{self.path}.linear_y", self.width, self.hidden, layers, "column", bias=True),
            *linear(kind, f"{self.path}.linear_x", self.width, self.hidden, layers, "column", bias=True),
            *linear(kind, f"{self.path}.linear_out", self.hidden, self.width, layers, "row", bias=True),
            *convolution(self.path, self.width, self.kernel, True, layers),
            vector(kind, f"{self.path}.rg_lru", self.width + gates, layers, "column"),
        )
