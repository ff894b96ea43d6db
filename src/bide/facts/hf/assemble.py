"""From layers made of pieces to a Model: equal pieces become one group, equal tensors one entry."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bide.facts.hf.parts import Layers, Moe, Piece
from bide.facts.layers import LayerGroup
from bide.facts.model import Moe as MoeFacts
from bide.facts.model import Part, Tensor

Layer = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Decoder:
    """What a family's reader returns: the text model, before it has a name, a type and a scheme.

    `shell` holds what is outside the layers (embeddings, head, final norm); `drafts` are the
    multi-token-prediction layers, `draft_shell` what they need besides.
    """

    hidden: int
    heads: int
    vocab: int
    layers: tuple[Layer, ...]
    shell: tuple[Tensor, ...]
    max_context_tokens: int | None
    drafts: tuple[Layer, ...] = ()
    draft_shell: tuple[Tensor, ...] = ()
    extra_groups: tuple[LayerGroup, ...] = ()
    notes: tuple[str, ...] = field(default=())


def _by_piece(layers: Sequence[Layer], first: int) -> dict[Piece, Layers]:
    found: dict[Piece, list[int]] = {}
    for index, layer in enumerate(layers, first):
        for piece in layer:
            found.setdefault(piece, []).append(index)
    return {piece: tuple(indices) for piece, indices in found.items()}


def groups_of(layers: Sequence[Layer], first: int = 0) -> tuple[LayerGroup, ...]:
    """The cache groups of `layers`, those that differ only in their layers merged, in order of first use."""
    made = [group for piece, where in _by_piece(layers, first).items() for group in piece.groups(where)]
    merged: dict[LayerGroup, Layers] = {}
    for group in made:
        key = dataclasses.replace(group, layers=())
        merged[key] = tuple(sorted(merged.get(key, ()) + group.layers))
    return tuple(dataclasses.replace(key, layers=where) for key, where in merged.items())


def tensors_of(layers: Sequence[Layer], first: int = 0, part: Part = "text") -> tuple[Tensor, ...]:
    """The tensors of `layers`, marked with `part`."""
    made = [tensor for piece, where in _by_piece(layers, first).items() for tensor in piece.tensors(where)]
    return mark(made, part)


def mark(tensors: Iterable[Tensor], part: Part) -> tuple[Tensor, ...]:
    """The same tensors, belonging to `part`."""
    return tuple(t if t.part == part else dataclasses.replace(t, part=part) for t in tensors)


def moe_of(layers: Sequence[Layer]) -> MoeFacts | None:
    """The routed experts of the model, if it has any (the widest, where layers differ)."""
    found = {p: where for p, where in _by_piece(layers, 0).items() if isinstance(p, Moe)}
    if not found:
        return None
    piece = max(found, key=lambda p: p.experts)
    where = tuple(sorted(index for indices in found.values() for index in indices))
    return MoeFacts(piece.experts, piece.experts_per_token, where)
