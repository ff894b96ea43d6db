"""Planning a step: tokens for running requests, in order of admission, then for waiting ones while there is room."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.admit import admit_waiting
from bide.simulate.scheduler.kernel.batch import entry_at, give, open_batch
from bide.simulate.scheduler.kernel.chunks import cut_for_states
from bide.simulate.scheduler.kernel.fields import (
    ADAPTIVE,
    BATCHED_TOKENS,
    BY_PRIORITY,
    COMPUTED,
    DRAFTS,
    ENTRY_FIELDS,
    FIRST_RUNNING,
    FREE,
    IN_CHUNK,
    IN_FLIGHT,
    JUNCTION,
    KNOWN,
    LAST_RUNNING,
    LIMIT,
    LOOKAHEAD,
    MAX_MODEL_LEN,
    NEXT_RUNNING,
    OLD_RELEASE,
    PLACEHOLDERS,
    PREEMPTED,
    PRIORITY,
    PROMPT,
    PROMPTS_ALONE,
    REQUEST,
    RUNNING,
    SIZE,
    STEP,
    THRESHOLD,
    TOKEN_BUDGET,
    TOKENS,
    TRACKS_BLOCKS,
    WHOSE,
)
from bide.simulate.scheduler.kernel.jit import Floats, Ints, SmallInts, compiled, inlined
from bide.simulate.scheduler.kernel.publish import publish
from bide.simulate.scheduler.kernel.seats import preempt, request_at
from bide.simulate.scheduler.kernel.tables import extend, needed_by_running, retire
from bide.simulate.scheduler.kernel.waiting import arrival_s, count_waiting


@compiled
def schedule(rules: Ints, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts, batch: int) -> int:
    """Plan a step into `batch`; returns how many requests are in it."""
    ints[STEP] += 1
    open_batch(ints, batch)
    threshold = prompt_threshold(rules, ints)
    alone = rules[PROMPTS_ALONE]
    budget = _serve_running(rules, ints, blocks, times, ids, batch, threshold, alone)
    if ints[PREEMPTED] == 0:
        admit_waiting(rules, ints, blocks, times, ids, batch, budget, threshold)
    if alone and ints[batch + SIZE] == 0:
        _serve_running(rules, ints, blocks, times, ids, batch, threshold, 0)
    return ints[batch + SIZE]


@inlined
def prompt_threshold(rules: Ints, ints: Ints) -> int:
    """The most tokens that a request gets in a step; 0 for no limit, as for one that is alone."""
    present = ints[RUNNING] + count_waiting(rules, ints)
    if rules[THRESHOLD] == 0 or present <= 1:
        return 0
    return max(rules[THRESHOLD], rules[BATCHED_TOKENS] // present) if rules[ADAPTIVE] else rules[THRESHOLD]


@compiled
def _serve_running(
    rules: Ints,
    ints: Ints,
    blocks: SmallInts,
    times: Floats,
    ids: SmallInts,
    batch: int,
    threshold: int,
    only_prompts: int,
) -> int:
    """Tokens for running requests; returns what is left of the budget."""
    budget, slot = rules[TOKEN_BUDGET], ints[FIRST_RUNNING]
    while slot and budget > 0:
        passed_over = only_prompts and not ints[slot + IN_CHUNK]
        tokens = 0 if passed_over else wanted(rules, ints, slot, budget, threshold)
        following = ints[slot + NEXT_RUNNING]
        if tokens == 0:
            slot = following
            continue
        fits = continue_with(rules, ints, blocks, ids, slot, tokens)
        while not fits:
            victim, following = _victim(rules, ints, times), ints[slot + NEXT_RUNNING]
            budget += _take_back(ints, batch, victim)
            preempt(rules, ints, blocks, times, victim)
            if victim == slot:
                break
            fits = continue_with(rules, ints, blocks, ids, slot, tokens)
        if fits:
            give(rules, ints, batch, slot, tokens)
            budget -= tokens
            following = ints[slot + NEXT_RUNNING]
        elif not rules[BY_PRIORITY] or rules[OLD_RELEASE]:
            break
        slot = following
    return budget


@inlined
def wanted(rules: Ints, ints: Ints, slot: int, budget: int, threshold: int) -> int:
    """Tokens that a running request can use and may have."""
    computed, placeholders = ints[slot + COMPUTED], ints[slot + PLACEHOLDERS]
    if placeholders and computed + 2 - placeholders >= ints[slot + LIMIT]:
        return 0  # the step under way brings its last token
    tokens = ints[slot + KNOWN] + ints[slot + DRAFTS] + placeholders - computed
    if 0 < threshold < tokens:
        tokens = threshold
    tokens = min(tokens, budget, rules[MAX_MODEL_LEN] - computed - 1)
    return cut_for_states(rules, ints[slot + PROMPT], ints[slot + KNOWN], ints[slot + JUNCTION], computed, tokens)


@compiled
def continue_with(rules: Ints, ints: Ints, blocks: SmallInts, ids: SmallInts, slot: int, tokens: int) -> bool:
    """Slots for more tokens of a running request; False where the pool is short."""
    computed = ints[slot + COMPUTED]
    done = computed + tokens
    slots = min(done + rules[LOOKAHEAD], rules[MAX_MODEL_LEN])
    retire(rules, ints, blocks, slot, max(0, computed - ints[slot + IN_FLIGHT]))
    needed = needed_by_running(rules, ints, slot, slots, done)
    if needed > ints[FREE]:
        return False
    if needed or rules[TRACKS_BLOCKS]:
        extend(rules, ints, blocks, ids, slot, slots, done)
    if rules[TRACKS_BLOCKS]:
        publish(rules, ints, blocks, ids, slot, min(done, ints[slot + KNOWN]))
    return True


@compiled
def _victim(rules: Ints, ints: Ints, times: Floats) -> int:
    """The slot to push out: the last, or the first among those of lowest priority."""
    if not rules[BY_PRIORITY]:
        return ints[LAST_RUNNING]
    worst = ints[FIRST_RUNNING]
    slot = ints[worst + NEXT_RUNNING]
    while slot:
        one, other = ints[slot + REQUEST], ints[worst + REQUEST]
        mine, its = ints[request_at(ints, one) + PRIORITY], ints[request_at(ints, other) + PRIORITY]
        if mine > its or (mine == its and arrival_s(times, one) > arrival_s(times, other)):
            worst = slot
        slot = ints[slot + NEXT_RUNNING]
    return worst


@compiled
def _take_back(ints: Ints, batch: int, slot: int) -> int:
    """The tokens that a request had got in this step, if any; it gets none."""
    end = entry_at(batch, ints[batch + SIZE])
    for entry in range(entry_at(batch, 0), end, ENTRY_FIELDS):
        if ints[entry + WHOSE] == ints[slot + REQUEST]:
            tokens = ints[entry + TOKENS]
            for at in range(entry, end - ENTRY_FIELDS):
                ints[at] = ints[at + ENTRY_FIELDS]
            ints[batch + SIZE] -= 1
            ints[slot + IN_FLIGHT] -= tokens
            return tokens
    return 0
