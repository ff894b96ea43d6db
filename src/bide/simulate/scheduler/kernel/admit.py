"""Waiting requests join a step, in order, up to the first that does not fit."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.batch import give
from bide.simulate.scheduler.kernel.chunks import cut_for_states
from bide.simulate.scheduler.kernel.fields import (
    ADMITTED,
    ADOPTED,
    ALIGNS_STATES,
    BLOCK_TOKENS,
    BY_RUN,
    CACHED,
    CHUNKED_PREFILL,
    DRAFTS_EACH,
    FIRST_SCHEDULED_S,
    FREE,
    HAS_CHUNK,
    HEAD_BLOCKED,
    HIT_TOKENS,
    ITS_PROMPT,
    KNOWN,
    KNOWN_SO_FAR,
    LIMIT,
    LOOKAHEAD,
    LOOKED_UP_TOKENS,
    MAX_MODEL_LEN,
    MAX_RUNNING,
    NOW_S,
    ONLY_FULL,
    REQUEST,
    RESERVE_WHOLE,
    RUN,
    RUNNING,
    SHARES_OUTPUTS,
    SIZE,
    TIME_FIELDS,
    TIMES_HEAD,
    TRACKS_BLOCKS,
    WATERMARK_BLOCKS,
)
from bide.simulate.scheduler.kernel.hits import comes_from_this_step, longest_hit
from bide.simulate.scheduler.kernel.jit import Floats, Ints, SmallInts, compiled
from bide.simulate.scheduler.kernel.publish import publish
from bide.simulate.scheduler.kernel.runs import open_run
from bide.simulate.scheduler.kernel.seats import request_at, seat
from bide.simulate.scheduler.kernel.tables import adopt, extend, group_at, needed_by_waiting, part_at
from bide.simulate.scheduler.kernel.waiting import count_waiting, head, pop


@compiled
def admit_waiting(
    rules: Ints, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts, batch: int, budget: int, threshold: int
) -> None:
    """None of those that wait has tokens under way: they are delivered before the next step is planned."""
    while budget > 0 and ints[RUNNING] < rules[MAX_RUNNING] and count_waiting(rules, ints) > 0:
        request = head(rules, ints)
        mine = request_at(ints, request)
        hit, junction = 0, 0
        if rules[TRACKS_BLOCKS]:
            hit, junction = longest_hit(rules, ints, blocks, ids, request)
        drafts = _padding(rules, ints, batch, mine, hit)
        if drafts and drafts >= budget:
            return
        tokens = _first_tokens(rules, ints, mine, hit, junction, drafts, budget, threshold)
        if tokens == 0 or not _fits(rules, ints, blocks, mine, hit, tokens):
            return
        pop(rules, ints, times)
        slot = seat(ints, request, hit, drafts, junction)
        _fill(rules, ints, blocks, ids, slot, hit, tokens)
        _note(ints, times, request, mine, hit)
        give(rules, ints, batch, slot, tokens)
        ints[batch + ADMITTED] += 1
        budget -= tokens


@compiled
def _padding(rules: Ints, ints: Ints, batch: int, mine: int, hit: int) -> int:
    """Empty drafts for a request that lacks only its last token, so that it looks like the decoding ones it joins."""
    drafts = rules[DRAFTS_EACH]
    if drafts == 0 or ints[mine + KNOWN_SO_FAR] - hit != 1 or ints[batch + HAS_CHUNK]:
        return 0
    joins = ints[batch + SIZE] > ints[batch + ADMITTED] or hit > 0
    return drafts if joins and hit + drafts + 2 <= rules[MAX_MODEL_LEN] else 0


@compiled
def _first_tokens(
    rules: Ints, ints: Ints, mine: int, hit: int, junction: int, drafts: int, budget: int, threshold: int
) -> int:
    """Tokens of a request that would be admitted now; 0 where it has to wait."""
    known = ints[mine + KNOWN_SO_FAR]
    tokens = known + drafts - hit
    if 0 < threshold < tokens:
        tokens = threshold
    if tokens > budget and not rules[CHUNKED_PREFILL]:
        return 0
    return cut_for_states(rules, ints[mine + ITS_PROMPT], known, junction, hit, min(tokens, budget))


@compiled
def _fits(rules: Ints, ints: Ints, blocks: SmallInts, mine: int, hit: int, tokens: int) -> bool:
    """Whether its first tokens have room, and its whole prompt where that is asked for."""
    if rules[ALIGNS_STATES] and comes_from_this_step(rules, ints, blocks):
        return False
    free = ints[FREE] - (rules[WATERMARK_BLOCKS] if ints[RUNNING] else 0)
    if rules[RESERVE_WHOLE]:
        whole = min(ints[mine + KNOWN_SO_FAR], rules[MAX_MODEL_LEN])
        if needed_by_waiting(rules, ints, blocks, whole, hit, whole, True) > free:
            # decoding alone cannot make room for it, nor publish what it could start from
            ints[HEAD_BLOCKED] = rules[ONLY_FULL] and not (rules[TRACKS_BLOCKS] and rules[SHARES_OUTPUTS])
            return False
    slots = min(hit + tokens + rules[LOOKAHEAD], rules[MAX_MODEL_LEN])
    return needed_by_waiting(rules, ints, blocks, slots, hit, hit + tokens, False) <= free


@compiled
def _fill(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, slot: int, hit: int, tokens: int) -> None:
    """Blocks for what a request starts with."""
    done = hit + tokens
    if rules[TRACKS_BLOCKS] == BY_RUN:
        size = rules[group_at(rules, 0) + BLOCK_TOKENS]
        most = min(ints[slot + LIMIT] + 2 * rules[DRAFTS_EACH], rules[MAX_MODEL_LEN])
        run = open_run(ints, blocks, ints[slot + REQUEST], hit // size, (most + size - 1) // size)
        ints[part_at(slot, 0) + RUN] = run
        ints[part_at(slot, 0) + ADOPTED] = 0
    if hit:
        adopt(rules, ints, blocks, slot, hit)
    extend(rules, ints, blocks, ids, slot, min(done + rules[LOOKAHEAD], rules[MAX_MODEL_LEN]), done)
    if rules[TRACKS_BLOCKS]:
        known = ints[slot + KNOWN]
        publish(rules, ints, blocks, ids, slot, min(done, known))


@compiled
def _note(ints: Ints, times: Floats, request: int, mine: int, hit: int) -> None:
    """When it was first scheduled, and what was cached then."""
    ints[HIT_TOKENS] += hit
    ints[LOOKED_UP_TOKENS] += ints[mine + KNOWN_SO_FAR]
    at = TIMES_HEAD + request * TIME_FIELDS + FIRST_SCHEDULED_S
    if times[at] != times[at]:  # NaN: not scheduled before
        times[at] = times[NOW_S]
        ints[mine + CACHED] = hit
