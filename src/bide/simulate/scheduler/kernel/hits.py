"""The longest cached prefix that a waiting request can start from, for every group together."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.copies import oldest_copy
from bide.simulate.scheduler.kernel.fields import (
    ALIGNED,
    AT_HEADS,
    AT_HIT,
    AT_HITS,
    AT_KINDS,
    AT_OWN,
    AT_REQUESTS,
    AT_STAMPS,
    BLOCK_TOKENS,
    BY_RUN,
    CHUNK,
    CONTENT_COUNT,
    CONTENT_START,
    COPY_NEXT,
    FIRST_MEMBER,
    FULL,
    GROUPS,
    HIT_BLOCKS,
    IDS_PER_BLOCK,
    KEY,
    KIND,
    KIND_SPAN,
    KINDS,
    KNOWN_SO_FAR,
    MEMBERS,
    OWN_BLOCKS,
    OWN_RUNS,
    PIECES,
    PLACE,
    PLACES,
    REACH,
    REQUEST_FIELDS,
    STATE,
    STEP,
    TRACKS_BLOCKS,
    WINDOW,
)
from bide.simulate.scheduler.kernel.jit import Ints, SmallInts, compiled
from bide.simulate.scheduler.kernel.runs import add_to_hit, find_own
from bide.simulate.scheduler.kernel.tables import group_at


@compiled
def longest_hit(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, request: int) -> tuple[int, int]:
    """(tokens, junction) of the hit; its blocks are left at AT_HIT, and how many at AT_HITS.

    Each kind of group shortens the candidate or leaves it; any change starts another round, except
    that one round does for full attention and one other kind.
    """
    mine = ints[AT_REQUESTS] + request * REQUEST_FIELDS
    known = ints[mine + KNOWN_SO_FAR]
    if rules[TRACKS_BLOCKS] == BY_RUN:
        size = rules[group_at(rules, 0) + BLOCK_TOKENS]
        return _hit_of_runs(ints, blocks, ids, mine, (known - 1) // size) * size, 0
    _list_own_blocks(rules, ints, blocks, mine, known)
    full_first = rules[_group_of_kind(rules, 0) + KIND] == FULL
    candidate, longest, full_tokens = known - 1, 0, -1
    while True:
        length = candidate
        for kind in range(rules[KINDS]):
            if kind == 0 and full_tokens >= 0:
                length = min(length, full_tokens)
                continue
            length = _hit_of_kind(rules, ints, blocks, ids, mine, kind, length)
            longest = max(longest, length)
            if kind == 0 and full_first:
                full_tokens = length
        unchanged = length >= candidate
        candidate = length
        if unchanged or (rules[KINDS] == 2 and full_first):
            break
    _trim_full(rules, ints, candidate)
    return candidate, longest if longest > candidate and rules[GROUPS] > 1 else 0


@compiled
def _hit_of_runs(ints: Ints, blocks: SmallInts, ids: SmallInts, mine: int, most: int) -> int:
    """Places of the hit, up to `most`, where blocks are kept as runs."""
    place, names, listed = 0, ints[mine + CONTENT_START], min(most, ints[mine + CONTENT_COUNT])
    ints[PIECES] = 0
    run = 1
    while place < listed and run:
        run = oldest_copy(blocks, ints[AT_HEADS] + ids[names + place])
        if run:
            add_to_hit(ints, blocks, run, place)
            place += 1
    if place == listed and ints[mine + OWN_RUNS]:
        while place < most and run:
            run = find_own(ints, blocks, mine, place)
            if run:
                add_to_hit(ints, blocks, run, place)
                place += 1
    ints[ints[AT_HITS]] = place
    return place


@compiled
def _trim_full(rules: Ints, ints: Ints, tokens: int) -> None:
    for number in range(rules[GROUPS]):
        group, at = group_at(rules, number), ints[AT_HITS] + number
        if rules[group + KIND] == FULL:
            ints[at] = min(ints[at], tokens // rules[group + BLOCK_TOKENS])


@compiled
def _kind_at(rules: Ints, kind: int) -> int:
    return rules[AT_KINDS] + kind * rules[KIND_SPAN]


@compiled
def _group_of_kind(rules: Ints, kind: int) -> int:
    return group_at(rules, rules[_kind_at(rules, kind) + FIRST_MEMBER])


@compiled
def _list_own_blocks(rules: Ints, ints: Ints, blocks: SmallInts, mine: int, known: int) -> None:
    """What is left of the blocks that only this request can have, the oldest of each place."""
    block = ints[mine + OWN_BLOCKS]
    if block == 0:
        return
    for number in range(rules[GROUPS]):
        own = ints[AT_OWN] + number * ints[PLACES]
        for place in range(known // rules[group_at(rules, number) + BLOCK_TOKENS]):
            blocks[own + place] = 0
    while block:  # newest first, so that the oldest stays
        place = blocks[block + PLACE]
        blocks[ints[AT_OWN] + place % rules[GROUPS] * ints[PLACES] + place // rules[GROUPS]] = block
        block = blocks[block + COPY_NEXT]


@compiled
def _find(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, mine: int, number: int, place: int) -> int:
    """The oldest block with the content of a place; 0 for none."""
    name = (place + 1) * rules[group_at(rules, number) + IDS_PER_BLOCK] - 1
    if name < ints[mine + CONTENT_COUNT]:
        return blocks[ints[AT_HEADS] + ids[ints[mine + CONTENT_START] + name] * rules[GROUPS] + number]
    return blocks[ints[AT_OWN] + number * ints[PLACES] + place] if ints[mine + OWN_BLOCKS] else 0


@compiled
def _find_row(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, mine: int, kind: int, place: int) -> bool:
    """Put the blocks of a place into the hit of every group of a kind; False unless all are cached."""
    row = _kind_at(rules, kind)
    for member in range(rules[row + MEMBERS]):
        number = rules[row + FIRST_MEMBER + member]
        block = _find(rules, ints, blocks, ids, mine, number, place)
        if block == 0:
            return False
        blocks[ints[AT_HIT] + number * ints[PLACES] + place] = block
    return True


@compiled
def _set_nulls(rules: Ints, ints: Ints, blocks: SmallInts, kind: int, end: int) -> None:
    """The first places of the hit hold nothing."""
    row = _kind_at(rules, kind)
    for member in range(rules[row + MEMBERS]):
        hit = ints[AT_HIT] + rules[row + FIRST_MEMBER + member] * ints[PLACES]
        for place in range(end):
            blocks[hit + place] = 0


@compiled
def _hit_of_kind(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, mine: int, kind: int, most: int) -> int:
    """Tokens of the longest hit of one kind, up to `most`."""
    group, row = _group_of_kind(rules, kind), _kind_at(rules, kind)
    what, size, aligned = rules[group + KIND], rules[group + BLOCK_TOKENS], rules[ALIGNED]
    if what == WINDOW:
        count = _window(rules, ints, blocks, ids, mine, kind, most)
    elif what == STATE:
        count = _state(rules, ints, blocks, ids, mine, kind, most)
    else:
        start = most // rules[group + REACH] * rules[group + REACH] // size if what == CHUNK else 0
        _set_nulls(rules, ints, blocks, kind, start)
        count, end = start, most // size
        while count < end and _find_row(rules, ints, blocks, ids, mine, kind, count):
            count += 1
        if what == FULL:
            count = count * size // aligned * aligned // size
    for member in range(rules[row + MEMBERS]):
        ints[ints[AT_HITS] + rules[row + FIRST_MEMBER + member]] = count
    return count * size


@compiled
def _window(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, mine: int, kind: int, most: int) -> int:
    """The last run of blocks that fills the window, or a shorter one at the very start."""
    group = _group_of_kind(rules, kind)
    size, aligned, enough = rules[group + BLOCK_TOKENS], rules[ALIGNED], rules[group + HIT_BLOCKS]
    run = 0
    for place in range(most // size - 1, -1, -1):
        if not _find_row(rules, ints, blocks, ids, mine, kind, place):
            run = 0
            continue
        if run == 0 and (place + 1) * size % aligned:
            continue
        run += 1
        if run >= enough:
            _set_nulls(rules, ints, blocks, kind, place)
            return place + run
    return run * size // aligned * aligned // size


@compiled
def _state(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, mine: int, kind: int, most: int) -> int:
    """The last state that is cached."""
    size, aligned = rules[_group_of_kind(rules, kind) + BLOCK_TOKENS], rules[ALIGNED]
    for place in range(most // size - 1, -1, -1):
        if (place + 1) * size % aligned == 0 and _find_row(rules, ints, blocks, ids, mine, kind, place):
            _set_nulls(rules, ints, blocks, kind, place)
            return place + 1
    return 0


@compiled
def comes_from_this_step(rules: Ints, ints: Ints, blocks: SmallInts) -> bool:
    """Whether a hit needs a state that is only there once the step being planned has run."""
    for number in range(rules[GROUPS]):
        found = ints[ints[AT_HITS] + number]
        if rules[group_at(rules, number) + KIND] == STATE and found:
            key = blocks[blocks[ints[AT_HIT] + number * ints[PLACES] + found - 1] + KEY]
            if key >= 0 and blocks[ints[AT_STAMPS] + key] == ints[STEP]:
                return True
    return False
