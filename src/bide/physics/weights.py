"""Weights: parameters and checkpoint bytes by component, and what a token or a decode step reads of them.

Pure arithmetic on the tensors of a Model. What each rank of an engine holds is in `rank_weights`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bide.facts.layers import DTYPE_BYTES
from bide.facts.model import Component, Model, Part, Tensor
from bide.facts.quantisation import Format, Quantisation
from bide.physics.same import Same, kept

NAMED_ONLY = ("lm_head", "router")
"""Components that schemes leave alone unless they name them."""
PLAIN = ("eh_proj", "weights_proj", "shared_expert_gate")
"""Modules that every published checkpoint keeps in the model's type, though they are linear: DeepSeek's
draft projection and index weights (vLLM builds both without a quantisation config), shared-expert gates."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor on those of its layers where it is stored in one way (`format` None: as plain elements)."""

    tensor: Tensor
    layers: tuple[int, ...]
    format: Format | None
    element_bytes: int

    @property
    def count(self) -> int:
        """Matrices: one for each layer and copy."""
        return self.tensor.copies * max(1, len(self.layers))

    def matrix_bytes(self, rows: int, cols: int) -> float:
        """Bytes of one matrix of `rows x cols` stored this way."""
        if self.format is None:
            return rows * cols * self.element_bytes
        return self.format.matrix_size_bytes(rows, cols)

    @property
    def size_bytes(self) -> float:
        return self.count * self.matrix_bytes(self.tensor.rows, self.tensor.cols)


@dataclass(frozen=True, slots=True)
class ComponentWeights:
    """What one component of one part of the model weighs."""

    component: Component
    part: Part
    parameters: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Weights:
    """A checkpoint's weights by component, encoders and draft layers included."""

    shares: tuple[ComponentWeights, ...]

    @property
    def parameters(self) -> int:
        return sum(share.parameters for share in self.shares)

    @property
    def size_bytes(self) -> int:
        return sum(share.size_bytes for share in self.shares)


def weigh(model: Model, quantisation: Quantisation | None, dtype: str | None = None) -> Weights:
    """Parameters and checkpoint bytes of `model` stored by `quantisation`.

    `dtype` (`bf16`, `fp16`, `fp32`) is the type of what is not quantised; None is the model's own.
    """
    return _weigh(Same(model), Same(quantisation), dtype or model.dtype)


@kept(1024)
def _weigh(model: Same[Model], quantisation: Same[Quantisation | None], dtype: str) -> Weights:
    sums: dict[tuple[Component, Part], list[float]] = {}
    for stored in _stored_tensors(model, quantisation, dtype):
        sums_of = sums.setdefault((stored.tensor.component, stored.tensor.part), [0, 0.0])
        sums_of[0] += stored.count * stored.tensor.rows * stored.tensor.cols
        sums_of[1] += stored.size_bytes
    return Weights(tuple(ComponentWeights(*key, int(count), round(size)) for key, (count, size) in sums.items()))


def distinct_experts(experts: int, per_token: int, tokens: float) -> float:
    """Experts that `tokens` tokens are expected to touch, each choosing `per_token` of `experts` evenly.

    E x (1 - (1 - k/E)^B).

    >>> distinct_experts(128, 8, 1), round(distinct_experts(128, 8, 16), 1)
    (8.0, 82.4)
    """
    return experts * (1 - float((1 - per_token / experts) ** tokens))


def active_fraction(model: Model, tensor: Tensor, tokens: int) -> float:
    """How much of `tensor` a step of `tokens` tokens reads: less than all for routed experts only."""
    if tensor.component != "experts" or tensor.copies == 1 or model.moe is None:
        return 1.0
    per_token = min(model.moe.experts_per_token, tensor.copies)
    return distinct_experts(tensor.copies, per_token, tokens) / tensor.copies


def is_read(model: Model, tensor: Tensor) -> bool:
    """Whether a decode step reads `tensor`: text only, and of embeddings that are no head just a row per token."""
    if tensor.component == "embedding":
        return tensor.part == "text" and is_tied(model) and tensor.cols == model.hidden_size
    return tensor.part == "text"


def is_tied(model: Model) -> bool:
    """Whether the output head is the input embedding: there is no head of its own."""
    return not any(t.component == "lm_head" and t.part == "text" and t.cols > 1 for t in model.tensors)


def stored_tensors(model: Model, quantisation: Quantisation | None, dtype: str | None = None) -> tuple[Stored, ...]:
    """Every tensor with the way it is stored, split where its layers differ."""
    return _stored_tensors(Same(model), Same(quantisation), dtype or model.dtype)


@kept(256)
def _stored_tensors(model: Same[Model], quantisation: Same[Quantisation | None], dtype: str) -> tuple[Stored, ...]:
    return tuple(_split(model.value, quantisation.value, dtype))


def _split(model: Model, quantisation: Quantisation | None, dtype: str) -> Iterable[Stored]:
    for tensor in model.tensors:
        element_bytes = DTYPE_BYTES[tensor.dtype or dtype]
        for kind, layers in _by_format(tensor, _chooser(model, tensor, quantisation)):
            yield Stored(tensor, layers, kind, element_bytes)


def _by_format(
    tensor: Tensor, choose: Callable[[int], Format | None] | None
) -> Iterable[tuple[Format | None, tuple[int, ...]]]:
    if choose is None:
        return [(None, tensor.layers)]
    if not tensor.layers:
        return [(choose(0), ())]
    found: dict[Format | None, list[int]] = {}
    for layer in tensor.layers:
        found.setdefault(choose(layer), []).append(layer)
    return [(kind, tuple(layers)) for kind, layers in found.items()]


def _chooser(model: Model, tensor: Tensor, quantisation: Quantisation | None) -> Callable[[int], Format | None] | None:
    """What chooses the format of `tensor` on a layer; None where it is plain whatever the layer."""
    if quantisation is None or tensor.cols == 1:
        return None
    if quantisation.embeddings and tensor.component in ("embedding", "lm_head"):
        return lambda layer: quantisation.format_for(*_names(model, tensor, layer))
    if not tensor.linear or tensor.module.endswith(PLAIN):
        return None
    named_only = tensor.component in NAMED_ONLY or tensor.part not in quantisation.parts
    return lambda layer: quantisation.format_for(*_names(model, tensor, layer), named_only=named_only)


def _names(model: Model, tensor: Tensor, layer: int) -> tuple[str, ...]:
    """The module's name on `layer`; draft layers are also called `mtp.0`, `mtp.1`, ..."""
    name = tensor.module.replace("{i}", str(layer)).replace("{e}", "0")
    if tensor.part != "mtp" or "{i}" not in tensor.module:
        return (name,)
    inner = name.partition(f"layers.{layer}.")[2]
    return name, f"mtp.{layer - model.layer_count}.{inner}"
