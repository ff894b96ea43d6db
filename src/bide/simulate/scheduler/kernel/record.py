"""Steps as they were decided, and samples of the replica's state over time."""

from __future__ import annotations

from math import inf

from bide.simulate.scheduler.kernel.batch import entry_at
from bide.simulate.scheduler.kernel.fields import (
    ADMITTED,
    AT_PREEMPTED,
    BEFORE,
    END_AT,
    ENTRIES,
    ENTRY_BEFORE,
    ENTRY_FIELDS,
    ENTRY_REQUEST,
    ENTRY_START,
    ENTRY_TOKENS,
    FREE,
    HIT_TOKENS,
    LOOKED_UP_TOKENS,
    MOST_RUNNING,
    NEXT_SAMPLE_S,
    NOW_S,
    PREEMPTED,
    PREEMPTIONS,
    RECORDED,
    RUNNING,
    SAMPLE_EVERY_S,
    SAMPLE_FREE_BLOCKS,
    SAMPLE_HIT_TOKENS,
    SAMPLE_LOOKED_UP_TOKENS,
    SAMPLE_PREEMPTIONS,
    SAMPLE_RUNNING,
    SAMPLE_TIME_S,
    SAMPLE_WAITING,
    SAMPLED,
    SIZE,
    STEP_ADMITTED,
    STEP_FREE,
    STEP_PREEMPTED,
    STEP_RUNNING,
    STEP_SIZE,
    STEP_WAITING,
    TOKENS,
    WHOSE,
)
from bide.simulate.scheduler.kernel.jit import Floats, Ints, Rows, TimeRows, compiled
from bide.simulate.scheduler.kernel.waiting import count_waiting


@compiled
def has_room(ints: Ints, steps: Rows, entries: Rows) -> bool:
    """Whether the log can take any step."""
    return ints[RECORDED] < len(steps) and ints[ENTRIES] + 2 * ints[MOST_RUNNING] <= len(entries)


@compiled
def record(rules: Ints, ints: Ints, times: Floats, steps: Rows, spans_s: TimeRows, entries: Rows, batch: int) -> None:
    """Note a step that has just been planned and priced."""
    number, place = ints[RECORDED], ints[ENTRIES]
    ints[RECORDED] += 1
    spans_s[number, 0] = times[NOW_S]
    spans_s[number, 1] = times[ints[batch + END_AT]]
    steps[number, ENTRY_START] = place
    steps[number, STEP_SIZE] = ints[batch + SIZE]
    steps[number, STEP_ADMITTED] = ints[batch + ADMITTED]
    steps[number, STEP_PREEMPTED] = ints[PREEMPTED]
    steps[number, STEP_RUNNING] = ints[RUNNING]
    steps[number, STEP_WAITING] = count_waiting(rules, ints)
    steps[number, STEP_FREE] = ints[FREE]
    for entry in range(entry_at(batch, 0), entry_at(batch, ints[batch + SIZE]), ENTRY_FIELDS):
        entries[place, ENTRY_REQUEST] = ints[entry + WHOSE]
        entries[place, ENTRY_TOKENS] = ints[entry + TOKENS]
        entries[place, ENTRY_BEFORE] = ints[entry + BEFORE]
        place += 1
    for at in range(ints[AT_PREEMPTED], ints[AT_PREEMPTED] + ints[PREEMPTED]):
        entries[place, ENTRY_REQUEST] = ints[at]
        place += 1
    ints[ENTRIES] = place


@compiled
def sample(rules: Ints, ints: Ints, times: Floats, samples: TimeRows) -> None:
    """Note the state now; where the samples are full, half of them go first."""
    if ints[SAMPLED] == len(samples):
        _thin_out(ints, times, samples)
    place = ints[SAMPLED]
    ints[SAMPLED] += 1
    samples[place, SAMPLE_TIME_S] = times[NOW_S]
    samples[place, SAMPLE_RUNNING] = ints[RUNNING]
    samples[place, SAMPLE_WAITING] = count_waiting(rules, ints)
    samples[place, SAMPLE_FREE_BLOCKS] = ints[FREE]
    samples[place, SAMPLE_PREEMPTIONS] = ints[PREEMPTIONS]
    samples[place, SAMPLE_HIT_TOKENS] = ints[HIT_TOKENS]
    samples[place, SAMPLE_LOOKED_UP_TOKENS] = ints[LOOKED_UP_TOKENS]
    times[NEXT_SAMPLE_S] = times[NOW_S] + times[SAMPLE_EVERY_S]


@compiled
def _thin_out(ints: Ints, times: Floats, samples: TimeRows) -> None:
    """Keep the states at evenly spaced times: every second sample might be one of an idle engine."""
    rows, start_s = len(samples), samples[0, SAMPLE_TIME_S]
    every_s = 2 * max(times[SAMPLE_EVERY_S], (samples[rows - 1, SAMPLE_TIME_S] - start_s) / rows)
    kept, point = 0, -1
    for place in range(rows):
        point_after = int((samples[place + 1, SAMPLE_TIME_S] - start_s) / every_s) if place + 1 < rows else 2 * rows
        if point_after > point:
            for field in range(samples.shape[1]):
                samples[kept, field] = samples[place, field]
            kept += 1
        point = point_after
    ints[SAMPLED] = kept
    times[SAMPLE_EVERY_S] = every_s


@compiled
def sample_rest(rules: Ints, ints: Ints, times: Floats, samples: TimeRows, until_s: float) -> None:
    """Nothing happens until then: note that, if a sample would be due, and the next one as soon as something does."""
    if until_s <= times[NEXT_SAMPLE_S]:
        return
    if ints[SAMPLED] == 0 or samples[ints[SAMPLED] - 1, SAMPLE_TIME_S] < times[NOW_S]:
        sample(rules, ints, times, samples)
    times[NEXT_SAMPLE_S] = until_s if until_s < inf else times[NOW_S]
