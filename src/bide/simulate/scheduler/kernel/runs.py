"""Blocks of one full-attention group with prefix caching, kept as runs instead of one by one.

Which physical block holds what decides nothing; what is cached, in which order it is forgotten, and
how many blocks are blank do. So the blocks that a request computes in one stay are one run: places
of its table, one after another. A request's table is the pieces of other runs that it adopted (its
holds) and then its own run. A place of a run is held by its owner, by holds, or waits in the free
queue (see `run_queue`); if none of them has it, it is forgotten. Costs go with the number of
pieces, and with that of blocks only where prompts list what they share.
"""

from __future__ import annotations

from bide.simulate.scheduler.kernel.copies import add_copy, drop_copy
from bide.simulate.scheduler.kernel.fields import (
    ADOPTED,
    AT_HEADS,
    AT_HIT,
    AT_HOLDS_END,
    AT_REQUESTS,
    AT_RUNS_END,
    BLANK,
    CONTENT_COUNT,
    CONTENT_START,
    FREE,
    HELD_RUN,
    HOLD_FIELDS,
    HOLD_HIGH,
    HOLD_LOW,
    HOLD_NEXT,
    HOLD_NEXT_OF_RUN,
    HOLD_PREVIOUS_OF_RUN,
    HOLDS,
    LENGTH,
    OWN_RUNS,
    PIECE_FIELDS,
    PIECE_HIGH,
    PIECE_LOW,
    PIECE_RUN,
    PIECES,
    PUBLISHED,
    REQUEST,
    REQUEST_FIELDS,
    RUN,
    RUN_FIELDS,
    RUN_HELD,
    RUN_HOLDS,
    RUN_LATER,
    RUN_LISTED,
    RUN_OWNER,
    RUN_PUBLISHED,
    RUN_START,
    RUN_STRETCHES,
    SPARE_HOLD,
    SPARE_RUN,
    STRETCH_HIGH,
    STRETCH_LOW,
    STRETCH_NEXT_OF_RUN,
)
from bide.simulate.scheduler.kernel.jit import Ints, SmallInts, compiled
from bide.simulate.scheduler.kernel.run_queue import append_stretch, cut_stretches, overlap, pop_places


@compiled
def open_run(ints: Ints, blocks: SmallInts, part: int, request: int, start: int) -> None:
    """A run for a table whose places from `start` on its request computes."""
    run = ints[SPARE_RUN]
    if run:
        ints[SPARE_RUN] = blocks[run + RUN_LATER]
    else:
        run = ints[AT_RUNS_END]
        ints[AT_RUNS_END] += RUN_FIELDS
    blocks[run + RUN_OWNER] = request
    blocks[run + RUN_START] = start
    blocks[run + RUN_PUBLISHED] = start
    blocks[run + RUN_HELD] = 1
    blocks[run + RUN_HOLDS] = 0
    blocks[run + RUN_STRETCHES] = 0
    blocks[run + RUN_LISTED] = 0
    blocks[run + RUN_LATER] = 0
    ints[part + RUN] = run
    ints[part + ADOPTED] = start
    ints[part + LENGTH] = start
    ints[part + PUBLISHED] = start
    ints[part + HOLDS] = 0


@compiled
def _close_if_empty(ints: Ints, blocks: SmallInts, run: int) -> None:
    """Drop a run of which nothing is left."""
    if blocks[run + RUN_HELD] or blocks[run + RUN_HOLDS] or blocks[run + RUN_STRETCHES]:
        return
    if blocks[run + RUN_LISTED]:
        _unlist(ints, blocks, run)
    blocks[run + RUN_LATER] = ints[SPARE_RUN]
    ints[SPARE_RUN] = run


@compiled
def list_run(ints: Ints, blocks: SmallInts, run: int) -> None:
    """Let a request that is being preempted look for the run that it leaves, after its older ones."""
    at = ints[AT_REQUESTS] + blocks[run + RUN_OWNER] * REQUEST_FIELDS + OWN_RUNS
    blocks[run + RUN_LISTED] = 1
    other = ints[at]
    if other == 0:
        ints[at] = run
        return
    while blocks[other + RUN_LATER]:
        other = blocks[other + RUN_LATER]
    blocks[other + RUN_LATER] = run


