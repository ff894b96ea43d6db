"""A client leaves: its request is taken out of the scheduler, wherever it is."""

from __future__ import annotations

from math import inf, nan

from bide.simulate.scheduler.kernel import fields as at
from bide.simulate.scheduler.layout import Memory


def abort(memory: Memory, request: int, time_s: float) -> bool:
    """Take a running or waiting request out at `time_s`, before the next step; False for one that has finished or left.

    Its blocks are free at once, what of them is findable stays so, and the token that a step under
    way brings is lost, as in vLLM's `finish_requests`. The run must have come to `time_s`. Where nobody
    could go on its clock may stand before that, or at the next arrival, to which it skipped: it is set.
    """
    import numpy as np

    from bide.simulate.scheduler.kernel.run import advance

    if memory.column(at.FINISH_STEP)[request] != at.NOT_YET:
        return False
    memory.times[at.NOW_S] = max(time_s, min(memory.times[at.NOW_S], memory.times[at.BUSY_UNTIL_S]))
    memory.ints[at.TO_ABORT] = request + 1
    steps, entries = (np.zeros((0, fields), dtype=np.int64) for fields in (at.STEP_FIELDS, at.LOG_ENTRY_FIELDS))
    advance(*memory.arrays, steps, np.zeros((0, 2)), entries, np.zeros((0, at.SAMPLE_FIELDS)), -inf)
    if memory.column(at.KNOWN_SO_FAR)[request] == memory.column(at.ITS_PROMPT)[request]:
        memory.times_s(at.FIRST_TOKEN_S)[request] = nan  # noted when the step was planned, and lost
    return True
