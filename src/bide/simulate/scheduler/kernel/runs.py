"""Blocks of one full-attention group with prefix caching, kept as runs instead of one by one.

Which physical block holds what decides nothing; what is cached, in which order it is forgotten, and
how many blocks are blank do. So the blocks that a request computes in one stay are one run: a cell
each, side by side, with the number of its users (GONE once forgotten). A request's table is the
cells that it adopted and then its own run. The free queue is how many blocks are BLANK, which are
used first, and behind them stretches of runs in the order in which they were given up, deepest
place first. What would be a walk over scattered blocks is a loop over neighbouring cells.
"""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import (
    ADOPTED,
    AT_CELLS,
    AT_HEADS,
    AT_HIT,
    AT_REQUESTS,
    BLANK,
    CELLS_A_STEP,
    CELLS_USED,
    CONTENT_COUNT,
    CONTENT_START,
    COPIES,
    FREE,
    GONE,
    LENGTH,
    NEWEST_RUN,
    OLDEST_RUN,
    OWN_RUNS,
    PUBLISHED,
    REQUEST,
    REQUEST_FIELDS,
    RUN,
    RUN_CELLS,
    RUN_END,
    RUN_HELD,
    RUN_LATER,
    RUN_LISTED,
    RUN_LIVE,
    RUN_NEXT,
    RUN_OWNER,
    RUN_PREVIOUS,
    RUN_PUBLISHED,
    RUN_START,
    RUN_STRETCHES,
    SPARE_RUN,
    TABLE,
)
from bide.simulate.scheduler.kernel.jit import Ints, SmallInts, compiled
from bide.simulate.scheduler.kernel.run_queue import append_stretch, cut_stretches, pop_places


@compiled
def open_run(ints: Ints, blocks: SmallInts, request: int, start: int, end: int) -> int:
    """A run for the places from `start` up to `end`, with no blocks yet."""
    run = ints[SPARE_RUN]
    ints[SPARE_RUN] = blocks[run + RUN_NEXT]
    blocks[run + RUN_OWNER] = request
    blocks[run + RUN_START] = start
    blocks[run + RUN_END] = end
    blocks[run + RUN_CELLS] = ints[AT_CELLS] + ints[CELLS_USED] - start
    blocks[run + RUN_LIVE] = 0
    blocks[run + RUN_HELD] = 1
    blocks[run + RUN_PUBLISHED] = start
    blocks[run + RUN_STRETCHES] = 0
    blocks[run + RUN_LISTED] = 0
    for cell in range(ints[AT_CELLS] + ints[CELLS_USED], ints[AT_CELLS] + ints[CELLS_USED] + end - start):
        blocks[cell] = GONE
    ints[CELLS_USED] += end - start
    newest = ints[NEWEST_RUN]
    blocks[run + RUN_PREVIOUS] = newest
    blocks[run + RUN_NEXT] = 0
    if newest:
        blocks[newest + RUN_NEXT] = run
    else:
        ints[OLDEST_RUN] = run
    ints[NEWEST_RUN] = run
    return run


@compiled
def _close_run(ints: Ints, blocks: SmallInts, run: int) -> None:
    """Drop a run of which nothing is left."""
    before, after = blocks[run + RUN_PREVIOUS], blocks[run + RUN_NEXT]
    if before:
        blocks[before + RUN_NEXT] = after
    else:
        ints[OLDEST_RUN] = after
    if after:
        blocks[after + RUN_PREVIOUS] = before
    else:
        ints[NEWEST_RUN] = before
    if blocks[run + RUN_LISTED]:
        _unlist(ints, blocks, run)
    blocks[run + RUN_NEXT] = ints[SPARE_RUN]
    ints[SPARE_RUN] = run


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
def list_run(ints: Ints, blocks: SmallInts, run: int) -> None:
    """Let a request that is being preempted look for the run that it leaves, after its older ones."""
    at = ints[AT_REQUESTS] + blocks[run + RUN_OWNER] * REQUEST_FIELDS + OWN_RUNS
    blocks[run + RUN_LISTED] = 1
    blocks[run + RUN_LATER] = 0
    other = ints[at]
    if other == 0:
        ints[at] = run
        return
    while blocks[other + RUN_LATER]:
        other = blocks[other + RUN_LATER]
    blocks[other + RUN_LATER] = run


