"""What a step brings once it has run: a token for each request that samples, and the end of some."""

from __future__ import annotations

import numpy as np

from bide.simulate.scheduler.kernel.batch import entry_at
from bide.simulate.scheduler.kernel.fields import (
    ASYNC,
    COMPUTED,
    DRAFT_ACCEPTANCE,
    DRAFTED,
    DRAFTS,
    DRAFTS_EACH,
    END_AT,
    ENTRY_FIELDS,
    FINISH_S,
    FINISH_STEP,
    FIRST_TOKEN_S,
    IN_FLIGHT,
    ITS_LIMIT,
    ITS_PROMPT,
    KNOWN,
    KNOWN_SO_FAR,
    LIMIT,
    NOT_YET,
    PLACEHOLDERS,
    PROMPT,
    RECORD,
    SAMPLES,
    SEED,
    SIZE,
    SLOT,
    TIME_FIELDS,
    TIMES_HEAD,
    TOKENS,
    TRACKS_BLOCKS,
    WHOSE,
)
from bide.simulate.scheduler.kernel.jit import Floats, Ints, SmallInts, compiled, inlined
from bide.simulate.scheduler.kernel.publish import publish
from bide.simulate.scheduler.kernel.seats import request_at, vacate
from bide.simulate.scheduler.kernel.waiting import remove


@compiled
def update(
    rules: Ints, costs: Floats, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts, batch: int
) -> None:
    """Deliver a step's tokens, in batch order; who finishes frees its blocks at once."""
    for entry in range(entry_at(batch, 0), entry_at(batch, ints[batch + SIZE]), ENTRY_FIELDS):
        request = ints[entry + WHOSE]
        mine = request_at(ints, request)
        if ints[mine + FINISH_STEP] != NOT_YET:
            continue  # accepted drafts ended it while this step was under way
        slot = ints[mine + SLOT]
        if slot != NOT_YET:
            ints[slot + IN_FLIGHT] -= ints[entry + TOKENS]
        if not ints[entry + SAMPLES]:
            continue
        if slot == NOT_YET:
            _deliver_late(rules, costs, ints, times, batch, request, ints[entry + DRAFTED])
            continue
        _deliver(rules, costs, ints, blocks, times, ids, batch, slot, request, ints[entry + DRAFTED])
        if ints[slot + KNOWN] >= ints[slot + LIMIT]:
            finish(ints, times, batch, request)
            vacate(rules, ints, blocks, slot)


@compiled
def _deliver(
    rules: Ints,
    costs: Floats,
    ints: Ints,
    blocks: SmallInts,
    times: Floats,
    ids: SmallInts,
    batch: int,
    slot: int,
    request: int,
    drafts: int,
) -> None:
    """A token, and the accepted drafts, for a running request."""
    known = ints[slot + KNOWN]
    accepted = accepted_drafts(rules, costs, request, known - ints[slot + PROMPT], drafts) if drafts else 0
    delivered = min(1 + accepted, ints[slot + LIMIT] - known)
    if known == ints[slot + PROMPT]:
        note_first_token(times, request, times[ints[batch + END_AT]])
    ints[slot + KNOWN] = known + delivered
    ints[slot + COMPUTED] -= drafts - accepted
    if not rules[ASYNC]:
        ints[slot + DRAFTS] = rules[DRAFTS_EACH]
        return
    ints[slot + PLACEHOLDERS] -= drafts - accepted + delivered
    if rules[TRACKS_BLOCKS]:
        settled = ints[slot + COMPUTED] - ints[slot + PLACEHOLDERS]
        publish(rules, ints, blocks, ids, slot, settled)


@compiled
def _deliver_late(rules: Ints, costs: Floats, ints: Ints, times: Floats, batch: int, request: int, drafts: int) -> None:
    """The same for one that was preempted while the step ran; it keeps the tokens, to compute them again."""
    mine = request_at(ints, request)
    known, prompt = ints[mine + KNOWN_SO_FAR], ints[mine + ITS_PROMPT]
    accepted = accepted_drafts(rules, costs, request, known - prompt, drafts) if drafts else 0
    if known == prompt:
        note_first_token(times, request, times[ints[batch + END_AT]])
    ints[mine + KNOWN_SO_FAR] = min(known + 1 + accepted, ints[mine + ITS_LIMIT])
    if ints[mine + KNOWN_SO_FAR] >= ints[mine + ITS_LIMIT]:
        finish(ints, times, batch, request)
        remove(rules, ints, times, request)


@inlined
def note_first_token(times: Floats, request: int, end_s: float) -> None:
    times[TIMES_HEAD + request * TIME_FIELDS + FIRST_TOKEN_S] = end_s


@compiled
def finish(ints: Ints, times: Floats, batch: int, request: int) -> None:
    """Note when a request ended, and with which step."""
    times[TIMES_HEAD + request * TIME_FIELDS + FINISH_S] = times[ints[batch + END_AT]]
    ints[request_at(ints, request) + FINISH_STEP] = ints[batch + RECORD]


@compiled
def accepted_drafts(rules: Ints, costs: Floats, request: int, outputs: int, drafts: int) -> int:
    """Drafts accepted before the first that is refused."""
    stream = _mixed(_mixed(np.uint64(rules[SEED])) ^ np.uint64(request))
    for draft in range(drafts):
        bits = _mixed(stream ^ np.uint64(outputs * 64 + draft)) >> np.uint64(11)
        if np.float64(bits) / 9007199254740992.0 >= costs[DRAFT_ACCEPTANCE]:
            return draft
    return drafts


@compiled
def _mixed(bits: np.uint64) -> np.uint64:
    """SplitMix64's output function."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
