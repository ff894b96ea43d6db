"""Block tables by slot and group: what is needed, taken and given up.

Where blocks are only counted, a table is its LENGTH and how many of its first places are RETIRED.
"""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import (
    AT_GROUPS,
    AT_HIT,
    AT_HITS,
    BLOCK_TOKENS,
    BY_RUN,
    CACHING,
    CAP,
    CHUNK,
    COUNTED,
    DRAFTS_EACH,
    EXTENDED,
    FREE,
    FULL,
    GROUP_FIELDS,
    GROUPS,
    KIND,
    LAST_STATE,
    LENGTH,
    LOOKAHEAD,
    MAX_MODEL_LEN,
    ONLY_FULL,
    PART_FIELDS,
    PLACES,
    PUBLISHED,
    REACH,
    RESERVED_OUTPUT,
    RETIRED,
    SLOT_HEAD,
    STATE,
    TABLE,
    TRACKS_BLOCKS,
    USABLE,
    USERS,
    WINDOW,
)
from bide.simulate.scheduler.kernel.jit import Ints, SmallInts, compiled, inlined
from bide.simulate.scheduler.kernel.pool import give_back, share, take
from bide.simulate.scheduler.kernel.runs import adopt_runs, idle_places, release_runs, take_blocks
from bide.simulate.scheduler.kernel.states import extend_states, needed_states, retire_states

NEVER = 1 << 60
"""More blocks than any pool has."""


@inlined
def group_at(rules: Ints, number: int) -> int:
    return rules[AT_GROUPS] + number * GROUP_FIELDS


@inlined
def part_at(slot: int, number: int) -> int:
    """A slot's part for a group."""
    return slot + SLOT_HEAD + number * PART_FIELDS


