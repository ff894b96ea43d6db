"""The free blocks whose content is known: stretches of runs, in the order in which they were given up."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import (
    AT_STRETCHES,
    AT_STRETCHES_END,
    OF_RUN,
    RUN_STRETCHES,
    SPARE_STRETCH,
    STRETCH_FIELDS,
    STRETCH_HIGH,
    STRETCH_LOW,
    STRETCH_NEXT,
    STRETCH_NEXT_OF_RUN,
    STRETCH_PREVIOUS,
    STRETCH_PREVIOUS_OF_RUN,
)
from bide.simulate.scheduler.kernel.jit import Ints, SmallInts, compiled


@compiled
def append_stretch(ints: Ints, blocks: SmallInts, run: int, low: int, high: int) -> None:
    """Queue the places from `low` up to `high` of a run at the tail; the highest will be used again first."""
    _insert(ints, blocks, run, low, high, blocks[ints[AT_STRETCHES] + STRETCH_PREVIOUS])


@compiled
def pop_places(ints: Ints, blocks: SmallInts, most: int) -> tuple[int, int, int]:
    """(run, low, high) of up to `most` places at the head of the queue, which they leave."""
    stretch = blocks[ints[AT_STRETCHES] + STRETCH_NEXT]
    run, low, high = blocks[stretch + OF_RUN], blocks[stretch + STRETCH_LOW], blocks[stretch + STRETCH_HIGH]
    if high - low > most:
        blocks[stretch + STRETCH_HIGH] = high - most
        return run, high - most, high
    _remove(ints, blocks, stretch)
    return run, low, high


@compiled
def overlap(blocks: SmallInts, run: int, low: int, high: int) -> int:
    """How many of the places from `low` up to `high` of a run are in the queue."""
    total, stretch = 0, blocks[run + RUN_STRETCHES]
    while stretch:
        total += max(0, min(high, blocks[stretch + STRETCH_HIGH]) - max(low, blocks[stretch + STRETCH_LOW]))
        stretch = blocks[stretch + STRETCH_NEXT_OF_RUN]
    return total


@compiled
def cut_stretches(ints: Ints, blocks: SmallInts, run: int, low: int, high: int) -> int:
    """Take those of the places from `low` up to `high` of a run that are in the queue out of it; returns how many."""
    total, stretch = 0, blocks[run + RUN_STRETCHES]
    while stretch:
        following = blocks[stretch + STRETCH_NEXT_OF_RUN]
        its_low, its_high = blocks[stretch + STRETCH_LOW], blocks[stretch + STRETCH_HIGH]
        cut = min(high, its_high) - max(low, its_low)
        if cut > 0:
            total += cut
            if its_low < low:  # the lower places are used again after the others
                if its_high > high:
                    _insert(ints, blocks, run, its_low, low, stretch)
                    blocks[stretch + STRETCH_LOW] = high
                else:
                    blocks[stretch + STRETCH_HIGH] = low
            elif its_high > high:
                blocks[stretch + STRETCH_LOW] = high
            else:
                _remove(ints, blocks, stretch)
        stretch = following
    return total


@compiled
def _insert(ints: Ints, blocks: SmallInts, run: int, low: int, high: int, before: int) -> None:
    """A stretch behind the one `before`."""
    stretch = ints[SPARE_STRETCH]
    if stretch:
        ints[SPARE_STRETCH] = blocks[stretch + STRETCH_NEXT]
    else:
        stretch = ints[AT_STRETCHES_END]
        ints[AT_STRETCHES_END] += STRETCH_FIELDS
    blocks[stretch + OF_RUN] = run
    blocks[stretch + STRETCH_LOW] = low
    blocks[stretch + STRETCH_HIGH] = high
    after = blocks[before + STRETCH_NEXT]
    blocks[before + STRETCH_NEXT] = stretch
    blocks[stretch + STRETCH_PREVIOUS] = before
    blocks[stretch + STRETCH_NEXT] = after
    blocks[after + STRETCH_PREVIOUS] = stretch
    first = blocks[run + RUN_STRETCHES]
    blocks[stretch + STRETCH_PREVIOUS_OF_RUN] = 0
    blocks[stretch + STRETCH_NEXT_OF_RUN] = first
    if first:
        blocks[first + STRETCH_PREVIOUS_OF_RUN] = stretch
    blocks[run + RUN_STRETCHES] = stretch


@compiled
def _remove(ints: Ints, blocks: SmallInts, stretch: int) -> None:
    before, after = blocks[stretch + STRETCH_PREVIOUS], blocks[stretch + STRETCH_NEXT]
    blocks[before + STRETCH_NEXT] = after
    blocks[after + STRETCH_PREVIOUS] = before
    before, after = blocks[stretch + STRETCH_PREVIOUS_OF_RUN], blocks[stretch + STRETCH_NEXT_OF_RUN]
    if before:
        blocks[before + STRETCH_NEXT_OF_RUN] = after
    else:
        blocks[blocks[stretch + OF_RUN] + RUN_STRETCHES] = after
    if after:
        blocks[after + STRETCH_PREVIOUS_OF_RUN] = before
    blocks[stretch + STRETCH_NEXT] = ints[SPARE_STRETCH]
    ints[SPARE_STRETCH] = stretch
