"""A step's requests, and what the step costs."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import (
    ADMITTED,
    ASYNC,
    AT_WINDOWS,
    BARREN_STEPS,
    BATCH_HEAD,
    BEFORE,
    COMPUTED,
    COSTS_HEAD,
    DRAFTED,
    DRAFTS,
    DRAFTS_EACH,
    ENTRY_FIELDS,
    FIXED_S,
    HAS_CHUNK,
    HEAD_BLOCKED,
    IN_CHUNK,
    IN_FLIGHT,
    KNOWN,
    OF_PROMPT,
    PER_AREA_S,
    PER_KV_TOKEN_S,
    PER_SEQUENCE_S,
    PLACEHOLDERS,
    PREEMPTED,
    PREFILL_STEP_S,
    PROMPTS_READ_CACHE,
    REQUEST,
    SAMPLES,
    SIZE,
    STEPS_TAKEN,
    TOKENS,
    WHOSE,
    WINDOWS,
)
from bide.simulate.scheduler.kernel.jit import Floats, Ints, compiled, inlined


@inlined
def entry_at(batch: int, place: int) -> int:
    return batch + BATCH_HEAD + place * ENTRY_FIELDS


@inlined
def open_batch(ints: Ints, batch: int) -> None:
    """Start a step with nobody in it."""
    ints[PREEMPTED] = 0
    ints[HEAD_BLOCKED] = 0
    ints[batch + SIZE] = 0
    ints[batch + ADMITTED] = 0
    ints[batch + HAS_CHUNK] = 0


@inlined
def give(rules: Ints, ints: Ints, batch: int, slot: int, tokens: int) -> None:
    """Add a running request to a step. Its tokens count as computed at once; those beyond what it knows are drafts."""
    entry = entry_at(batch, ints[batch + SIZE])
    known, computed, placeholders = ints[slot + KNOWN], ints[slot + COMPUTED], ints[slot + PLACEHOLDERS]
    beyond = computed + tokens - known - placeholders
    drafts = min(max(0, beyond), ints[slot + DRAFTS])
    in_chunk = beyond < 0
    ints[batch + SIZE] += 1
    ints[batch + HAS_CHUNK] |= ints[slot + IN_CHUNK]
    ints[entry + WHOSE] = ints[slot + REQUEST]
    ints[entry + TOKENS] = tokens
    ints[entry + SAMPLES] = not in_chunk
    ints[entry + DRAFTED] = drafts
    ints[entry + OF_PROMPT] = computed < known - 1  # a single token is computed as a decode is
    ints[entry + BEFORE] = computed
    ints[slot + COMPUTED] = computed + tokens
    ints[slot + IN_FLIGHT] += tokens
    ints[slot + IN_CHUNK] = in_chunk
    ints[slot + DRAFTS] = 0
    if rules[ASYNC] and not in_chunk:
        ints[slot + PLACEHOLDERS] = placeholders + 1 + drafts
        ints[slot + DRAFTS] = rules[DRAFTS_EACH]


@inlined
def price(rules: Ints, costs: Floats, ints: Ints, batch: int, others: int, kv_tokens: int) -> float:
    """Seconds that a step takes that has `others` decode beside its batch, who read `kv_tokens`."""
    size, reads_all = ints[batch + SIZE], rules[PROMPTS_READ_CACHE]
    tokens, prompts = others, 0
    area = 0.0
    for entry in range(entry_at(batch, 0), entry_at(batch, size), ENTRY_FIELDS):
        its, before = ints[entry + TOKENS], ints[entry + BEFORE]
        tokens += its
        if ints[entry + OF_PROMPT]:
            prompts += 1
            area += its * before + its * its / 2
        if reads_all or not ints[entry + OF_PROMPT]:
            kv_tokens += before + its
    total_s = base_s(rules, costs, tokens, others + size) + costs[PER_KV_TOKEN_S] * kv_tokens
    for window in range(rules[WINDOWS]):
        within = _within(ints, batch, rules[rules[AT_WINDOWS] + window], reads_all)
        total_s += costs[COSTS_HEAD + window] * within
    if prompts:
        total_s += costs[PER_AREA_S] * area + costs[PREFILL_STEP_S]
    return total_s


@inlined
def note_progress(ints: Ints, batch: int, others: int) -> None:
    """Count the steps in a row that give nobody a token; `others` decode beside the batch."""
    ints[STEPS_TAKEN] += 1
    ints[BARREN_STEPS] += 1
    if others:
        ints[BARREN_STEPS] = 0
        return
    for entry in range(entry_at(batch, 0), entry_at(batch, ints[batch + SIZE]), ENTRY_FIELDS):
        if ints[entry + SAMPLES]:
            ints[BARREN_STEPS] = 0
            return


@inlined
def base_s(rules: Ints, costs: Floats, tokens: int, sequences: int) -> float:
    """The part of a step's time that does not depend on how long its requests are."""
    linear_s = costs[COSTS_HEAD + rules[WINDOWS] + tokens]
    return linear_s + (costs[FIXED_S] + costs[PER_SEQUENCE_S] * sequences)


@compiled
def _within(ints: Ints, batch: int, window: int, reads_all: int) -> int:
    """Cached tokens that a step reads, each request's up to the window."""
    total = 0
    for entry in range(entry_at(batch, 0), entry_at(batch, ints[batch + SIZE]), ENTRY_FIELDS):
        if reads_all or not ints[entry + OF_PROMPT]:
            total += min(window, ints[entry + BEFORE] + ints[entry + TOKENS])
    return total
