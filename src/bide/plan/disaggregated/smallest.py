"""The pair of the fewest replicas that are enough, found by questions that depend neither on load nor on patience."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bide.plan.asks import Asks
from bide.plan.candidate import End
from bide.plan.disaggregated.pair import Pair

if TYPE_CHECKING:
    from bide.plan.disaggregated.capacity import PairCapacity

_COUNTS = (1, *(base << power for power in range(12) for base in (2, 3)))
"""Of replicas that answer: those that are asked for first, 1, 2, 3, 4, 6, 8, 12, ... 6,144."""
_TRIED = 4
"""Times as many replicas for prompts as the load takes at least (and one more), and for answers as have as much work
to do as those for prompts: with still more there is no hope."""


def fewest(trial: PairCapacity, planned_rps: float, most: int, asks: Asks, end: End) -> Pair | None:
    """For each number that computes prompts the fewest that answer, as far as these together may be fewer.

    None where it takes more than `most`.
    """
    if trial.least(planned_rps).replicas > most or not trial.may(asks, end):
        return None
    floor, found = trial.floor(planned_rps, asks, end), None
    for prefill in range(floor.prefill, min(most, _TRIED * (floor.prefill + 1)) + 1):
        if prefill + floor.decode > most:
            break
        if not trial.prompts_enough(prefill, planned_rps, asks, end):
            continue
        decode = _fewest_decode(trial, prefill, most - prefill, planned_rps, asks, end)
        if decode is not None:
            found, most = Pair(prefill, decode), prefill + decode - 1
    return found


def _fewest_decode(
    trial: PairCapacity, prefill: int, most: int, planned_rps: float, asks: Asks, end: End
) -> int | None:
    """The fewest that answer beside `prefill`, at most `most`.

    The first of a fixed row of counts that is enough, then halving between it and the one before: the same
    questions whatever load and patience are, so that the answer moves as each of them does. Those of more than
    `most` are taken to be enough, and asked at the end if it depends on them: if one is not, it takes more.
    """

    def enough(decode: int) -> bool:
        return trial.is_enough(Pair(prefill, decode), planned_rps, asks, end)

    low, taken_for_enough = 0, []
    for high in _counts(trial, prefill):
        if high > most:
            taken_for_enough.append(high)
        if high > most or enough(high):
            break
        low = high
    else:
        return None
    while high - low > 1 and low < most:
        middle = (low + high) // 2
        if middle > most:
            taken_for_enough.append(middle)
        low, high = (low, middle) if middle > most or enough(middle) else (middle, high)
    return high if high <= most and all(map(enough, taken_for_enough)) else None


def _counts(trial: PairCapacity, prefill: int) -> Iterator[int]:
    """The row, up to the first of more than there is hope for."""
    work = prefill * trial.worked_off_rps("prompts") / trial.worked_off_rps("answers")
    for count in _COUNTS:
        yield count
        if count >= _TRIED * (work + 1):
            return
