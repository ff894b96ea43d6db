"""The requests that decode while cruising: advanced together by one counter, not one by one.

TICK counts the steps of the cruise. A slot's computed tokens are COMPUTED + TICK. Slots that need a
block in the same tick form a class, of which there are as many as a block has tokens; slots whose
last token comes with the same tick form a list. Both are in order of admission; a class is only
counted where nobody can want what its slots publish.
"""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import (
    ADMISSION,
    ASYNC,
    AT_CLASSES,
    AT_DUE,
    AT_GROUPS,
    BLOCK_TOKENS,
    CLASS_FIELDS,
    CLASS_FIRST,
    CLASS_SIZE,
    COMPUTED,
    CONTEXT,
    DECODES,
    DECODING,
    DUE_CLASS,
    DUE_SPAN,
    FREE,
    GROUPS,
    LENGTH,
    LIMIT,
    NEXT_DUE,
    NEXT_IN_CLASS,
    PREVIOUS_IN_CLASS,
    SHARES_OUTPUTS,
    TICK,
    TRACKS_BLOCKS,
)
from bide.simulate.scheduler.kernel.jit import Ints, SmallInts, compiled, inlined
from bide.simulate.scheduler.kernel.publish import publish
from bide.simulate.scheduler.kernel.runs import take_blocks
from bide.simulate.scheduler.kernel.tables import part_at


@inlined
def class_at(ints: Ints, number: int) -> int:
    return ints[AT_CLASSES] + number * CLASS_FIELDS


@inlined
def due_at(ints: Ints, tick: int) -> int:
    return ints[AT_DUE] + tick % ints[DUE_SPAN]


@inlined
def enroll(rules: Ints, ints: Ints, slot: int) -> None:
    """Let a slot decode from the next tick on."""
    computed = ints[slot + COMPUTED]
    ints[DECODING] += 1
    ints[CONTEXT] += computed
    ints[slot + DECODES] = 1
    ints[slot + COMPUTED] = computed - ints[TICK]
    _join_class(rules, ints, slot)
    at = due_at(ints, ints[TICK] + ints[slot + LIMIT] - computed - 1)
    while ints[at] and ints[ints[at] + ADMISSION] < ints[slot + ADMISSION]:
        at = ints[at] + NEXT_DUE
    ints[slot + NEXT_DUE] = ints[at]
    ints[at] = slot


@inlined
def dismiss(rules: Ints, ints: Ints, slot: int) -> None:
    """A slot has got its last token; its computed tokens are in COMPUTED again."""
    _leave_class(rules, ints, slot)
    ints[slot + COMPUTED] += ints[TICK]
    ints[slot + DECODES] = 2
    ints[DECODING] -= 1
    ints[CONTEXT] -= ints[slot + COMPUTED]


@inlined
def due_needs(rules: Ints, ints: Ints) -> int:
    """Blocks that the decoding slots need for their next token."""
    return ints[class_at(ints, ints[DUE_CLASS]) + CLASS_SIZE] * rules[GROUPS]


@inlined
def serve_decodes(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts) -> None:
    """The next tick: a token for every decoding slot, and a block for those that need one."""
    due = ints[DUE_CLASS]
    following = due - 1 if due else rules[rules[AT_GROUPS] + BLOCK_TOKENS] - 1
    if rules[TRACKS_BLOCKS]:
        take_blocks(ints, blocks, ids, due_needs(rules, ints))
        if rules[SHARES_OUTPUTS]:
            # with async scheduling the token that fills a block is only known one step later
            _publish_class(rules, ints, blocks, ids, class_at(ints, due if rules[ASYNC] else following))
    else:
        ints[FREE] -= due_needs(rules, ints)
    ints[TICK] += 1
    ints[CONTEXT] += ints[DECODING]
    ints[DUE_CLASS] = following


@compiled
def _publish_class(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, row: int) -> None:
    slot = ints[row + CLASS_FIRST]
    for _ in range(ints[row + CLASS_SIZE]):
        settled = ints[slot + COMPUTED] + ints[TICK] + 1 - rules[ASYNC]
        settle_blocks(rules, ints, blocks, ids, slot, settled, settled)
        slot = ints[slot + NEXT_IN_CLASS]


@inlined
def settle_blocks(
    rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, slot: int, computed: int, settled: int
) -> None:
    """Put the blocks of its computed tokens, taken in passing, into a slot's tables; publish those of settled ones."""
    size = rules[rules[AT_GROUPS] + BLOCK_TOKENS]
    for number in range(rules[GROUPS]):
        ints[part_at(slot, number) + LENGTH] = (computed + size - 1) // size
    if rules[TRACKS_BLOCKS]:
        publish(rules, ints, blocks, ids, slot, settled)


@inlined
def class_of(rules: Ints, ints: Ints, slot: int) -> int:
    """Its address. The class of those that need a block in tick t is t modulo the block, backwards."""
    return class_at(ints, ints[slot + COMPUTED] % rules[rules[AT_GROUPS] + BLOCK_TOKENS])


@inlined
def _join_class(rules: Ints, ints: Ints, slot: int) -> None:
    row = class_of(rules, ints, slot)
    ints[row + CLASS_SIZE] += 1
    if not rules[SHARES_OUTPUTS]:
        return
    first = ints[row + CLASS_FIRST]
    if first == 0:
        ints[row + CLASS_FIRST] = slot
        ints[slot + NEXT_IN_CLASS] = slot
        ints[slot + PREVIOUS_IN_CLASS] = slot
        return
    before = ints[first + PREVIOUS_IN_CLASS]
    while ints[before + ADMISSION] > ints[slot + ADMISSION]:
        is_first = before == ints[row + CLASS_FIRST]
        before = ints[before + PREVIOUS_IN_CLASS]
        if is_first:
            ints[row + CLASS_FIRST] = slot
            break
    after = ints[before + NEXT_IN_CLASS]
    ints[before + NEXT_IN_CLASS] = slot
    ints[slot + PREVIOUS_IN_CLASS] = before
    ints[slot + NEXT_IN_CLASS] = after
    ints[after + PREVIOUS_IN_CLASS] = slot


@inlined
def _leave_class(rules: Ints, ints: Ints, slot: int) -> None:
    row = class_of(rules, ints, slot)
    ints[row + CLASS_SIZE] -= 1
    if not rules[SHARES_OUTPUTS]:
        return
    before, after = ints[slot + PREVIOUS_IN_CLASS], ints[slot + NEXT_IN_CLASS]
    if after == slot:
        ints[row + CLASS_FIRST] = 0
        return
    if ints[row + CLASS_FIRST] == slot:
        ints[row + CLASS_FIRST] = after
    ints[before + NEXT_IN_CLASS] = after
    ints[after + PREVIOUS_IN_CLASS] = before
