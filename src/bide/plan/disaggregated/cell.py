"""What is simulated of a fleet: all of its engines where they are few, a cell of them where they are many.

Engines that take turns are alike. Of P that compute prompts, every (P / p)-th gets, with the p - 1 others so chosen,
every (P / p)-th request of the fleet, in turn: such a cell does with its prompts exactly what it does in the fleet. Of
the answers it gets its share too: beside p engines for prompts there are p x D / P for answers, a number that need
not be whole. An engine for answers takes its turn among prompts that the cell has done, not all that the fleet has.
That is the approximation, and it is a fleet that could be built: so many cells side by side.

Fleets whose engines are in about the same ratio share their cell: the ratio is taken down to the next of a fixed row,
each `STEP` above the one before, so that the cell has at most so many fewer engines for answers than it should.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

WHOLE = 8
"""Engines of either kind up to which a fleet is simulated as it is; and as many as its cell has of the larger kind."""
_STEPS = 48
"""Ratios to a doubling."""
STEP = 2 ** (1 / _STEPS) - 1
_ROUNDING = 1e-9
_SHARES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""As for a single replica (`plan.capacity`): where there are more engines, arrivals are hardly more even."""


@dataclass(frozen=True, slots=True)
class Cell:
    """`prompts` engines that get one of `one_in` requests of a stream, beside `answers` engines."""

    prompts: int
    answers: float
    one_in: float = 1.0

    @property
    def whole_answers(self) -> int:
        """Engines for answers that are there in full, of which each gets the same."""
        return int(self.answers)


def cell_of(prompts: int, answers: int) -> Cell:
    """Of a fleet of so many engines of either kind."""
    if max(prompts, answers) <= WHOLE:
        return Cell(prompts, float(answers))
    ratio = _taken_down(answers / prompts)
    most = math.ceil(1 / ratio - _ROUNDING) if ratio < 1 else math.floor(WHOLE / ratio)
    count = min(prompts, max(WHOLE if ratio <= 1 else 1, most))
    share = _SHARES[bisect_right(_SHARES, prompts) - 1]
    return Cell(count, max(1.0, count * ratio), max(1.0, share / count))


def part_of(prompts: int, answers: int) -> Cell | None:
    """The same, None where the fleet is simulated as it is."""
    cell = cell_of(prompts, answers)
    return None if cell == Cell(prompts, float(answers)) else cell


def _taken_down(ratio: float) -> float:
    """To the next of the row."""
    return float(2 ** (math.floor(_STEPS * math.log2(ratio) + _ROUNDING) / _STEPS))
