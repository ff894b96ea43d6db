"""Layers into groups with one block table each: vLLM's v1/core/kv_cache_planning.py (kv_cache_utils.py before 0.29)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bide.physics.blocks.specs import Layers, LayerSpec


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that share a block table: a block of the group is one page of each of them."""

    members: tuple[Layers, ...]

    def page_bytes(self, stage: range) -> int:
        """Bytes that one block takes in the layers of a pipeline stage."""
        return sum(m.spec.page_bytes * sum(layer in stage for layer in m.layers) for m in self.members)

    def blocks(self, tokens: int, in_flight_tokens: int) -> int:
        """Blocks of a request of `tokens`."""
        return max(m.spec.blocks(tokens, in_flight_tokens) for m in self.members)

    @property
    def block_tokens(self) -> int:
        return self.members[0].spec.block_tokens

    @property
    def is_state(self) -> bool:
        """Whether it holds states, which do not grow with the context."""
        return self.members[0].spec.kind == "state"


def make_groups(layers: Sequence[Layers], larger_group_ratio: float, hybrid: bool) -> list[Group]:
    """The block tables of a model: one where all layers need the same slots, else one or more for each kind.

    `hybrid` False allocates local layers as full attention where there is full attention.
    """
    layers = layers if hybrid else _promoted(layers)
    if len({entry.spec.family for entry in layers}) <= 1:
        return [Group(tuple(layers))] if layers else []
    return _split(_merged(_unified(layers)), larger_group_ratio)


def _promoted(layers: Sequence[Layers]) -> list[Layers]:
    """Windows and chunks allocated as full attention, as when the hybrid manager is off."""
    if not any(entry.spec.kind == "full" for entry in layers):
        return list(layers)
    return [Layers(_full(entry.spec), entry.layers) for entry in layers]


def _full(spec: LayerSpec) -> LayerSpec:
    return replace(spec, kind="full", reach_tokens=0) if spec.kind in ("window", "chunk") else spec


def _unified(layers: Sequence[Layers]) -> list[Layers]:
    """All pages as large as the largest: smaller ones hold more tokens, or are padded."""
    largest = max(entry.spec.page_bytes for entry in layers)
    return [Layers(entry.spec.with_page(largest), entry.layers) for entry in layers]


def _merged(layers: Sequence[Layers]) -> list[Layers]:
    """Layers of equal spec together, each set in the order of the layers."""
    by_spec: dict[LayerSpec, list[int]] = {}
    for entry in layers:
        by_spec.setdefault(entry.spec, []).extend(entry.layers)
    return [Layers(spec, tuple(sorted(indices))) for spec, indices in by_spec.items()]


def _split(layers: Sequence[Layers], larger_group_ratio: float) -> list[Group]:
    """Each kind in ceil(n / size) groups; the size is the rarer kind's count, or the commoner's where they are near.

    Layer i goes to group i mod groups, so that pipeline stages get their share of every group.
    """
    counts = [len(entry.layers) for entry in layers]
    size = max(counts) if max(counts) < min(counts) * larger_group_ratio else min(counts)
    groups = []
    for entry in layers:
        number = -(-len(entry.layers) // size)
        groups += [Group((Layers(entry.spec, entry.layers[i::number]),)) for i in range(number)]
    return groups
