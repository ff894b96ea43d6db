"""PLaMo 2: Mamba 2 whose time step, B and C come from the convolved input, and attention on one layer in `mamba_step`.

Source: vLLM `plamo2.py` as of late 2025 (the class left vLLM after 0.26).
"""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.common import conv_dtype, finish, state_dtype
from bide.facts.hf.fields import Fields
from bide.facts.hf.mamba_parts import PER_HEAD, convolution
from bide.facts.hf.parts import Attention, Layers, Mlp, Norm, linear, vector
from bide.facts.layers import LayerGroup, RecurrentState
from bide.facts.model import Tensor

NORMS = ("pre_mixer_norm", "post_mixer_norm", "pre_mlp_norm", "post_mlp_norm")
LEAST_RANK = 64


@dataclass(frozen=True, slots=True)
class PlamoMixer:
    """A state of `heads x head_dim x state`; the convolution runs over the inner channels alone."""

    hidden: int
    heads: int
    head_dim: int
    state: int
    kernel: int
    state_dtype: str
    conv_dtype: str
    path: str = "mixer"

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        inner = self.heads * self.head_dim
        conv = (inner, self.kernel - 1, self.conv_dtype)
        return (RecurrentState(layers, "mamba2", inner * self.state, self.state_dtype, *conv),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        inner, rank = self.heads * self.head_dim, max(LEAST_RANK, self.hidden // 16)
        inputs = rank + 2 * self.state
        return (
            *linear("state", f"{self.path}.in_proj", 2 * inner, self.hidden, layers, "column"),
            *convolution(self.path, inner, self.kernel, False, layers),
            *linear("state", f"{self.path}.bcdt_proj", inputs, inner, layers, "row"),
            *linear("state", f"{self.path}.dt_proj", self.heads, rank, layers, "column"),
            *(vector("state", f"{self.path}.{part}", self.heads, layers, "column") for part in PER_HEAD),
            vector("norm", f"{self.path}.bcdt_norms", inputs, layers),
            *linear("state", f"{self.path}.out_proj", self.hidden, inner, layers, "row"),
        )


def read_plamo2(f: Fields) -> Decoder:
    """Attention on the middle layer of every `mamba_step`, or on the last one of a very shallow model."""
    sizes = d.read_sizes(f)
    hidden, dim = sizes.hidden, sizes.head_dim
    dims = (hidden, sizes.heads, sizes.kv_heads, dim, dim)
    attends = Attention(*dims, q_norm=sizes.heads * dim, k_norm=sizes.kv_heads * dim, path="mixer")
    kernel, types = f.int("mamba_d_conv", default=4), (state_dtype(f), conv_dtype(f))
    mixer = PlamoMixer(hidden, f.int("mamba_num_heads"), dim, f.int("mamba_d_state"), kernel, *types)
    rest: Layer = (*(Norm(path, hidden) for path in NORMS), Mlp(hidden, f.int("intermediate_size")))
    full = _full_layers(f.int("mamba_step", low=2), sizes.layers)
    return finish(f, sizes, tuple((*rest, attends if attending else mixer) for attending in full), tied=True)


def _full_layers(step: int, layers: int) -> list[bool]:
    if layers <= step // 2:
        return [i == layers - 1 for i in range(layers)]
    return [i % step == step // 2 for i in range(layers)]
