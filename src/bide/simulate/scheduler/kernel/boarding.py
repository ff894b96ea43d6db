"""Into a cruise, and out of it."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.batch import entry_at
from bide.simulate.scheduler.kernel.decodes import class_of, due_at, enroll, settle_blocks
from bide.simulate.scheduler.kernel.fields import (
    ASYNC,
    AT_PROMPTS,
    BUSY_UNTIL_S,
    CLASS_FIRST,
    CLASS_SIZE,
    COMPUTED,
    CONTEXT,
    CRUISING,
    DECODES,
    DECODING,
    DRAFTED,
    DUE_CLASS,
    END_AT,
    FIRST_RUNNING,
    FREE,
    IN_CHUNK,
    IN_FLIGHT,
    KNOWN,
    LEAVING,
    LIMIT,
    MAY_CRUISE,
    NEXT_RUNNING,
    OLDEST,
    PLACEHOLDERS,
    PROMPT,
    PROMPTS,
    REQUEST,
    RUNNING,
    SAMPLES,
    SIZE,
    TICK,
    TOKENS,
    UNDER_WAY,
    WHOSE,
)
from bide.simulate.scheduler.kernel.jit import Floats, Ints, SmallInts, compiled
from bide.simulate.scheduler.kernel.update import note_first_token


@compiled
def board(rules: Ints, ints: Ints, times: Floats) -> bool:
    """Start a cruise, if those that run only decode or compute prompts and the pool is not nearly full."""
    if not rules[MAY_CRUISE] or ints[RUNNING] == 0 or ints[UNDER_WAY] != rules[ASYNC]:
        return False
    if 8 * ints[FREE] < ints[RUNNING] or not _all_regular(rules, ints):
        return False
    for field in (TICK, DUE_CLASS, DECODING, CONTEXT, PROMPTS, LEAVING):
        ints[field] = 0
    slot = ints[FIRST_RUNNING]
    while slot:
        if _decodes(rules, ints, slot):
            if ints[slot + KNOWN] == ints[slot + PROMPT]:  # its first token is under way
                note_first_token(times, ints[slot + REQUEST], times[BUSY_UNTIL_S])
            enroll(rules, ints, slot)
        else:
            ints[ints[AT_PROMPTS] + ints[PROMPTS]] = slot
            ints[PROMPTS] += 1
        slot = ints[slot + NEXT_RUNNING]
    ints[CRUISING] = 1
    return True


@compiled
def _decodes(rules: Ints, ints: Ints, slot: int) -> bool:
    """Whether a slot gets one token in each step from now on."""
    computed, placeholders = ints[slot + COMPUTED], ints[slot + PLACEHOLDERS]
    one_short = ints[slot + KNOWN] + placeholders - computed == 1
    regular = one_short and placeholders == rules[ASYNC] and computed >= ints[slot + PROMPT]
    return regular and not ints[slot + IN_CHUNK]


@compiled
def _all_regular(rules: Ints, ints: Ints) -> bool:
    """Whether every slot decodes or computes a prompt, and with async scheduling is in the step under way."""
    slot = ints[FIRST_RUNNING]
    while slot:
        prompt = ints[slot + PLACEHOLDERS] == 0 and ints[slot + COMPUTED] < ints[slot + KNOWN]
        if not (prompt or _decodes(rules, ints, slot)) or (rules[ASYNC] and ints[slot + IN_FLIGHT] == 0):
            return False
        slot = ints[slot + NEXT_RUNNING]
    return True


@compiled
def disembark(rules: Ints, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts) -> None:
    """End a cruise: bring every slot to where it stands, and the step under way into its batch."""
    batch, slot, place = ints[OLDEST], ints[FIRST_RUNNING], 0
    while slot:
        entry = entry_at(batch, place)
        ints[entry + SAMPLES] = ints[slot + DECODES] > 0
        if ints[slot + DECODES]:
            _settle(rules, ints, blocks, ids, slot)
        if not rules[ASYNC]:
            ints[slot + IN_FLIGHT] = 0
        ints[entry + WHOSE] = ints[slot + REQUEST]
        ints[entry + TOKENS] = ints[slot + IN_FLIGHT]
        ints[entry + DRAFTED] = 0
        place += 1
        slot = ints[slot + NEXT_RUNNING]
    ints[batch + SIZE] = place
    times[ints[batch + END_AT]] = times[BUSY_UNTIL_S]
    ints[CRUISING] = 0


@compiled
def _settle(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, slot: int) -> None:
    """A slot as it is between two steps, out of its class and list."""
    if ints[slot + DECODES] == 1:
        row = class_of(rules, ints, slot)
        ints[row + CLASS_SIZE] = 0
        ints[row + CLASS_FIRST] = 0
        ints[slot + COMPUTED] += ints[TICK]
        ints[due_at(ints, ints[TICK] + ints[slot + LIMIT] - ints[slot + COMPUTED] - 1)] = 0
    computed = ints[slot + COMPUTED]
    settle_blocks(rules, ints, blocks, ids, slot, computed, computed - rules[ASYNC])
    ints[slot + KNOWN] = computed + 1 - rules[ASYNC]
    ints[slot + PLACEHOLDERS] = rules[ASYNC]
    ints[slot + IN_FLIGHT] = rules[ASYNC]
    ints[slot + IN_CHUNK] = 0
    ints[slot + DECODES] = 0
