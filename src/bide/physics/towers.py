"""The memory at the peak of a vision tower, which engines profile with as many items as its budget holds."""

from __future__ import annotations

from collections.abc import Iterable

from bide.facts.deployment import Deployment
from bide.facts.engines import MemoryRules
from bide.facts.model import Model
from bide.physics.same import Same, kept

_ACTIVATION_BYTES = 2
_PATCHES_PER_TOKEN = 4
"""A square of two by two patches becomes a token, where the family says nothing else."""


def tower_bytes(deployment: Deployment, rules: MemoryRules) -> float:
    """patches x channels x 2 B at the peak of a layer; 0 without a tower.

    The budget is max_num_batched_tokens, or the largest item where that has more tokens (vLLM
    multimodal/encoder_budget.py); a token stands for several patches.
    """
    model = deployment.model
    sharded, whole, hidden = _tower(Same(model))
    tokens = max(deployment.max_num_batched_tokens, _of_family(model, rules.tower_item_tokens, 0))
    patches = tokens * _of_family(model, rules.tower_patches_per_token, _PATCHES_PER_TOKEN)
    width = sharded / deployment.tp + whole + rules.forward_hidden_copies * hidden
    return patches * width * _ACTIVATION_BYTES if hidden else 0.0


def has_tower(model: Model) -> bool:
    """Whether a vision or audio tower is loaded."""
    return any(tensor.part == "encoder" for tensor in model.tensors)


def _of_family(model: Model, table: Iterable[tuple[str, int]], otherwise: int) -> int:
    """The value of the first family in `table` that the model's begins with."""
    return next((value for family, value in table if model.family.startswith(family)), otherwise)


@kept(1024)
def _tower(kept: Same[Model]) -> tuple[int, int, int]:
    """Channels of the widest feed-forward, of those that TP divides and those that it copies, and the hidden size."""
    inputs: dict[str, tuple[int, bool]] = {}
    hidden = 0
    for tensor in kept.value.tensors:
        inward = tensor.component == "vision" and tensor.linear and tensor.layers and tensor.rows > tensor.cols
        if tensor.part == "encoder" and inward and "attn" not in tensor.module:
            kind = tensor.module.rsplit(".", 1)[-1]
            inputs[kind] = max(inputs.get(kind, (0, False)), (tensor.rows, tensor.split == "column"))
            hidden = max(hidden, tensor.cols)
    rows = [size for size, _ in inputs.values()]
    width = sum(rows) + max(rows, default=0)
    divided = any(split for _, split in inputs.values())
    return (width, 0, hidden) if divided else (0, width, hidden)
