"""Cruising: many requests decode, a few compute a prompt, all have room.

Then a step gives every decoding request its token whatever the order, so that none of them needs to
be looked at: a step costs as much as what joins, leaves or crosses a block in it. Decisions and
clock are those of planning each step by itself, to the bit. Where the token budget or the pool
could run short, the cruise ends and the next step is planned one request at a time.
"""

from __future__ import annotations

from bide.simulate.scheduler.kernel.admit import admit_waiting
from bide.simulate.scheduler.kernel.batch import base_s, entry_at, give, note_progress, open_batch, price
from bide.simulate.scheduler.kernel.decodes import due_at, due_needs, enroll, serve_decodes
from bide.simulate.scheduler.kernel.fields import (
    ARRIVED,
    ASYNC,
    AT_CLASSES,
    AT_DUE,
    AT_GROUPS,
    AT_PROMPTS,
    BLANK,
    BLOCK_TOKENS,
    BUSY_UNTIL_S,
    BY_PRIORITY,
    CLASS_FIELDS,
    CLASS_SIZE,
    COMPUTED,
    CONTEXT,
    CRUISING,
    DECODING,
    DUE_CLASS,
    DUE_SPAN,
    ENTRY_FIELDS,
    FREE,
    GROUPS,
    HEAD_BLOCKED,
    IN_FLIGHT,
    KNOWN,
    LAST_RUNNING,
    LEAVING,
    MAX_RUNNING,
    NEWEST,
    NEXT_SAMPLE_S,
    NOW_S,
    PER_KV_TOKEN_S,
    PROMPT,
    PROMPTS,
    PROMPTS_ALONE,
    REQUESTS,
    RUNNING,
    SAMPLES,
    SHARES_OUTPUTS,
    SIZE,
    SLOT,
    STEP,
    STEPS_TAKEN,
    TICK,
    TOKEN_BUDGET,
    TRACKS_BLOCKS,
    UNDER_WAY,
    WHOSE,
)
from bide.simulate.scheduler.kernel.jit import Floats, Ints, SmallInts, compiled, inlined
from bide.simulate.scheduler.kernel.leaving import collect_due, release_leaving
from bide.simulate.scheduler.kernel.runs import forget_blocks
from bide.simulate.scheduler.kernel.schedule import continue_with, prompt_threshold, wanted
from bide.simulate.scheduler.kernel.seats import request_at
from bide.simulate.scheduler.kernel.tables import needed_by_running
from bide.simulate.scheduler.kernel.update import note_first_token
from bide.simulate.scheduler.kernel.waiting import arrival_s, count_waiting


@compiled
def cruise(
    rules: Ints, costs: Floats, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts, until_s: float
) -> bool:
    """One step, and then as many as only decode; False where the next step has to be planned request by request."""
    if rules[ASYNC]:
        collect_due(rules, ints)
    threshold = prompt_threshold(rules, ints)
    if prompts_go_first(rules, ints) or not _has_room(rules, ints, threshold):
        return False
    batch = ints[NEWEST]
    rest = _serve_running(rules, ints, blocks, ids, batch, threshold)
    admit_waiting(rules, ints, blocks, times, ids, batch, rest, threshold)
    if ints[DECODING] + ints[batch + SIZE] == 0:
        return _come_to_rest(rules, ints, blocks, times, ids)
    _start(rules, costs, ints, times, batch)
    _sort_in(rules, ints, times, batch)
    _finish_step(rules, ints, blocks, times, ids)
    if ints[PROMPTS] == 0 and _undisturbed(rules, ints):
        _coast(rules, costs, ints, blocks, times, ids, min(until_s, _wake_s(rules, ints, times)))
    return True


@compiled
def prompts_go_first(rules: Ints, ints: Ints) -> bool:
    """Whether the next step may be one without those that decode."""
    if not rules[PROMPTS_ALONE]:
        return False
    nobody = ints[HEAD_BLOCKED] == 1 or ints[RUNNING] >= rules[MAX_RUNNING] or count_waiting(rules, ints) == 0
    return ints[PROMPTS] > 0 or not nobody


