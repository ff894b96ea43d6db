"""Pieces of state-space layers: Mamba 1 and Mamba 2.

Shapes: transformers 5.24 `models/{mamba,mamba2,jamba,bamba,nemotron_h}`; states: vLLM 0.33
`model_executor/layers/mamba/mamba_utils.py` (`mamba1_state_shape`, `mamba2_state_shape`).
"""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.hf.parts import Layers, linear, vector
from bide.facts.layers import LayerGroup, RecurrentState
from bide.facts.model import Tensor

PER_HEAD = ("A_log", "D", "dt_bias")


@dataclass(frozen=True, slots=True)
class Mamba2:
    """A state of `heads x head_dim x state`, fed by a convolution over inner channels and B and C of `groups`."""

    hidden: int
    heads: int
    head_dim: int
    groups_of_bc: int
    state: int
    kernel: int
    state_dtype: str
    conv_dtype: str = "bf16"
    conv_bias: bool = True
    proj_bias: bool = False
    norm: bool = True
    path: str = "mamba"

    @property
    def inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def channels(self) -> int:
        """What the convolution runs over: the inner channels, and B and C of each group."""
        return self.inner + 2 * self.groups_of_bc * self.state

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return (
            RecurrentState(
                layers,
                "mamba2",
                self.inner * self.state,
                self.state_dtype,
                self.inner,
                self.kernel - 1,
                self.conv_dtype,
                self.groups_of_bc,
                2 * self.state,
            ),
        )

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        rows = self.inner + self.channels + self.heads
        norm = (vector("norm", f"{self.path}.norm", self.inner, layers, "column"),) if self.norm else ()
        return (
            *linear("state", f"{self.path}.in_proj", rows, self.hidden, layers, "column", bias=self.proj_bias),
            *convolution(self.path, self.channels, self.kernel, self.conv_bias, layers),
            *(vector("state", f"{self.path}.{part}", self.heads, layers, "column") for part in PER_HEAD),
            *norm,
            *linear("state", f"{self.path}.out_proj", self.hidden, self.inner, layers, "row", bias=self.proj_bias),
        )


@dataclass(frozen=True, slots=True)
class Mamba1:
    """A state of `inner x state`; `inner_norms`: Jamba's norms on dt, B and C."""

    hidden: int
    inner: int
    state: int
    dt_rank: int
    kernel: int
    state_dtype: str
    conv_dtype: str = "bf16"
    conv_bias: bool = True
    proj_bias: bool = False
    inner_norms: bool = False
    path: str = "mixer"

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        elements = self.inner * self.state
        conv = (self.inner, self.kernel - 1, self.conv_dtype)
        return (RecurrentState(layers, "mamba1", elements, self.state_dtype, *conv),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        inputs = self.dt_rank + 2 * self.state
        norms = (vector("norm", f"{self.path}.inner_norms", inputs, layers),) if self.inner_norms else ()
        return (
            *linear(
                "state", f"{self.path}.in_proj", 2 * self.inner, self.hidden, layers, "column", bias=self.proj_bias
            ),
            *convolution(self.path, self.inner, self.kernel, self.conv_bias, layers),
            *linear("state", f"{self.path}.x_proj", inputs, self.inner, layers, "row"),
            *linear("state", f"{self.path}.dt_proj", self.inner, self.dt_rank, layers, "column", bias=True),
            vector("state", f"{self.path}.A_log", self.inner * self.state, layers, "column"),
            vector("state", f"{self.path}.D", self.inner, layers, "column"),
            *norms,
            *linear("state", f"{self.path}.out_proj", self.hidden, self.inner, layers, "row", bias=self.proj_bias),
        )


def convolution(path: str, channels: int, kernel: int, bias: bool, layers: Layers) -> tuple[Tensor, ...]:
    """A depthwise convolution over `channels`: never quantised, divided with the channels."""
    made = vector("state", f"{path}.conv1d", channels * kernel, layers, "column")
    return (made, vector("state", f"{path}.conv1d.bias", channels, layers, "column")) if bias else (made,)
