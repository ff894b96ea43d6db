"""What the tests of the config reader ask of a config: how many parameters, and which cache groups."""

from __future__ import annotations

from typing import Any

from bide.facts.hf import from_config
from bide.facts.layers import LayerGroup
from bide.facts.model import Part


def parameters(config: dict[str, Any], part: Part = "text") -> int:
    """Parameters of one part of the model that `config` describes."""
    return sum(tensor.parameters for tensor in from_config(config, "test").tensors if tensor.part == part)


def heads(config: dict[str, Any]) -> tuple[int, int]:
    """(layers with a cache, KV heads) of a model whose layers are all alike."""
    (group,) = from_config(config, "test").groups
    return len(group.layers), group.kv_heads  # type: ignore[union-attr]


def windows(config: dict[str, Any], layers: int) -> list[int | None]:
    """The window of each layer; None where a layer attends to everything."""
    found: dict[int, int | None] = {}
    for group in from_config(config, "test").groups:
        found |= dict.fromkeys(group.layers, _window(group))
    return [found[i] for i in range(layers)]


def _window(group: LayerGroup) -> int | None:
    return getattr(group, "window_tokens", None)