@compiled
def _unlist(ints: Ints, blocks: SmallInts, run: int) -> None:
    """Take a run out of those that its owner may look for."""
    at = ints[AT_REQUESTS] + blocks[run + RUN_OWNER] * REQUEST_FIELDS + OWN_RUNS
    other = ints[at]
    if other == run:
        ints[at] = blocks[run + RUN_LATER]
        return
    while blocks[other + RUN_LATER] != run:
        other = blocks[other + RUN_LATER]
    blocks[other + RUN_LATER] = blocks[run + RUN_LATER]


@compiled
def take_blocks(ints: Ints, blocks: SmallInts, ids: SmallInts, count: int) -> None:
    """Take blocks from the head of the queue: blank ones, then those given up first, whose content is forgotten."""
    ints[FREE] -= count
    ints[BLANK] -= count
    if ints[BLANK] < 0:
        forget_blocks(ints, blocks, ids, -ints[BLANK])
        ints[BLANK] = 0


@compiled
def forget_blocks(ints: Ints, blocks: SmallInts, ids: SmallInts, count: int) -> None:
    """Forget the content of the free blocks that were given up first."""
    while count > 0:
        run, low, high = pop_places(ints, blocks, count)
        count -= high - low
        mine = ints[AT_REQUESTS] + blocks[run + RUN_OWNER] * REQUEST_FIELDS
        names = ints[mine + CONTENT_START]
        for name in range(names + low, names + min(high, ints[mine + CONTENT_COUNT])):
            at = ints[AT_HEADS] + ids[name]
            if blocks[at] == run:
                blocks[at] = 0
            else:
                drop_copy(ints, blocks, at, run)
        _close_if_empty(ints, blocks, run)


@compiled
def publish_run(ints: Ints, blocks: SmallInts, ids: SmallInts, slot: int, part: int, end: int) -> None:
    """Make the blocks of a slot's run findable up to a place."""
    start = ints[part + PUBLISHED]
    if end <= start:
        return
    run, mine = ints[part + RUN], ints[AT_REQUESTS] + ints[slot + REQUEST] * REQUEST_FIELDS
    ints[part + PUBLISHED] = end
    blocks[run + RUN_PUBLISHED] = end
    names = ints[mine + CONTENT_START]
    for name in range(names + start, names + min(end, ints[mine + CONTENT_COUNT])):
        at = ints[AT_HEADS] + ids[name]
        if blocks[at] == 0:
            blocks[at] = run
        else:
            add_copy(ints, blocks, at, run)


@compiled
def find_own(ints: Ints, blocks: SmallInts, mine: int, place: int) -> int:
    """The oldest run that a request left and that still has a place; 0 for none."""
    run = ints[mine + OWN_RUNS]
    while run and not _has_place(blocks, run, place):
        run = blocks[run + RUN_LATER]
    return run


@compiled
def _has_place(blocks: SmallInts, run: int, place: int) -> bool:
    """Whether a place of a run that its owner has left is held, or in the queue."""
    stretch = blocks[run + RUN_STRETCHES]
    while stretch:
        if blocks[stretch + STRETCH_LOW] <= place < blocks[stretch + STRETCH_HIGH]:
            return True
        stretch = blocks[stretch + STRETCH_NEXT_OF_RUN]
    hold = blocks[run + RUN_HOLDS]
    while hold:
        if blocks[hold + HOLD_LOW] <= place < blocks[hold + HOLD_HIGH]:
            return True
        hold = blocks[hold + HOLD_NEXT_OF_RUN]
    return False


@compiled
def add_to_hit(ints: Ints, blocks: SmallInts, run: int, place: int) -> None:
    """The next place of the hit is in a run."""
    last = ints[AT_HIT] + (ints[PIECES] - 1) * PIECE_FIELDS
    if ints[PIECES] and blocks[last + PIECE_RUN] == run:
        blocks[last + PIECE_HIGH] = place + 1
        return
    ints[PIECES] += 1
    piece = last + PIECE_FIELDS
    blocks[piece + PIECE_RUN] = run
    blocks[piece + PIECE_LOW] = place
    blocks[piece + PIECE_HIGH] = place + 1


