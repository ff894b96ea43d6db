"""One replica, simulated by the kernel: columns in, columns out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bide.simulate.scheduler.abort import abort
from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.kernel import fields as at
from bide.simulate.scheduler.layout import Memory, new_memory
from bide.simulate.scheduler.outcome import Outcome, Samples, StepLog
from bide.simulate.scheduler.requests import Requests

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_FOREVER_S = float("inf")
_FIRST_LOG_STEPS = 4096
_MOST_SAMPLES = 4096


def simulate(
    config: SchedulerConfig,
    cost: StepCost,
    requests: Requests,
    *,
    record_steps: bool = False,
    sample_every_s: float | None = None,
    aborts: Sequence[tuple[float, int]] = (),
) -> Outcome:
    """Serve all requests to the end; those that can never fit stay unfinished.

    `record_steps` keeps every decision, and then takes every step by itself. `sample_every_s` notes
    the replica's state about that often. `aborts` are (seconds, request): when clients leave that have
    no answer by then. Raises ValueError for a request that the pool or the model cannot hold, even
    alone, and for one that is aborted before it arrives.
    """
    import numpy as np

    from bide.simulate.scheduler.loading import entry

    advance = entry()
    config.check_lengths(requests.prompt_tokens, requests.output_tokens)
    if any(time_s < requests.arrival_s[request] for time_s, request in aborts):
        raise ValueError("aborts: none before the request arrives")
    memory = new_memory(config, cost, requests, record_steps=record_steps, sample_every_s=sample_every_s)
    steps = np.zeros((_FIRST_LOG_STEPS if record_steps else 0, at.STEP_FIELDS), dtype=np.int64)
    spans_s = np.zeros((len(steps), 2))
    entries = np.zeros((2 * int(memory.ints[at.MOST_RUNNING]) + 8 * len(steps), at.LOG_ENTRY_FIELDS), dtype=np.int64)
    samples = np.zeros((_MOST_SAMPLES if sample_every_s else 0, at.SAMPLE_FIELDS))
    for until_s, leaving in [*sorted(aborts), (_FOREVER_S, None)]:
        while advance(*memory.arrays, steps, spans_s, entries, samples, until_s) == at.LOG_FULL:
            steps, spans_s, entries = _doubled(steps), _doubled(spans_s), _doubled(entries)
        if leaving is not None:
            abort(memory, leaving, until_s)
    recorded = int(memory.ints[at.RECORDED])
    log = StepLog(steps[:recorded], spans_s[:recorded], entries, memory.column(at.FINISH_STEP).copy())
    return Outcome(
        memory.times_s(at.FIRST_SCHEDULED_S).copy(),
        memory.times_s(at.FIRST_TOKEN_S).copy(),
        memory.times_s(at.FINISH_S).copy(),
        memory.column(at.TIMES_PREEMPTED).copy(),
        memory.column(at.CACHED).copy(),
        _known(memory) - memory.column(at.ITS_PROMPT),
        steps=int(memory.ints[at.STEPS_TAKEN]),
        planned_steps=int(memory.ints[at.SINGLE_STEPS]),
        samples=Samples.of(samples[: memory.ints[at.SAMPLED]], config.num_blocks - 1) if sample_every_s else None,
        log=log if record_steps else None,
    )


def _known(memory: Memory) -> Ints:
    """Tokens of each request at the end, prompt and output; those that block each other for ever still have slots."""
    known, slots = memory.column(at.KNOWN_SO_FAR).copy(), memory.column(at.SLOT)
    seated = slots != at.NOT_YET
    known[seated] = memory.ints[slots[seated] + at.KNOWN]
    return known


def _doubled(rows: Any) -> Any:
    """Twice as many rows, the new ones empty."""
    import numpy as np

    return np.concatenate((rows, np.zeros_like(rows)))
