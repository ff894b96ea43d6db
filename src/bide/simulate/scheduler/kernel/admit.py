"""Waiting requests join a step, in order, up to the first that does not fit."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.batch import give
from bide.simulate.scheduler.kernel.chunks import cut_for_states
from bide.simulate.scheduler.kernel.fields import (
    ADMITTED,
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
    LOADED,
    LOOKAHEAD,
    LOOKED_UP_TOKENS,
    MAX_MODEL_LEN,
    MAX_RUNNING,
    NOW_S,
    ONLY_FULL,
    REQUEST,
    RESERVE_WHOLE,
    RESERVED_OUTPUT,
    RUNNING,
    SET_ASIDE,
    SHARES_OUTPUTS,
    SIZE,
    TIME_FIELDS,
    TIMES_HEAD,
    TRACKS_BLOCKS,
    USABLE,
    WATERMARK_BLOCKS,
)
from bide.simulate.scheduler.kernel.hits import comes_from_this_step, longest_hit
from bide.simulate.scheduler.kernel.jit import Floats, Ints, SmallInts, compiled, inlined
from bide.simulate.scheduler.kernel.publish import publish
from bide.simulate.scheduler.kernel.runs import open_run
from bide.simulate.scheduler.kernel.seats import request_at, seat
from bide.simulate.scheduler.kernel.tables import adopt, extend, group_at, needed_by_waiting, part_at, set_aside
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
        start = max(hit, min(ints[mine + LOADED], ints[mine + KNOWN_SO_FAR] - 1))
        drafts = _padding(rules, ints, batch, mine, start)
        if drafts and drafts >= budget:
            return
        tokens = _first_tokens(rules, ints, mine, start, junction, drafts, budget, threshold)
        held = start - hit + tokens
        if tokens == 0 or not _fits(rules, ints, blocks, mine, hit, held):
            return
        pop(rules, ints, times)
        slot = seat(rules, ints, request, start, drafts, junction)
        ints[mine + LOADED] = 0
        _fill(rules, ints, blocks, ids, slot, hit, held)
        _note(ints, times, request, mine, hit, start)
        give(rules, ints, batch, slot, tokens)
        ints[batch + ADMITTED] += 1
        budget -= tokens


@inlined
def _padding(rules: Ints, ints: Ints, batch: int, mine: int, start: int) -> int:
    """Empty drafts for a request that lacks only its last token, so that it looks like the decoding ones it joins."""
    drafts = rules[DRAFTS_EACH]
    if drafts == 0 or ints[mine + KNOWN_SO_FAR] - start != 1 or ints[batch + HAS_CHUNK]:
        return 0
    joins = ints[batch + SIZE] > ints[batch + ADMITTED] or start > 0
    return drafts if joins and start + drafts + 2 <= rules[MAX_MODEL_LEN] else 0


@inlined
def _first_tokens(
    rules: Ints, ints: Ints, mine: int, start: int, junction: int, drafts: int, budget: int, threshold: int
) -> int:
    """Tokens of a request that would be admitted now; 0 where it has to wait."""
    known = ints[mine + KNOWN_SO_FAR]
    tokens = known + drafts - start
    if 0 < threshold < tokens:
        tokens = threshold
    if tokens > budget and not rules[CHUNKED_PREFILL]:
        return 0
    return cut_for_states(rules, ints[mine + ITS_PROMPT], known, junction, start, min(tokens, budget))


@inlined
def _fits(rules: Ints, ints: Ints, blocks: SmallInts, mine: int, hit: int, tokens: int) -> bool:
    """Whether its first tokens have room, and its whole prompt where that is asked for."""
    if rules[ALIGNS_STATES] and comes_from_this_step(rules, ints, blocks):
        return False
    if rules[RESERVED_OUTPUT] and ints[SET_ASIDE] + set_aside(rules, ints[mine + ITS_PROMPT]) > rules[USABLE]:
        ints[HEAD_BLOCKED] = 1
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


@inlined
def _fill(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, slot: int, hit: int, tokens: int) -> None:
    """Blocks for what a request starts with."""
    done = hit + tokens
    if rules[TRACKS_BLOCKS] == BY_RUN:
        open_run(ints, blocks, part_at(slot, 0), ints[slot + REQUEST], hit // rules[group_at(rules, 0) + BLOCK_TOKENS])
    if hit:
        adopt(rules, ints, blocks, slot, hit)
    extend(rules, ints, blocks, ids, slot, min(done + rules[LOOKAHEAD], rules[MAX_MODEL_LEN]), done)
    if rules[TRACKS_BLOCKS]:
        known = ints[slot + KNOWN]
        publish(rules, ints, blocks, ids, slot, min(done, known))


@inlined
def _note(ints: Ints, times: Floats, request: int, mine: int, hit: int, start: int) -> None:
    """When it was first scheduled, and what it need not compute."""
    ints[HIT_TOKENS] += hit
    ints[LOOKED_UP_TOKENS] += ints[mine + KNOWN_SO_FAR]
    at = TIMES_HEAD + request * TIME_FIELDS + FIRST_SCHEDULED_S
    if times[at] != times[at]:  # NaN: not scheduled before
        times[at] = times[NOW_S]
        ints[mine + CACHED] = start
