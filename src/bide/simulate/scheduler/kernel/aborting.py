"""Requests whose client has left."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.boarding import disembark
from bide.simulate.scheduler.kernel.fields import ABORTED, CRUISING, FINISH_STEP, HEAD_BLOCKED, NOT_YET, SLOT, TO_ABORT
from bide.simulate.scheduler.kernel.jit import Floats, Ints, SmallInts, compiled
from bide.simulate.scheduler.kernel.seats import request_at, vacate
from bide.simulate.scheduler.kernel.waiting import leave, take_arrivals


@compiled
def abort_asked(rules: Ints, ints: Ints, blocks: SmallInts, times: Floats, ids: SmallInts) -> None:
    """Take the request out that the caller named, if any: between two steps, and its token under way is lost."""
    if ints[TO_ABORT] == 0:
        return
    take_arrivals(rules, ints, times)
    if ints[CRUISING]:
        disembark(rules, ints, blocks, times, ids)
    request = ints[TO_ABORT] - 1
    mine = request_at(ints, request)
    ints[mine + FINISH_STEP] = ABORTED
    if ints[mine + SLOT] != NOT_YET:
        vacate(rules, ints, blocks, ints[mine + SLOT])
    else:
        leave(rules, ints, times, request)
    ints[HEAD_BLOCKED] = 0
    ints[TO_ABORT] = 0
