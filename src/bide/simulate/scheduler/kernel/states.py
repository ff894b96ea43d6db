"""Tables of states with prefix caching: a place for every block of tokens, of which few are real."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import DRAFTS_EACH, EXTENDED, LAST_STATE, LENGTH, TABLE
from bide.simulate.scheduler.kernel.jit import Ints, SmallInts, compiled
from bide.simulate.scheduler.kernel.pool import give_back


@compiled
def needed_states(rules: Ints, ints: Ints, part: int, token_blocks: int) -> int:
    """Blocks that a running request lacks; fewer than none where drafts were refused."""
    fresh = token_blocks + rules[DRAFTS_EACH] - ints[part + LENGTH]
    return min(fresh, 1 if ints[part + EXTENDED] else 1 + rules[DRAFTS_EACH])


@compiled
def extend_states(rules: Ints, ints: Ints, blocks: SmallInts, part: int, token_blocks: int) -> int:
    """Leave places between the last state and the running one empty; returns the length that the table needs."""
    spare, before, table = rules[DRAFTS_EACH], ints[part + LENGTH], ints[part + TABLE]
    extended = ints[part + EXTENDED] == 1
    ints[part + EXTENDED] = 1
    required, skipped = token_blocks + spare, token_blocks - 1
    if required <= before:
        return before
    if extended:
        ints[part + LAST_STATE] = before - 1 - spare
    elif before:
        ints[part + LAST_STATE] = before - 1
    length = before
    while length < skipped:
        blocks[table + length] = 0
        length += 1
    if extended:  # speculative states that are left behind serve again at the end
        for place in range(before - spare, min(before, skipped)):
            blocks[table + length] = blocks[table + place]
            blocks[table + place] = 0
            length += 1
    ints[part + LENGTH] = length
    return required


@compiled
def retire_states(ints: Ints, blocks: SmallInts, part: int, running: int) -> None:
    """Give up the state before the one at place `running`, which has been computed from it."""
    last = ints[part + LAST_STATE]
    if 0 <= last < running:
        at = ints[part + TABLE] + last
        if blocks[at]:
            give_back(ints, blocks, blocks[at], 0)
            blocks[at] = 0
