"""What a simulated replica did: a row for each request, and a record of each step where they were kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.records import RequestTable
from bide.simulate.scheduler.kernel import fields
from bide.simulate.scheduler.requests import Requests

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step: requests by index, in the order of the batch. Counts are taken after it was scheduled."""

    start_s: float
    """When it was scheduled; with async scheduling it may run later."""
    end_s: float
    tokens: list[tuple[int, int]]
    admitted: list[int]
    hits: list[tuple[int, int]]
    """Tokens that an admitted request need not compute, found or sent, where there are any."""
    preempted: list[int]
    finished: list[int]
    running: int
    waiting: int
    free_blocks: int


@dataclass(frozen=True, slots=True, eq=False)
class StepLog:
    """The kernel's record of all steps."""

    steps: Ints
    spans_s: Floats
    entries: Ints
    finish_step: Ints
    """The step that ended each request; -1 for none."""

    def records(self) -> Iterator[StepRecord]:
        """Step by step."""
        for number in range(len(self.steps)):
            yield self._record(number)

    def _record(self, number: int) -> StepRecord:
        row = self.steps[number].tolist()
        start, size = row[fields.ENTRY_START], row[fields.STEP_SIZE]
        batch = self.entries[start : start + size].tolist()
        pushed_out = self.entries[start + size : start + size + row[fields.STEP_PREEMPTED]]
        joined = batch[size - row[fields.STEP_ADMITTED] :]
        return StepRecord(
            start_s=float(self.spans_s[number, 0]),
            end_s=float(self.spans_s[number, 1]),
            tokens=[(entry[fields.ENTRY_REQUEST], entry[fields.ENTRY_TOKENS]) for entry in batch],
            admitted=[entry[fields.ENTRY_REQUEST] for entry in joined],
            hits=[(e[fields.ENTRY_REQUEST], e[fields.ENTRY_BEFORE]) for e in joined if e[fields.ENTRY_BEFORE]],
            preempted=pushed_out[:, fields.ENTRY_REQUEST].tolist(),
            finished=[e[fields.ENTRY_REQUEST] for e in batch if self.finish_step[e[fields.ENTRY_REQUEST]] == number],
            running=row[fields.STEP_RUNNING],
            waiting=row[fields.STEP_WAITING],
            free_blocks=row[fields.STEP_FREE],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """The replica's state over time, at the starts of steps. The last four only grow."""

    time_s: Floats
    running: Ints
    waiting: Ints
    used_blocks: Ints
    """Blocks that a request holds, of `usable_blocks`."""
    preemptions: Ints
    hit_tokens: Ints
    looked_up_tokens: Ints
    """Tokens of admitted requests; `hit_tokens` of them were cached."""
    usable_blocks: int

    @classmethod
    def of(cls, rows: Floats, usable_blocks: int) -> Samples:
        import numpy as np

        columns = np.rint(rows).astype(np.int64)
        return cls(
            rows[:, fields.SAMPLE_TIME_S].copy(),
            columns[:, fields.SAMPLE_RUNNING],
            columns[:, fields.SAMPLE_WAITING],
            usable_blocks - columns[:, fields.SAMPLE_FREE_BLOCKS],
            columns[:, fields.SAMPLE_PREEMPTIONS],
            columns[:, fields.SAMPLE_HIT_TOKENS],
            columns[:, fields.SAMPLE_LOOKED_UP_TOKENS],
            usable_blocks,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Columns by request, in order of arrival. Times are seconds, NaN where a thing did not happen."""

    first_scheduled_s: Floats
    first_token_s: Floats
    finish_s: Floats
    preemptions: Ints
    cached_tokens: Ints
    """Tokens of the prompt that its first admission need not compute, found or sent."""
    output_tokens: Ints
    """Delivered; fewer than asked for where the model's length cut it."""
    steps: int
    planned_steps: int
    """Steps of which every request was looked at; the kernel advances the others together."""
    samples: Samples | None = None
    log: StepLog | None = None

    def table(self, requests: Requests, outside_s: float = 0.0, replica: int = 0) -> RequestTable:
        """The request table; `outside_s` is what each delivery takes beyond the engine's steps."""
        import numpy as np

        done = np.isfinite(self.finish_s)
        return RequestTable.of(
            requests.arrival_s,
            self.first_token_s + outside_s,
            self.finish_s + outside_s,
            requests.prompt_tokens,
            self.output_tokens,
            cached_tokens=self.cached_tokens,
            preemptions=self.preemptions,
            replica=np.full(len(requests), replica),
            status=np.where(done, "ok", "unfinished"),
        )
