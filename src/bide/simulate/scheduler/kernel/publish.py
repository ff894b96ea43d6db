"""Making full blocks findable, and which of them are worth it."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import (
    ALIGNED,
    AT_REQUESTS,
    AT_STAMPS,
    BLOCK_TOKENS,
    BY_RUN,
    CHUNK,
    CONTENT_COUNT,
    CONTENT_START,
    FULL,
    GROUPS,
    HIT_BLOCKS,
    IDS_PER_BLOCK,
    JUNCTION,
    KEY,
    KIND,
    OLD_RELEASE,
    PROMPT,
    PUBLISHED,
    REQUEST,
    REQUEST_FIELDS,
    RETENTION,
    STATE,
    STEP,
    TABLE,
    TRACKS_BLOCKS,
)
from bide.simulate.scheduler.kernel.jit import Ints, SmallInts, compiled
from bide.simulate.scheduler.kernel.pool import link_own, publish_own, publish_shared
from bide.simulate.scheduler.kernel.runs import publish_run
from bide.simulate.scheduler.kernel.tables import group_at, part_at


@compiled
def publish(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, slot: int, tokens: int) -> None:
    """Make the full blocks among the first `tokens` findable; between groups, only whole aligned blocks are."""
    if rules[TRACKS_BLOCKS] == BY_RUN:
        publish_run(ints, blocks, ids, slot, part_at(slot, 0), tokens // rules[group_at(rules, 0) + BLOCK_TOKENS])
        return
    if rules[GROUPS] > 1:
        tokens -= tokens % rules[ALIGNED]
    for number in range(rules[GROUPS]):
        group, part = group_at(rules, number), part_at(slot, number)
        size, start = rules[group + BLOCK_TOKENS], ints[part + PUBLISHED]
        if tokens >= (start + 1) * size:
            ints[part + PUBLISHED] = tokens // size
            _publish_places(rules, ints, blocks, ids, number, slot, start, tokens // size)
        if rules[group + KIND] == STATE and rules[OLD_RELEASE]:
            _renew_last_state(rules, ints, blocks, number, slot, tokens)


@compiled
def _publish_places(
    rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, number: int, slot: int, start: int, end: int
) -> None:
    group, table, request = group_at(rules, number), ints[part_at(slot, number) + TABLE], ints[slot + REQUEST]
    kind = rules[group + KIND]
    mine = ints[AT_REQUESTS] + request * REQUEST_FIELDS
    for place in range(start, end):
        block = blocks[table + place]
        if block == 0 or (kind != FULL and not _worth_keeping(rules, ints, group, slot, place)):
            continue
        name = (place + 1) * rules[group + IDS_PER_BLOCK] - 1
        if name < ints[mine + CONTENT_COUNT]:
            key = ids[ints[mine + CONTENT_START] + name] * rules[GROUPS] + number
            publish_shared(ints, blocks, block, key)
            if kind == STATE:
                blocks[ints[AT_STAMPS] + key] = ints[STEP]
        else:
            publish_own(blocks, block, request, place * rules[GROUPS] + number)
            link_own(ints, blocks, block)


@compiled
def _worth_keeping(rules: Ints, ints: Ints, group: int, slot: int, place: int) -> bool:
    """Whether a later request could resume where it needs this block of a window or state."""
    size, kind, retention = rules[group + BLOCK_TOKENS], rules[group + KIND], rules[RETENTION]
    if kind == CHUNK or (kind == STATE and retention < 0):
        return True
    needed = rules[group + HIT_BLOCKS]
    segment = (rules[ALIGNED] if retention < 0 else retention) // size
    if segment and place % segment >= segment - needed:
        return True
    if retention < 0:
        return False
    prompt_end = (ints[slot + PROMPT] - 1) // rules[ALIGNED] * rules[ALIGNED] // size
    junction = ints[slot + JUNCTION] // rules[ALIGNED] * rules[ALIGNED] // size
    return prompt_end - needed <= place < prompt_end or junction - needed <= place < junction


@compiled
def _renew_last_state(rules: Ints, ints: Ints, blocks: SmallInts, number: int, slot: int, tokens: int) -> None:
    """Up to 0.32 the prompt's last state counts as published again until the next block is full."""
    size = rules[group_at(rules, number) + BLOCK_TOKENS]
    if tokens <= 0 or tokens != (ints[slot + PROMPT] - 1) // size * size:
        return
    block = blocks[ints[part_at(slot, number) + TABLE] + tokens // size - 1]
    if block and blocks[block + KEY] >= 0:
        blocks[ints[AT_STAMPS] + blocks[block + KEY]] = ints[STEP]