@compiled
def take_blocks(ints: Ints, blocks: SmallInts, ids: SmallInts, count: int) -> None:
    """Take blocks from the head of the queue: blank ones, then those given up first, their content forgotten."""
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
        cells, mine = blocks[run + RUN_CELLS], ints[AT_REQUESTS] + blocks[run + RUN_OWNER] * REQUEST_FIELDS
        for cell in range(cells + low, cells + high):
            blocks[cell] = GONE
        names = ints[mine + CONTENT_START]
        for place in range(low, min(high, ints[mine + CONTENT_COUNT])):
            _drop_copy(ints, blocks, ints[AT_HEADS] + ids[names + place], run, place)
        blocks[run + RUN_LIVE] -= high - low
        if blocks[run + RUN_LIVE] == 0 and not blocks[run + RUN_HELD]:
            _close_run(ints, blocks, run)


@compiled
def _drop_copy(ints: Ints, blocks: SmallInts, at_oldest: int, run: int, place: int) -> None:
    """One copy fewer of some shared content."""
    following = blocks[ints[COPIES] + blocks[run + RUN_CELLS] + place]
    other = blocks[at_oldest]
    if other == run:
        blocks[at_oldest] = following
        return
    at = ints[COPIES] + blocks[other + RUN_CELLS] + place
    while blocks[at] != run:
        at = ints[COPIES] + blocks[blocks[at] + RUN_CELLS] + place
    blocks[at] = following


@compiled
def fill_run(ints: Ints, blocks: SmallInts, part: int, length: int) -> None:
    """Put blocks that were taken behind those that the table has."""
    run, before = ints[part + RUN], ints[part + LENGTH]
    if length <= before:
        return
    cells = blocks[run + RUN_CELLS]
    for cell in range(cells + before, cells + length):
        blocks[cell] = 1
    blocks[run + RUN_LIVE] += length - before
    ints[part + LENGTH] = length


@compiled
def publish_run(ints: Ints, blocks: SmallInts, ids: SmallInts, slot: int, part: int, end: int) -> None:
    """Make the blocks of a run findable up to a place."""
    start = ints[part + PUBLISHED]
    if end <= start:
        return
    run, mine = ints[part + RUN], ints[AT_REQUESTS] + ints[slot + REQUEST] * REQUEST_FIELDS
    ints[part + PUBLISHED] = end
    blocks[run + RUN_PUBLISHED] = end
    names, copies = ints[mine + CONTENT_START], ints[COPIES] + blocks[run + RUN_CELLS]
    for place in range(start, min(end, ints[mine + CONTENT_COUNT])):
        at_oldest = ints[AT_HEADS] + ids[names + place]
        blocks[copies + place] = 0
        if blocks[at_oldest] == 0:
            blocks[at_oldest] = run
        else:
            _add_copy(ints, blocks, blocks[at_oldest], run, place)


@compiled
def _add_copy(ints: Ints, blocks: SmallInts, other: int, run: int, place: int) -> None:
    """Another copy of some shared content, the newest."""
    at = ints[COPIES] + blocks[other + RUN_CELLS] + place
    while blocks[at]:
        at = ints[COPIES] + blocks[blocks[at] + RUN_CELLS] + place
    blocks[at] = run


@compiled
def find_run(ints: Ints, blocks: SmallInts, mine: int, place: int) -> int:
    """The oldest run of a request's own that still has a place; 0 for none."""
    run = ints[mine + OWN_RUNS]
    while run:
        inside = blocks[run + RUN_START] <= place < blocks[run + RUN_PUBLISHED]
        if inside and blocks[blocks[run + RUN_CELLS] + place] != GONE:
            return run
        run = blocks[run + RUN_LATER]
    return 0


@compiled
def idle_places(ints: Ints, blocks: SmallInts, count: int) -> int:
    """How many of the first places of the hit nobody holds."""
    idle, hit = 0, ints[AT_HIT]
    for place in range(count):
        if blocks[blocks[blocks[hit + place] + RUN_CELLS] + place] == 0:
            idle += 1
    return idle