@inlined
def _has_room(rules: Ints, ints: Ints, threshold: int) -> bool:
    """Whether every running request gets the tokens and blocks that it wants, whatever the order."""
    rest, blocks = rules[TOKEN_BUDGET] - ints[DECODING], due_needs(rules, ints)
    for at in range(ints[AT_PROMPTS], ints[AT_PROMPTS] + ints[PROMPTS]):
        slot = ints[at]
        tokens = _prompt_tokens(rules, ints, slot, rest, threshold)
        if tokens <= 0:
            return False
        rest -= tokens
        done = ints[slot + COMPUTED] + tokens
        blocks += needed_by_running(rules, ints, slot, done, done)
    return rest >= 0 and blocks <= ints[FREE]


@inlined
def _prompt_tokens(rules: Ints, ints: Ints, slot: int, rest: int, threshold: int) -> int:
    """Tokens of a prompt; 0 where others behind it would come short, or could publish what it publishes."""
    last = slot == ints[LAST_RUNNING]
    if rules[SHARES_OUTPUTS] and not last:
        return 0
    tokens = wanted(rules, ints, slot, 1 << 40, threshold)
    if tokens <= rest:
        return tokens
    return rest if last else 0


@inlined
def _serve_running(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, batch: int, threshold: int) -> int:
    """Tokens for those that run; returns what is left of the budget. Prompts are put into the batch."""
    ints[STEP] += 1
    open_batch(ints, batch)
    rest = rules[TOKEN_BUDGET] - ints[DECODING]
    serve_decodes(rules, ints, blocks, ids)
    for at in range(ints[AT_PROMPTS], ints[AT_PROMPTS] + ints[PROMPTS]):
        slot = ints[at]
        tokens = _prompt_tokens(rules, ints, slot, rest, threshold)
        continue_with(rules, ints, blocks, ids, slot, tokens)
        ints[slot + IN_FLIGHT] = 0
        give(rules, ints, batch, slot, tokens)
        rest -= tokens
    ints[PROMPTS] = 0
    return rest


@compiled
def _come_to_rest(rules: Ints, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts) -> bool:
    """Nothing to schedule: the step under way, if there is one, is the last."""
    if ints[UNDER_WAY] == 0:
        return False
    times[NOW_S] = times[BUSY_UNTIL_S]
    release_leaving(rules, ints, blocks, times, ids, times[NOW_S])
    ints[UNDER_WAY] = 0
    ints[CRUISING] = 0
    return True


@inlined
def _start(rules: Ints, costs: Floats, ints: Ints, times: Floats, batch: int) -> None:
    """Let the step run after the one under way, which is done by then."""
    before_s = max(times[NOW_S], times[BUSY_UNTIL_S])
    end_s = before_s + price(rules, costs, ints, batch, ints[DECODING], ints[CONTEXT])
    times[BUSY_UNTIL_S] = end_s
    times[NOW_S] = before_s if rules[ASYNC] else end_s
    note_progress(ints, batch, ints[DECODING])


@inlined
def _sort_in(rules: Ints, ints: Ints, times: Floats, batch: int) -> None:
    """Those of the batch that sample decode from now on; the others have more of their prompt to compute."""
    for entry in range(entry_at(batch, 0), entry_at(batch, ints[batch + SIZE]), ENTRY_FIELDS):
        request = ints[entry + WHOSE]
        slot = ints[request_at(ints, request) + SLOT]
        if ints[entry + SAMPLES]:
            if ints[slot + KNOWN] == ints[slot + PROMPT]:
                note_first_token(times, request, times[BUSY_UNTIL_S])
            enroll(rules, ints, slot)
        else:
            ints[ints[AT_PROMPTS] + ints[PROMPTS]] = slot
            ints[PROMPTS] += 1


@inlined
def _finish_step(rules: Ints, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts) -> None:
    """Give up those whose last token has come by now."""
    if not rules[ASYNC]:
        collect_due(rules, ints)
    if ints[LEAVING]:
        release_leaving(rules, ints, blocks, times, ids, times[NOW_S])


@inlined
def _undisturbed(rules: Ints, ints: Ints) -> bool:
    """Whether nobody can be admitted before a running request is done, but for those who have not arrived yet."""
    blocked = ints[HEAD_BLOCKED] == 1 or ints[RUNNING] >= rules[MAX_RUNNING]
    return ints[DECODING] > 0 and (blocked or count_waiting(rules, ints) == 0)


