"""One engine that gets its requests as time goes: the kernel, paused whenever the router wants to look."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bide.simulate.fleet.served import Inbox
from bide.simulate.scheduler.abort import abort
from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.kernel import fields as at
from bide.simulate.scheduler.layout import Memory, new_memory
from bide.simulate.scheduler.outcome import Samples
from bide.simulate.scheduler.requests import Requests

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_FIRST_ROWS = 256
_MOST_SAMPLES = 4096


class Blueprint:
    """What all engines of a fleet begin as, and a row for each request that any of them may get.

    A request may come to an engine up to `attempts` times.
    """

    def __init__(
        self,
        config: SchedulerConfig,
        cost: StepCost,
        requests: Requests,
        attempts: int = 1,
        sample_every_s: float | None = None,
    ) -> None:
        import numpy as np

        self.config = config
        every = _as_often(requests, attempts, config.max_running)
        self.memory = new_memory(config, cost, every, sample_every_s=sample_every_s)
        self.samples = bool(sample_every_s)
        self._begun = np.flatnonzero(self.memory.blocks)
        start = int(self.memory.ints[at.AT_REQUESTS])
        self.head = self.memory.ints[:start]
        self.rows = self.memory.ints[start:].reshape(len(every), at.REQUEST_FIELDS)

    def new_blocks(self) -> NDArray[np.int32]:
        """The pool before the first request. Nearly all of it is zero, and takes no memory until it is used."""
        import numpy as np

        blocks = np.zeros(len(self.memory.blocks), dtype=np.int32)
        blocks[self._begun] = self.memory.blocks[self._begun]
        return blocks


def _as_often(requests: Requests, attempts: int, most_running: int) -> Requests:
    """The requests as often as one engine may get them, where that decides how many run at once."""
    import numpy as np

    rounds = min(attempts, -(-most_running // max(1, len(requests))))
    if rounds <= 1:
        return requests
    starts = requests.content_starts
    shifts = np.repeat(np.arange(rounds) * starts[-1], len(requests))
    return Requests.of(
        np.zeros(rounds * len(requests)),
        np.tile(requests.prompt_tokens, rounds),
        np.tile(requests.output_tokens, rounds),
        content=(
            np.concatenate(([0], np.tile(starts[1:], rounds) + shifts)),
            np.tile(requests.content_ids, rounds),
        ),
        loaded_tokens=np.tile(requests.loaded_tokens, rounds),
    )


class Station:
    """An empty engine of `blueprint`. Requests are numbered in the order in which it gets them."""

    def __init__(self, blueprint: Blueprint) -> None:
        import numpy as np

        self._blueprint = blueprint
        given = blueprint.memory
        rows = np.zeros(_FIRST_ROWS * at.REQUEST_FIELDS, dtype=np.int64)
        times = np.full(at.TIMES_HEAD + _FIRST_ROWS * at.TIME_FIELDS, np.nan)
        times[: at.TIMES_HEAD] = given.times[: at.TIMES_HEAD]
        ints = np.concatenate((blueprint.head, rows))
        ints[at.REQUESTS] = 0
        self._memory = Memory(given.rules, given.costs, ints, blueprint.new_blocks(), times, given.ids)
        self._samples = np.zeros((_MOST_SAMPLES if blueprint.samples else 0, at.SAMPLE_FIELDS))
        self._no_log = (
            np.zeros((0, at.STEP_FIELDS), dtype=np.int64),
            np.zeros((0, 2)),
            np.zeros((0, at.LOG_ENTRY_FIELDS), dtype=np.int64),
        )
        self.sent: list[int] = []
        """Which request of the blueprint each was."""
        self._open: list[int] = []
        """Those that have not ended, as far as `step` has looked."""
        self._left: list[tuple[float, int]] = []
        self._at_rest = True

    @property
    def in_system(self) -> int:
        """Requests that run or wait."""
        return self.waiting + int(self._memory.ints[at.RUNNING])

    @property
    def waiting(self) -> int:
        """Those that wait, and those that were sent since the engine last planned a step."""
        ints = self._memory.ints
        return int(ints[at.QUEUED] + ints[at.REQUESTS] - ints[at.FRESH] - ints[at.GONE])

    @property
    def free_blocks(self) -> int:
        return int(self._memory.ints[at.FREE])

    @property
    def steps(self) -> int:
        return int(self._memory.ints[at.STEPS_TAKEN])

    def send(self, request: int, time_s: float) -> int:
        """A request of the blueprint arrives now; its number here. Times of arrival must not fall."""
        number = len(self.sent)
        if at.TIMES_HEAD + (number + 1) * at.TIME_FIELDS > len(self._memory.times):
            self._grow()
        ints, times = self._memory.ints, self._memory.times
        start = int(ints[at.AT_REQUESTS]) + number * at.REQUEST_FIELDS
        ints[start : start + at.REQUEST_FIELDS] = self._blueprint.rows[request]
        times[at.TIMES_HEAD + number * at.TIME_FIELDS + at.ARRIVAL_S] = time_s
        ints[at.REQUESTS] = number + 1
        self.sent.append(request)
        self._open.append(number)
        self._at_rest = False
        return number

    def _grow(self) -> None:
        """Twice the rows."""
        import numpy as np

        old = self._memory
        ints = np.concatenate((old.ints, np.zeros_like(old.ints[old.ints[at.AT_REQUESTS] :])))
        times = np.concatenate((old.times, np.full(len(old.times) - at.TIMES_HEAD, np.nan)))
        self._memory = Memory(old.rules, old.costs, ints, old.blocks, times, old.ids)

    def advance(self, until_s: float) -> None:
        """Plan all steps that begin before `until_s`."""
        from bide.simulate.scheduler.loading import entry

        advance = entry()
        self._at_rest = advance(*self._memory.arrays, *self._no_log, self._samples, until_s) == at.DONE

    @property
    def next_step_s(self) -> float:
        """When it plans its next step, if nothing more comes; infinity where it has nothing to do."""
        return math.inf if self._at_rest else float(self._memory.times[at.NOW_S])

    def step(self) -> list[int]:
        """Plan one step; the numbers of the requests that ended since the last time."""
        import numpy as np

        self.advance(math.nextafter(float(self._memory.times[at.NOW_S]), math.inf))
        if self.in_system == len(self._open):
            return []
        ended = np.isfinite(self._memory.times_s(at.FINISH_S)[self._open]).tolist()
        done = [number for number, end in zip(self._open, ended, strict=True) if end]
        self._open = [number for number, end in zip(self._open, ended, strict=True) if not end]
        return done

    def time_s(self, field: int, number: int) -> float:
        """A time of a request; NaN, or later than now, where it has not happened."""
        return float(self._memory.times[at.TIMES_HEAD + number * at.TIME_FIELDS + field])

    def drop(self, number: int, now_s: float) -> None:
        """Its client leaves now, to which the engine has come: the request gives up its place and its blocks."""
        abort(self._memory, number, now_s)
        self._left.append((now_s, number))
        if number in self._open:
            self._open.remove(number)
        self._at_rest = False

    def times_s(self, field: int) -> Floats:
        """A time of every request that it got."""
        return self._memory.times_s(field)[: len(self.sent)]

    def column(self, field: int) -> Ints:
        """A field of every request that it got."""
        return self._memory.column(field)

    def inbox(self) -> Inbox:
        """All that it got."""
        import numpy as np

        return Inbox(np.array(self.sent, dtype=np.int64), self.times_s(at.ARRIVAL_S).copy(), tuple(self._left))

    def sampled(self) -> Samples | None:
        """The state over time, where it was asked for."""
        if not self._blueprint.samples:
            return None
        rows = self._samples[: self._memory.ints[at.SAMPLED]]
        return Samples.of(rows, self._blueprint.config.num_blocks - 1)
