"""One replica, simulated by the kernel: columns in, columns out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.kernel import fields as at
from bide.simulate.scheduler.layout import new_memory, with_more_cells
from bide.simulate.scheduler.outcome import Outcome, Samples, StepLog
from bide.simulate.scheduler.requests import Requests

if TYPE_CHECKING:
    pass

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
) -> Outcome:
    """Serve all requests to the end; those that can never fit stay unfinished.

    `record_steps` keeps every decision, and then takes every step by itself. `sample_every_s` notes
    the replica's state about that often. Raises ValueError for a request that the pool or the model
    cannot hold, even alone.
    """
    import numpy as np

    from bide.simulate.scheduler.kernel.run import advance

    config.check_lengths(requests.prompt_tokens, requests.output_tokens)
    memory = new_memory(config, cost, requests, record_steps=record_steps, sample_every_s=sample_every_s)
    steps = np.zeros((_FIRST_LOG_STEPS if record_steps else 0, at.STEP_FIELDS), dtype=np.int64)
    spans_s = np.zeros((len(steps), 2))
    entries = np.zeros((2 * int(memory.ints[at.MOST_RUNNING]) + 8 * len(steps), at.LOG_ENTRY_FIELDS), dtype=np.int64)
    samples = np.zeros((_MOST_SAMPLES if sample_every_s else 0, at.SAMPLE_FIELDS))
    while (status := advance(*memory.arrays, steps, spans_s, entries, samples, _FOREVER_S)) != at.DONE:
        if status == at.LOG_FULL:
            steps, spans_s, entries = _doubled(steps), _doubled(spans_s), _doubled(entries)
        else:
            memory = with_more_cells(memory)
    recorded = int(memory.ints[at.RECORDED])
    log = StepLog(steps[:recorded], spans_s[:recorded], entries, memory.column(at.FINISH_STEP).copy())
    return Outcome(
        memory.times_s(at.FIRST_SCHEDULED_S).copy(),
        memory.times_s(at.FIRST_TOKEN_S).copy(),
        memory.times_s(at.FINISH_S).copy(),
        memory.column(at.TIMES_PREEMPTED).copy(),
        memory.column(at.CACHED).copy(),
        memory.column(at.KNOWN_SO_FAR) - memory.column(at.ITS_PROMPT),
        steps=int(memory.ints[at.STEPS_TAKEN]),
        planned_steps=int(memory.ints[at.SINGLE_STEPS]),
        samples=Samples.of(samples[: memory.ints[at.SAMPLED]], config.num_blocks - 1) if sample_every_s else None,
        log=log if record_steps else None,
    )


def _doubled(rows: Any) -> Any:
    """Twice as many rows, the new ones empty."""
    import numpy as np

    return np.concatenate((rows, np.zeros_like(rows)))