@inlined
def _wake_s(rules: Ints, ints: Ints, times: Floats) -> float:
    """When to look up: at the next arrival that could be admitted, or the next sample."""
    full = ints[RUNNING] >= rules[MAX_RUNNING]
    unheard = full or (ints[HEAD_BLOCKED] == 1 and not rules[BY_PRIORITY])
    if ints[ARRIVED] < ints[REQUESTS] and not unheard:
        return min(times[NEXT_SAMPLE_S], arrival_s(times, ints[ARRIVED]))
    return times[NEXT_SAMPLE_S]


@inlined
def _coast(
    rules: Ints, costs: Floats, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts, until_s: float
) -> None:
    """Steps that only decode, up to the one in which somebody is done or `until_s` has come."""
    first_tick = ints[TICK]
    if rules[ASYNC] and ints[due_at(ints, first_tick)]:
        return
    if rules[SHARES_OUTPUTS]:
        _coast_and_publish(rules, costs, ints, blocks, times, ids, until_s)
    else:
        _coast_by_count(rules, costs, ints, blocks, times, ids, until_s)
    ints[STEP] += ints[TICK] - first_tick
    ints[STEPS_TAKEN] += ints[TICK] - first_tick
    if not rules[ASYNC]:
        _finish_step(rules, ints, blocks, times, ids)


@compiled
def _coast_and_publish(
    rules: Ints, costs: Floats, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts, until_s: float
) -> None:
    sequences, asynchronous, per_token_s = ints[DECODING], rules[ASYNC], costs[PER_KV_TOKEN_S]
    base, now_s, end_s = base_s(rules, costs, sequences, sequences), times[NOW_S], times[BUSY_UNTIL_S]
    somebody_done = False
    while now_s < until_s and not somebody_done and due_needs(rules, ints) <= ints[FREE]:
        serve_decodes(rules, ints, blocks, ids)
        now_s = end_s
        end_s += base + per_token_s * ints[CONTEXT]
        if not asynchronous:
            now_s = end_s
        somebody_done = ints[due_at(ints, ints[TICK])] != 0
    times[NOW_S] = now_s
    times[BUSY_UNTIL_S] = end_s


@inlined
def _coast_by_count(
    rules: Ints, costs: Floats, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts, until_s: float
) -> None:
    """The same where it is enough to know how many blocks were taken, with everything that changes at hand."""
    sequences, asynchronous, per_token_s = ints[DECODING], rules[ASYNC], costs[PER_KV_TOKEN_S]
    base, now_s, end_s = base_s(rules, costs, sequences, sequences), times[NOW_S], times[BUSY_UNTIL_S]
    free, blank, kv_tokens, groups = ints[FREE], ints[BLANK], ints[CONTEXT], rules[GROUPS]
    classes, last = ints[AT_CLASSES] + CLASS_SIZE, (rules[rules[AT_GROUPS] + BLOCK_TOKENS] - 1) * CLASS_FIELDS
    due_class, due, ticks = ints[DUE_CLASS] * CLASS_FIELDS, due_at(ints, ints[TICK]), 0
    round_end = ints[AT_DUE] + ints[DUE_SPAN]
    somebody_done = False
    while now_s < until_s and not somebody_done:
        needed = ints[classes + due_class] * groups
        if needed > free:
            break
        free -= needed
        blank -= needed
        if blank < 0 and rules[TRACKS_BLOCKS]:
            forget_blocks(ints, blocks, ids, -blank)
            blank = 0
        due_class = due_class - CLASS_FIELDS if due_class else last
        kv_tokens += sequences
        now_s = end_s
        end_s += base + per_token_s * kv_tokens
        if not asynchronous:
            now_s = end_s
        ticks += 1
        due += 1
        if due == round_end:
            due = ints[AT_DUE]
        somebody_done = ints[due] != 0
    ints[FREE] = free
    ints[BLANK] = blank
    ints[CONTEXT] = kv_tokens
    ints[DUE_CLASS] = due_class // CLASS_FIELDS
    ints[TICK] += ticks
    times[NOW_S] = now_s
    times[BUSY_UNTIL_S] = end_s