@compiled
def idle_places(ints: Ints, blocks: SmallInts) -> int:
    """How many places of the hit nobody holds."""
    idle = 0
    for number in range(ints[PIECES]):
        piece = ints[AT_HIT] + number * PIECE_FIELDS
        idle += overlap(blocks, blocks[piece + PIECE_RUN], blocks[piece + PIECE_LOW], blocks[piece + PIECE_HIGH])
    return idle


@compiled
def adopt_runs(ints: Ints, blocks: SmallInts, part: int) -> None:
    """Hold the pieces of the hit; places that nobody held leave the queue."""
    for number in range(ints[PIECES]):
        piece = ints[AT_HIT] + number * PIECE_FIELDS
        run, low, high = blocks[piece + PIECE_RUN], blocks[piece + PIECE_LOW], blocks[piece + PIECE_HIGH]
        ints[FREE] -= cut_stretches(ints, blocks, run, low, high)
        hold = ints[SPARE_HOLD]
        if hold:
            ints[SPARE_HOLD] = blocks[hold + HOLD_NEXT]
        else:
            hold = ints[AT_HOLDS_END]
            ints[AT_HOLDS_END] += HOLD_FIELDS
        blocks[hold + HELD_RUN] = run
        blocks[hold + HOLD_LOW] = low
        blocks[hold + HOLD_HIGH] = high
        blocks[hold + HOLD_NEXT] = ints[part + HOLDS]  # the last piece first, as they are given up
        ints[part + HOLDS] = hold
        first = blocks[run + RUN_HOLDS]
        blocks[hold + HOLD_NEXT_OF_RUN] = first
        blocks[hold + HOLD_PREVIOUS_OF_RUN] = 0
        if first:
            blocks[first + HOLD_PREVIOUS_OF_RUN] = hold
        blocks[run + RUN_HOLDS] = hold


@compiled
def release_runs(ints: Ints, blocks: SmallInts, part: int) -> None:
    """Give up all blocks of a table, the last first; those that were never published become blank."""
    run, blank = ints[part + RUN], ints[part + LENGTH] - ints[part + PUBLISHED]
    ints[BLANK] += blank
    ints[FREE] += blank
    blocks[run + RUN_HELD] = 0
    _give_up(ints, blocks, run, ints[part + ADOPTED], ints[part + PUBLISHED])
    _close_if_empty(ints, blocks, run)
    hold = ints[part + HOLDS]
    while hold:
        following, held = blocks[hold + HOLD_NEXT], blocks[hold + HELD_RUN]
        _drop_hold(ints, blocks, hold)
        _give_up(ints, blocks, held, blocks[hold + HOLD_LOW], blocks[hold + HOLD_HIGH])
        hold = following


@compiled
def _drop_hold(ints: Ints, blocks: SmallInts, hold: int) -> None:
    before, after = blocks[hold + HOLD_PREVIOUS_OF_RUN], blocks[hold + HOLD_NEXT_OF_RUN]
    if before:
        blocks[before + HOLD_NEXT_OF_RUN] = after
    else:
        blocks[blocks[hold + HELD_RUN] + RUN_HOLDS] = after
    if after:
        blocks[after + HOLD_PREVIOUS_OF_RUN] = before
    blocks[hold + HOLD_NEXT] = ints[SPARE_HOLD]
    ints[SPARE_HOLD] = hold


@compiled
def _give_up(ints: Ints, blocks: SmallInts, run: int, low: int, high: int) -> None:
    """Queue the places from `low` up to `high` that nobody else holds, the last first."""
    if blocks[run + RUN_HELD]:
        return
    while high > low:
        start, end = low, low  # of the hold that covers the last place, or the last before it
        hold = blocks[run + RUN_HOLDS]
        while hold:
            its_end = min(high, blocks[hold + HOLD_HIGH])
            if blocks[hold + HOLD_LOW] < its_end and (
                its_end > end or (its_end == end and blocks[hold + HOLD_LOW] < start)
            ):
                start, end = blocks[hold + HOLD_LOW], its_end
            hold = blocks[hold + HOLD_NEXT_OF_RUN]
        if end < high:
            append_stretch(ints, blocks, run, max(low, end), high)
            ints[FREE] += high - max(low, end)
        high = start if end > low else low
