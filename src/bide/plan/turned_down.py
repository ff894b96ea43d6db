"""Many rejections as a few: those of one kind together, the one that came nearest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bide.plan.rejection import Rejection


@dataclass(frozen=True, slots=True)
class TurnedDown:
    """Candidates that failed for one kind of reason: `nearest` came nearest, `others` are further off."""

    nearest: Rejection
    others: tuple[Rejection, ...]


def turned_down(rejections: Sequence[Rejection]) -> tuple[TurnedDown, ...]:
    """Grouped by the unit of what is missing (GPUs, seconds, bytes, ...), the group that is nearest first.

    Too few GPUs is nearer than too slow, and that nearer than what does not run at all.
    """
    groups: dict[str, list[Rejection]] = {}
    for rejection in rejections:
        groups.setdefault(rejection.unit, []).append(rejection)
    sorted_groups = [sorted(group, key=_excess) for group in groups.values()]
    found = [TurnedDown(group[0], tuple(group[1:])) for group in sorted_groups]
    return tuple(sorted(found, key=lambda each: _runs(each.nearest)))


def _excess(rejection: Rejection) -> float:
    """What is needed over what there is; 1 would do."""
    if rejection.needed is None or not rejection.available:
        return math.inf
    return rejection.needed / rejection.available


def _runs(rejection: Rejection) -> int:
    order = ("GPUs", "s")
    return order.index(rejection.unit) if rejection.unit in order else len(order)
