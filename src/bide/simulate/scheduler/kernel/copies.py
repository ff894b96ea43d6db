"""Copies of shared content. A head names the only run that has it, or, negative, the first of a list, oldest first."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import AT_COPIES_END, COPY_FIELDS, COPY_LATER, COPY_RUN, SPARE_COPY
from bide.simulate.scheduler.kernel.jit import Ints, SmallInts, compiled


@compiled
def oldest_copy(blocks: SmallInts, at_head: int) -> int:
    """The run with the oldest copy; 0 for none."""
    head = blocks[at_head]
    return head if head >= 0 else blocks[COPY_RUN - head]


@compiled
def add_copy(ints: Ints, blocks: SmallInts, at_head: int, run: int) -> None:
    """Another copy, the newest."""
    if blocks[at_head] > 0:
        blocks[at_head] = -_new_copy(ints, blocks, blocks[at_head])
    last = -blocks[at_head]
    while blocks[last + COPY_LATER]:
        last = blocks[last + COPY_LATER]
    blocks[last + COPY_LATER] = _new_copy(ints, blocks, run)


@compiled
def drop_copy(ints: Ints, blocks: SmallInts, at_head: int, run: int) -> None:
    """One copy fewer, of several."""
    copy, before = -blocks[at_head], 0
    while blocks[copy + COPY_RUN] != run:
        before = copy
        copy = blocks[copy + COPY_LATER]
    if before:
        blocks[before + COPY_LATER] = blocks[copy + COPY_LATER]
    else:
        blocks[at_head] = -blocks[copy + COPY_LATER]
    _free_copy(ints, blocks, copy)
    first = -blocks[at_head]
    if blocks[first + COPY_LATER] == 0:  # the only one left
        blocks[at_head] = blocks[first + COPY_RUN]
        _free_copy(ints, blocks, first)


@compiled
def _new_copy(ints: Ints, blocks: SmallInts, run: int) -> int:
    copy = ints[SPARE_COPY]
    if copy:
        ints[SPARE_COPY] = blocks[copy + COPY_LATER]
    else:
        copy = ints[AT_COPIES_END]
        ints[AT_COPIES_END] += COPY_FIELDS
    blocks[copy + COPY_RUN] = run
    blocks[copy + COPY_LATER] = 0
    return copy


@compiled
def _free_copy(ints: Ints, blocks: SmallInts, copy: int) -> None:
    blocks[copy + COPY_LATER] = ints[SPARE_COPY]
    ints[SPARE_COPY] = copy
