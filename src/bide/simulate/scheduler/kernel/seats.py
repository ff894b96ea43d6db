"""Slots of running requests: taken at admission, given up at the end or by a preemption."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import (
    ADMISSION,
    ADMISSIONS,
    AT_PREEMPTED,
    AT_REQUESTS,
    AT_SPARE,
    BY_RUN,
    COMPUTED,
    DECODES,
    DRAFTS,
    FIRST_RUNNING,
    HEAD_BLOCKED,
    IN_CHUNK,
    IN_FLIGHT,
    ITS_LIMIT,
    ITS_PROMPT,
    JUNCTION,
    KNOWN,
    KNOWN_SO_FAR,
    LAST_RUNNING,
    LIMIT,
    NEXT_RUNNING,
    NOBODY,
    NOT_YET,
    PLACEHOLDERS,
    PREEMPTED,
    PREEMPTIONS,
    PREVIOUS_RUNNING,
    PROMPT,
    REQUEST,
    REQUEST_FIELDS,
    RESERVED_OUTPUT,
    RUN,
    RUNNING,
    SET_ASIDE,
    SLOT,
    SPARE_SLOTS,
    STALE,
    TIMES_PREEMPTED,
    TRACKS_BLOCKS,
)
from bide.simulate.scheduler.kernel.jit import Floats, Ints, SmallInts, compiled, inlined
from bide.simulate.scheduler.kernel.runs import list_run
from bide.simulate.scheduler.kernel.tables import part_at, release, set_aside
from bide.simulate.scheduler.kernel.waiting import put_back


@inlined
def request_at(ints: Ints, request: int) -> int:
    return ints[AT_REQUESTS] + request * REQUEST_FIELDS


@inlined
def seat(rules: Ints, ints: Ints, request: int, computed: int, drafts: int, junction: int) -> int:
    """The slot of a request that joins the running ones at their end."""
    ints[SPARE_SLOTS] -= 1
    slot, mine = ints[ints[AT_SPARE] + ints[SPARE_SLOTS]], request_at(ints, request)
    _append(ints, slot)
    ints[mine + SLOT] = slot
    ints[slot + REQUEST] = request
    ints[slot + COMPUTED] = computed
    ints[slot + KNOWN] = ints[mine + KNOWN_SO_FAR]
    ints[slot + PLACEHOLDERS] = 0
    ints[slot + IN_FLIGHT] = 0
    ints[slot + DRAFTS] = drafts
    ints[slot + IN_CHUNK] = 0
    ints[slot + JUNCTION] = junction
    ints[slot + PROMPT] = ints[mine + ITS_PROMPT]
    ints[slot + LIMIT] = ints[mine + ITS_LIMIT]
    ints[slot + DECODES] = 0
    if rules[RESERVED_OUTPUT]:
        ints[SET_ASIDE] += set_aside(rules, ints[slot + PROMPT])
    return slot


@inlined
def _append(ints: Ints, slot: int) -> None:
    """Put a slot behind the other running ones."""
    last = ints[LAST_RUNNING]
    ints[slot + PREVIOUS_RUNNING] = last
    ints[slot + NEXT_RUNNING] = 0
    ints[(last + NEXT_RUNNING) if last else FIRST_RUNNING] = slot
    ints[LAST_RUNNING] = slot
    ints[RUNNING] += 1
    ints[slot + ADMISSION] = ints[ADMISSIONS]
    ints[ADMISSIONS] += 1


@inlined
def _unlink(ints: Ints, slot: int) -> None:
    """Take a slot out of the running ones."""
    before, after = ints[slot + PREVIOUS_RUNNING], ints[slot + NEXT_RUNNING]
    ints[(before + NEXT_RUNNING) if before else FIRST_RUNNING] = after
    ints[(after + PREVIOUS_RUNNING) if after else LAST_RUNNING] = before
    ints[RUNNING] -= 1


@compiled
def preempt(rules: Ints, ints: Ints, blocks: SmallInts, times: Floats, slot: int) -> None:
    """Push a running request out; it keeps its outputs and computes everything again."""
    request = ints[slot + REQUEST]
    ints[request_at(ints, request) + STALE] = ints[slot + IN_FLIGHT]
    ints[request_at(ints, request) + TIMES_PREEMPTED] += 1
    if rules[TRACKS_BLOCKS] == BY_RUN:
        list_run(ints, blocks, ints[part_at(slot, 0) + RUN])
    vacate(rules, ints, blocks, slot)
    put_back(rules, ints, times, request)
    ints[ints[AT_PREEMPTED] + ints[PREEMPTED]] = request
    ints[PREEMPTED] += 1
    ints[PREEMPTIONS] += 1


@compiled
def vacate(rules: Ints, ints: Ints, blocks: SmallInts, slot: int) -> None:
    """Give up a slot and its blocks."""
    mine = request_at(ints, ints[slot + REQUEST])
    ints[mine + KNOWN_SO_FAR] = ints[slot + KNOWN]
    ints[mine + SLOT] = NOT_YET
    release(rules, ints, blocks, slot)
    _unlink(ints, slot)
    if rules[RESERVED_OUTPUT]:
        ints[SET_ASIDE] -= set_aside(rules, ints[slot + PROMPT])
    ints[slot + REQUEST] = NOBODY
    ints[ints[AT_SPARE] + ints[SPARE_SLOTS]] = slot
    ints[SPARE_SLOTS] += 1
    ints[HEAD_BLOCKED] = 0
