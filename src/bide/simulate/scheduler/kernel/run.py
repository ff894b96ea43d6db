"""The clock: arrivals, steps one after another or two at a time. The kernel's entry."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from bide.simulate.scheduler.kernel.aborting import abort_asked
from bide.simulate.scheduler.kernel.batch import note_progress, price
from bide.simulate.scheduler.kernel.boarding import board, disembark
from bide.simulate.scheduler.kernel.cruise import cruise
from bide.simulate.scheduler.kernel.fields import (
    ARRIVED,
    ASYNC,
    BARREN_STEPS,
    BUSY_UNTIL_S,
    CRUISING,
    DONE,
    END_AT,
    LOG_FULL,
    NEWEST,
    NEXT_SAMPLE_S,
    NOW_S,
    OLDEST,
    PATIENCE_STEPS,
    PAUSED,
    PREEMPTED,
    RECORD,
    RECORDED,
    RECORDS_STEPS,
    REQUESTS,
    SINGLE_STEPS,
    UNDER_WAY,
)
from bide.simulate.scheduler.kernel.jit import (
    Floats,
    Ints,
    Rows,
    SmallInts,
    TimeRows,
    compiled,
    compiled_entry,
    source_stamp,
)
from bide.simulate.scheduler.kernel.record import has_room, record, sample, sample_rest
from bide.simulate.scheduler.kernel.schedule import schedule
from bide.simulate.scheduler.kernel.update import update
from bide.simulate.scheduler.kernel.waiting import arrival_s, take_arrivals

Advance = Callable[[Ints, Floats, Ints, SmallInts, Floats, SmallInts, Rows, TimeRows, Rows, TimeRows, float], int]


def _entry(stamp: int) -> Advance:
    def advance(
        rules: Ints,
        costs: Floats,
        ints: Ints,
        blocks: SmallInts,
        times: Floats,
        ids: SmallInts,
        steps: Rows,
        spans_s: TimeRows,
        entries: Rows,
        samples: TimeRows,
        until_s: float,
    ) -> int:
        """Run until nothing more can happen (DONE) or a step would be planned at or after `until_s` (PAUSED).

        LOG_FULL: call again with longer `steps`, `spans_s` and `entries`. Requests that are not finished
        when it is DONE never will be: they do not fit, or push each other out for ever.
        """
        abort_asked(rules, ints, blocks, times, ids)
        while stamp >= 0 and times[NOW_S] < until_s:
            if ints[BARREN_STEPS] > ints[PATIENCE_STEPS]:
                return DONE
            take_arrivals(rules, ints, times)
            if times[NOW_S] > times[NEXT_SAMPLE_S]:
                sample(rules, ints, times, samples)
            if ints[CRUISING] or board(rules, ints, times):
                if cruise(rules, costs, ints, blocks, times, ids, until_s):
                    continue
                disembark(rules, ints, blocks, times, ids)
            if rules[RECORDS_STEPS] and not has_room(ints, steps, entries):
                return LOG_FULL
            batch = ints[NEWEST] if ints[UNDER_WAY] else ints[OLDEST]
            if schedule(rules, ints, blocks, times, ids, batch):
                _start(rules, costs, ints, times, batch)
                if rules[RECORDS_STEPS]:
                    record(rules, ints, times, steps, spans_s, entries, batch)
                if ints[UNDER_WAY] <= rules[ASYNC]:
                    continue
            if ints[UNDER_WAY]:
                batch = ints[OLDEST]
                times[NOW_S] = max(times[NOW_S], times[ints[batch + END_AT]])
                update(rules, costs, ints, blocks, times, ids, batch)
                ints[UNDER_WAY] -= 1
                ints[OLDEST] = ints[NEWEST]
                ints[NEWEST] = batch
            elif ints[PREEMPTED] == 0:
                over = ints[ARRIVED] == ints[REQUESTS]
                next_s = inf if over else arrival_s(times, ints[ARRIVED])
                sample_rest(rules, ints, times, samples, next_s)
                if over:
                    return DONE
                times[NOW_S] = next_s
        return PAUSED

    return compiled_entry(advance)


@compiled
def _start(rules: Ints, costs: Floats, ints: Ints, times: Floats, batch: int) -> None:
    """A step runs as soon as the one before it is done."""
    end_s = max(times[NOW_S], times[BUSY_UNTIL_S]) + price(rules, costs, ints, batch, 0, 0)
    times[BUSY_UNTIL_S] = end_s
    times[ints[batch + END_AT]] = end_s
    ints[batch + RECORD] = ints[RECORDED]
    ints[UNDER_WAY] += 1
    ints[SINGLE_STEPS] += 1
    note_progress(ints, batch, 0)


advance = _entry(source_stamp())