@compiled
def set_aside(rules: Ints, prompt_tokens: int) -> int:
    """Blocks that are reserved for a request to its end; no more than there are, so that one can run."""
    tokens, total = min(prompt_tokens + rules[RESERVED_OUTPUT] + rules[LOOKAHEAD], rules[MAX_MODEL_LEN]), 0
    for number in range(rules[GROUPS]):
        group = group_at(rules, number)
        if rules[group + KIND] == STATE:
            total += rules[DRAFTS_EACH] + (2 if rules[CACHING] else 1)
        else:
            size = rules[group + BLOCK_TOKENS]
            total += min((tokens + size - 1) // size, rules[group + CAP])
    return min(total, rules[USABLE])


@inlined
def skipped_tokens(rules: Ints, group: int, computed: int) -> int:
    """The first tokens of `computed` that later ones do not attend to."""
    kind, reach = rules[group + KIND], rules[group + REACH]
    if kind == WINDOW:
        return max(0, computed - reach + 1)
    if kind == CHUNK:
        return computed // reach * reach
    return computed - 1 if kind == STATE else 0


@compiled
def needed_by_running(rules: Ints, ints: Ints, slot: int, tokens: int, main_tokens: int) -> int:
    """Blocks of all groups that a running request lacks for `tokens`."""
    total = 0
    for number in range(rules[GROUPS]):
        group, part = group_at(rules, number), part_at(slot, number)
        size, length = rules[group + BLOCK_TOKENS], ints[part + LENGTH]
        if rules[group + KIND] != STATE:
            if tokens > length * size:
                total += (tokens + size - 1) // size - length
        elif not rules[CACHING]:
            total += 1 + rules[DRAFTS_EACH] - length
        else:
            total += needed_states(rules, ints, part, (main_tokens + size - 1) // size)
    return total


@compiled
def needed_by_waiting(
    rules: Ints, ints: Ints, blocks: SmallInts, tokens: int, computed: int, main_tokens: int, capped: bool
) -> int:
    """Blocks of all groups that leave the queue when a waiting request gets slots for `tokens` after its hit.

    `computed` is the hit's length.
    """
    total = 0
    for number in range(rules[GROUPS]):
        group, found = group_at(rules, number), ints[ints[AT_HITS] + number]
        size, kind, skipped = rules[group + BLOCK_TOKENS], rules[group + KIND], 0
        if kind != STATE:
            required = (tokens + size - 1) // size
            if capped:
                required = min(required, rules[group + CAP])
            skipped = skipped_tokens(rules, group, computed) // size
            total += max(0, required - max(skipped, found))
        elif not rules[CACHING]:
            total += 1 + rules[DRAFTS_EACH]
        else:
            drafts = rules[DRAFTS_EACH]
            total += min((main_tokens + size - 1) // size + drafts - found, 1 + drafts)
        total += _idle_blocks(rules, ints, blocks, number, skipped, found)
    return total


@inlined
def _idle_blocks(rules: Ints, ints: Ints, blocks: SmallInts, number: int, start: int, end: int) -> int:
    """Blocks of a hit that nobody holds."""
    if rules[TRACKS_BLOCKS] == BY_RUN:
        return idle_places(ints, blocks)
    hit = ints[AT_HIT] + number * ints[PLACES]
    idle = 0
    for place in range(start, end):
        block = blocks[hit + place]
        if block and blocks[block + USERS] == 0:
            idle += 1
    return idle


@compiled
def adopt(rules: Ints, ints: Ints, blocks: SmallInts, slot: int, hit_tokens: int) -> None:
    """Take the cached blocks of a hit that are still attended to."""
    if rules[TRACKS_BLOCKS] == BY_RUN:
        adopt_runs(ints, blocks, part_at(slot, 0))
        return
    for number in range(rules[GROUPS]):
        group, part, found = group_at(rules, number), part_at(slot, number), ints[ints[AT_HITS] + number]
        table, hit = ints[part + TABLE], ints[AT_HIT] + number * ints[PLACES]
        skipped = skipped_tokens(rules, group, hit_tokens) // rules[group + BLOCK_TOKENS]
        for place in range(skipped):
            blocks[table + place] = 0
        for place in range(skipped, found):
            block = blocks[hit + place]
            blocks[table + place] = block
            if block:
                share(ints, blocks, block)
        length = max(skipped, found)
        ints[part + LENGTH] = length
        ints[part + PUBLISHED] = length
        ints[part + RETIRED] = 0 if rules[group + KIND] == STATE else skipped


@compiled
def extend(
    rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, slot: int, tokens: int, main_tokens: int
) -> None:
    """Take blocks of every group until there are slots for `tokens`."""
    for number in range(rules[GROUPS]):
        group, part = group_at(rules, number), part_at(slot, number)
        size, length = rules[group + BLOCK_TOKENS], ints[part + LENGTH]
        if rules[group + KIND] != STATE:
            if tokens > length * size:
                lengthen(rules, ints, blocks, ids, part, (tokens + size - 1) // size)
        else:
            required = 1 + rules[DRAFTS_EACH]
            if rules[CACHING]:
                required = extend_states(rules, ints, blocks, part, (main_tokens + size - 1) // size)
            lengthen(rules, ints, blocks, ids, part, required)


@compiled
def lengthen(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, part: int, length: int) -> None:
    """Take blocks until the table is that long."""
    before = ints[part + LENGTH]
    if length <= before:
        return
    ints[part + LENGTH] = length
    if rules[TRACKS_BLOCKS] == BY_RUN:
        take_blocks(ints, blocks, ids, length - before)
        return
    if rules[TRACKS_BLOCKS] == COUNTED:
        ints[FREE] -= length - before
        return
    table = ints[part + TABLE]
    for place in range(before, length):
        blocks[table + place] = take(ints, blocks)


@compiled
def retire(rules: Ints, ints: Ints, blocks: SmallInts, slot: int, settled: int) -> None:
    """Give up the blocks that no step attends to, `settled` tokens being computed for good."""
    if rules[ONLY_FULL]:
        return
    for number in range(rules[GROUPS]):
        group, part = group_at(rules, number), part_at(slot, number)
        kind, size = rules[group + KIND], rules[group + BLOCK_TOKENS]
        if kind == FULL or (kind == STATE and not rules[CACHING]):
            continue
        start = ints[part + RETIRED]
        end = min(max(0, skipped_tokens(rules, group, settled)) // size, ints[part + LENGTH])
        if end > start:
            ints[part + RETIRED] = end
            _give_up(rules, ints, blocks, part, start, end)
        if kind == STATE:
            retire_states(ints, blocks, part, (settled + size - 1) // size - 1)


@inlined
def _give_up(rules: Ints, ints: Ints, blocks: SmallInts, part: int, start: int, end: int) -> None:
    """Free the blocks of the places, the last first."""
    if not rules[TRACKS_BLOCKS]:
        ints[FREE] += end - start
        return
    table, cursor = ints[part + TABLE], 0
    for place in range(table + end - 1, table + start - 1, -1):
        if blocks[place]:
            cursor = give_back(ints, blocks, blocks[place], cursor)
            blocks[place] = 0


@inlined
def release(rules: Ints, ints: Ints, blocks: SmallInts, slot: int) -> None:
    """Give up all blocks of a slot, group by group."""
    for number in range(rules[GROUPS]):
        part = part_at(slot, number)
        if rules[TRACKS_BLOCKS] == BY_RUN:
            release_runs(ints, blocks, part)
        else:
            start = 0 if rules[TRACKS_BLOCKS] else ints[part + RETIRED]
            _give_up(rules, ints, blocks, part, start, ints[part + LENGTH])
        ints[part + LENGTH] = 0
        ints[part + RETIRED] = 0
        ints[part + PUBLISHED] = 0
        ints[part + EXTENDED] = 0
        ints[part + LAST_STATE] = -1
