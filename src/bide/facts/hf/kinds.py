"""Reading lists of layer kinds without guessing: a kind that a family does not know is an error."""

from __future__ import annotations

from collections.abc import Sequence

from bide.facts.hf import decoder as d
from bide.facts.hf.fields import Fields
from bide.i18n import _

SOFTMAX = ("attention", "full_attention")
RECURRENT = ("mamba", "linear_attention", "conv", "recurrent")
LOCAL = tuple(sorted(d.LOCAL))


def layers_of_kind(f: Fields, layers: int, wanted: Sequence[str], others: Sequence[str]) -> list[bool] | None:
    """Which layers are of a `wanted` kind; None where the config lists no kinds.

    Raises BadInput for a kind that is neither in `wanted` nor in `others`.
    """
    kinds = d.layer_kinds(f, layers)
    if kinds is None:
        return None
    for kind in kinds:
        if kind not in wanted and kind not in others:
            raise f.bad("layer_types", kind, _("one of {names}").format(names=", ".join((*wanted, *others))))
    return [kind in wanted for kind in kinds]


def softmax_layers(f: Fields, layers: int) -> list[bool] | None:
    """Which layers attend (and keep every token); the others keep a state."""
    return layers_of_kind(f, layers, SOFTMAX, RECURRENT)


def local_layers(f: Fields, layers: int) -> list[bool] | None:
    """Which layers attend within a window."""
    return layers_of_kind(f, layers, LOCAL, SOFTMAX)
