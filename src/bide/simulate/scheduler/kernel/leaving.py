"""Slots whose last token comes while cruising."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.decodes import dismiss, due_at, settle_blocks
from bide.simulate.scheduler.kernel.fields import (
    AT_LEAVING,
    COMPUTED,
    FINISH_S,
    FINISH_STEP,
    KNOWN,
    LEAVING,
    LIMIT,
    NEXT_DUE,
    REQUEST,
    TICK,
    TIME_FIELDS,
    TIMES_HEAD,
)
from bide.simulate.scheduler.kernel.jit import Floats, Ints, SmallInts, inlined
from bide.simulate.scheduler.kernel.seats import request_at, vacate


@inlined
def collect_due(rules: Ints, ints: Ints) -> None:
    """Those whose last token comes with the step of this tick decode no longer."""
    at = due_at(ints, ints[TICK])
    slot = ints[at]
    ints[at] = 0
    while slot:
        dismiss(rules, ints, slot)
        ints[ints[AT_LEAVING] + ints[LEAVING]] = slot
        ints[LEAVING] += 1
        slot = ints[slot + NEXT_DUE]


@inlined
def release_leaving(rules: Ints, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts, end_s: float) -> None:
    """Deliver their last tokens, and free what they hold."""
    for at in range(ints[AT_LEAVING], ints[AT_LEAVING] + ints[LEAVING]):
        slot = ints[at]
        request = ints[slot + REQUEST]
        settle_blocks(rules, ints, blocks, ids, slot, ints[slot + COMPUTED], ints[slot + COMPUTED])
        times[TIMES_HEAD + request * TIME_FIELDS + FINISH_S] = end_s
        ints[request_at(ints, request) + FINISH_STEP] = 0
        ints[slot + KNOWN] = ints[slot + LIMIT]
        vacate(rules, ints, blocks, slot)
    ints[LEAVING] = 0