@compiled
def adopt_runs(ints: Ints, blocks: SmallInts, part: int, count: int) -> None:
    """Take the first places of the hit into a table; those that nobody holds leave the queue."""
    table, hit, place = ints[part + TABLE], ints[AT_HIT], 0
    while place < count:
        run, start = blocks[hit + place], place
        cells = blocks[run + RUN_CELLS]
        while place < count and blocks[hit + place] == run and blocks[cells + place] == 0:
            place += 1
        if place > start:
            cut_stretches(ints, blocks, run, start, place)
            ints[FREE] -= place - start
        while place < count and blocks[hit + place] == run and blocks[cells + place] != 0:
            place += 1
        for adopted in range(start, place):
            blocks[cells + adopted] += 1
            blocks[table + adopted] = run
    ints[part + ADOPTED] = count
    ints[part + LENGTH] = count
    ints[part + PUBLISHED] = count


@compiled
def release_runs(ints: Ints, blocks: SmallInts, part: int) -> None:
    """Give up all blocks of a table, the last first; those that were never published become blank."""
    run, length, published = ints[part + RUN], ints[part + LENGTH], ints[part + PUBLISHED]
    blank = length - published
    cells = blocks[run + RUN_CELLS]
    for cell in range(cells + published, cells + length):
        blocks[cell] = GONE
    ints[BLANK] += blank
    ints[FREE] += blank
    blocks[run + RUN_LIVE] -= blank
    blocks[run + RUN_HELD] = 0
    _give_up(ints, blocks, run, ints[part + ADOPTED], published)
    end = ints[part + ADOPTED]
    while end:
        adopted, start = blocks[ints[part + TABLE] + end - 1], end - 1
        while start and blocks[ints[part + TABLE] + start - 1] == adopted:
            start -= 1
        _give_up(ints, blocks, adopted, start, end)
        end = start
    if blocks[run + RUN_LIVE] == 0:
        _close_run(ints, blocks, run)


@compiled
def _give_up(ints: Ints, blocks: SmallInts, run: int, start: int, end: int) -> None:
    """One user fewer for places of a run; those without users queue up, the last first."""
    cells, high = blocks[run + RUN_CELLS], end
    while high > start:
        low = high
        while low > start and blocks[cells + low - 1] == 1:
            low -= 1
            blocks[cells + low] = 0
        if low < high:
            append_stretch(ints, blocks, run, low, high)
            ints[FREE] += high - low
        high = low
        while high > start and blocks[cells + high - 1] > 1:
            high -= 1
            blocks[cells + high] -= 1


@compiled
def has_cells(ints: Ints, blocks: SmallInts) -> bool:
    """Whether there are cells for whatever the next step may admit; gaps are closed where there are not."""
    if ints[CELLS_USED] + ints[CELLS_A_STEP] > ints[COPIES]:
        _compact(ints, blocks)
    return ints[CELLS_USED] + ints[CELLS_A_STEP] <= ints[COPIES]


@compiled
def _compact(ints: Ints, blocks: SmallInts) -> None:
    """Close the gaps between the cells of runs, and drop those that a run no longer needs."""
    used, run = 0, ints[OLDEST_RUN]
    while run:
        start, end = blocks[run + RUN_START], blocks[run + RUN_END]
        cells = blocks[run + RUN_CELLS]
        if not blocks[run + RUN_HELD]:
            end = blocks[run + RUN_PUBLISHED]
            while blocks[cells + end - 1] == GONE:
                end -= 1
            while blocks[cells + start] == GONE:
                start += 1
        target = ints[AT_CELLS] + used - start
        for place in range(start, end):
            blocks[target + place] = blocks[cells + place]
            blocks[ints[COPIES] + target + place] = blocks[ints[COPIES] + cells + place]
        blocks[run + RUN_CELLS] = target
        blocks[run + RUN_START] = start
        blocks[run + RUN_END] = end
        blocks[run + RUN_PUBLISHED] = min(blocks[run + RUN_PUBLISHED], end)
        used += end - start
        run = blocks[run + RUN_NEXT]
    ints[CELLS_USED] = used
