"""One replica walked by a workload's own requests: when each of them gets its first token and its last.

`simulate.loops` has the steady state in closed form, as means over requests that are all alike. What takes
percentiles needs the requests themselves: their pairs of lengths, and their arrivals. A `Replica` asks
`loops` how R running requests split into those that decode and those that prefill (for a request of mean
lengths), for the pace of each request of the workload beside them, and, from the means of those, for the
rate that keeps R running. The highest stable rate is the largest such rate up to a full replica.

Each request then goes through two queues: for a free slot (first come, first served, `slots` of them), and
for the prefill ahead of it (one server; several batches prefill side by side, as one that is so much
faster), while decoding advances in the time that prefill leaves. The two waits are added, which is
pessimistic where both bind. With rho of the time spent on prefill and D a step that only decodes, the mean
time between tokens is D / (1 - rho). More load is never faster, but for a percent or two where prompts that
prefill together share the reading of experts. Not counted: preemption and recomputing, prefix-cache hits,
drafts, tails of a step. Pessimistic, too, where most of the time is prefill and answers are a few tokens:
tokens are counted between the prompts of a burst, not beside them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from bide.physics.steptime import StepTable
from bide.records import RequestTable
from bide.simulate.loops import STEP_UNDER_WAY
from bide.simulate.pace import Pace, Replicas
from bide.workload.requests import Workload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_GRID = 40
_FEWEST_REQUESTS = 4096


@dataclass(frozen=True, slots=True)
class Steady:
    """Averages at a rate that the replica can hold."""

    requests_per_s: float
    running_requests: float
    decoding: float
    """Sequences that each batch decodes; the others prefill."""
    decode_step_s: float
    """A step that only decodes."""
    prefill_share: float
    """Of the time of each batch."""

    @property
    def tpot_s(self) -> float:
        """Mean time between tokens: D / (1 - rho)."""
        return self.decode_step_s / (1 - self.prefill_share)


@dataclass(frozen=True, eq=False)
class Replica:
    """One replica and the workload that it serves."""

    table: StepTable
    workload: Workload
    kv_bytes: float
    """That a running request makes one GPU read in a step, on average; all pipeline stages together."""
    pool_requests: float
    """How many running requests of mean size the pools of the replica hold."""
    most_requests: int
    """That the engine admits to it."""
    budget_tokens: int
    request_s: float = 0.0
    batches: int = 1
    """That run at once: data-parallel groups x pipeline stages. Each has its part of the running requests."""

    @property
    def slots(self) -> int:
        """Requests that run at once, at most; 0 where not even one fits."""
        return int(min(self.pool_requests, self.most_requests))

    @property
    def highest_stable_rate(self) -> float:
        """Requests per second that a full replica just keeps up with."""
        return float(self._curve[1][-1])

    def at(self, requests_per_s: float) -> Steady | None:
        """The averages at a rate, or None at and beyond the highest stable one."""
        import numpy as np

        if requests_per_s >= self.highest_stable_rate:
            return None
        running, rates = self._curve
        count = float(np.interp(requests_per_s, rates, running))
        pace = _mean(self._pace(self.workload, count))
        share = requests_per_s * float(pace.spread_s)
        return Steady(requests_per_s, count, float(pace.decoding), float(pace.decode_s), share)

    def requests(self, requests_per_s: float) -> RequestTable | None:
        """The workload's requests, arriving at this mean rate, each with its times; None where unstable."""
        import numpy as np

        steady = self.at(requests_per_s)
        if steady is None:
            return None
        work = self._work
        arrivals_s = work.arrivals_s(requests_per_s)
        rows, pace = self._rows(work), self._pace(work, steady.running_requests)
        residence_s = pace.prompt_s + pace.held_s / (1 - steady.prefill_share)
        outside_s = _slot_waits(arrivals_s, residence_s, self.slots) + self.request_s
        under_way_s = STEP_UNDER_WAY * np.minimum(pace.decoding * self.batches, 1.0) * pace.decode_s
        beside_s = pace.chunk_steps_s / rows.chunks_a_step / self.batches
        started_s, last_s = _prefill_then_decode(arrivals_s, pace.spread_s, beside_s, pace.held_s + under_way_s)
        first_s = started_s + pace.prompt_s + pace.chunk_steps_s + under_way_s
        last_s += pace.prompt_s - pace.spread_s
        return RequestTable.of(
            arrivals_s,
            first_s + outside_s,
            np.maximum(last_s, first_s) + outside_s,
            work.prompt_tokens,
            work.output_tokens,
        )

    @cached_property
    def _curve(self) -> tuple[Floats, Floats]:
        """(R, rate) pairs from an empty replica to a full one; the rate never falls."""
        import numpy as np

        if self.slots < 1:
            return np.zeros(1), np.zeros(1)
        running = np.unique(np.geomspace(0.05, float(self._typical.places), _GRID))
        rates = np.array([float(_mean(self._pace(self.workload, count)).open_rate(count)) for count in running])
        return np.concatenate(([0.0], running)), np.concatenate(([0.0], np.maximum.accumulate(rates)))

    @cached_property
    def _work(self) -> Workload:
        """The workload, played over and over where it is short, so that queues have time to build up."""
        return self.workload.repeated(_FEWEST_REQUESTS)

    @cached_property
    def _typical(self) -> Replicas:
        """One row: a request of mean lengths."""
        import numpy as np

        work = self.workload
        return self._alike(np.mean(work.prompt_tokens), np.mean(np.maximum(work.output_tokens, 1)))

    def _rows(self, work: Workload) -> Replicas:
        """A row for each request of `work`."""
        return self._alike(work.prompt_tokens, work.output_tokens)

    def _alike(self, prompt_tokens: ArrayLike, output_tokens: ArrayLike) -> Replicas:
        import numpy as np

        values = {
            "kv_bytes": self.kv_bytes,
            "prompt_tokens": prompt_tokens,
            "output_tokens": output_tokens,
            "slots": self.slots,
            "batches": self.batches,
            "budget_tokens": self.budget_tokens,
            "tokens_each": 1.0,
            "tokens_got": 1.0,
            "request_s": self.request_s,
            **dict.fromkeys(("burst", "bunching_scale", "bunching_power"), 0.0),
        }
        columns = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
        return Replicas(table=self.table, **columns)

    def _pace(self, work: Workload, running: float) -> Pace:
        """The pace of each request of `work` beside others, `running` in all."""
        import numpy as np

        rows, typical = self._rows(work), self._typical.pace(np.asarray(running))
        return rows.pace_of(typical.decoding, np.minimum(typical.together, rows.chunks_a_step))


def _mean(pace: Pace) -> Pace:
    """Of one that is alike for all, over all requests."""
    import numpy as np

    return Pace(*(np.asarray(np.mean(getattr(pace, field.name))) for field in fields(Pace)))


def _prefill_then_decode(
    arrivals_s: Floats, work_s: Floats, beside_s: Floats, decode_s: Floats
) -> tuple[Floats, Floats]:
    """When each prompt's prefill begins, and when `decode_s` of time that prefill leaves have gone by since its end.

    The next begins after its `work_s` and `beside_s`, its part of the decoding in full steps that prefill it.
    The same traffic is played once more behind, so that the last requests do not decode undisturbed.
    """
    import numpy as np

    count = len(arrivals_s)
    twice_s = np.concatenate((arrivals_s, arrivals_s + arrivals_s[-1]))
    service_s, work_s = np.tile(work_s + beside_s, 2), np.tile(work_s, 2)
    begins = _one_server_ends(twice_s, service_s) - service_s
    ends = begins + work_s
    return begins[:count], _after_idle(ends[:count], decode_s, ends, work_s)


def _one_server_ends(arrivals_s: Floats, service_s: Floats) -> Floats:
    """When each job ends at a single first-come server: e[i] = max(e[i-1], a[i]) + s[i], in closed form."""
    import numpy as np

    done = np.cumsum(service_s)
    return np.asarray(done + np.maximum.accumulate(arrivals_s - (done - service_s)))


def _after_idle(start_s: Floats, idle_s: Floats, ends: Floats, service_s: Floats) -> Floats:
    """When the server has had nothing to do for `idle_s` since `start_s`, each the end of one of its first jobs.

    The server's idle time is a broken line that stands still while jobs (ending at `ends`) are
    served. Beyond the last job it rises at its average slope.
    """
    import numpy as np

    begins = ends - service_s
    idle_before = ends - np.cumsum(service_s)
    target = idle_before[: len(start_s)] + idle_s
    index = np.searchsorted(idle_before, target, side="left")
    at = np.minimum(index, len(begins) - 1)
    before = begins[at] - (idle_before[at] - target)
    slope = max(1 - service_s.sum() / ends[-1], 1e-9)
    beyond = ends[-1] + (target - idle_before[-1]) / slope
    return np.asarray(np.where(index < len(begins), before, beyond))


def _slot_waits(arrivals_s: Floats, residence_s: Floats, slots: int) -> Floats:
    """The wait of each request for one of `slots` servers, first come first served (Kiefer and Wolfowitz)."""
    import numpy as np

    if _most_at_once(arrivals_s, residence_s) <= slots:
        return np.zeros(len(arrivals_s))
    free_s = [0.0] * slots
    waits = np.empty(len(arrivals_s))
    for i, (arrival, residence) in enumerate(zip(arrivals_s.tolist(), residence_s.tolist(), strict=True)):
        begin = max(arrival, free_s[0])
        waits[i] = begin - arrival
        heapq.heapreplace(free_s, begin + residence)
    return waits


def _most_at_once(arrivals_s: Floats, residence_s: Floats) -> int:
    """The most requests present at a time, were there no limit."""
    import numpy as np

    gone = np.searchsorted(np.sort(arrivals_s + residence_s), arrivals_s, side="right")
    return int((np.arange(1, len(arrivals_s) + 1) - gone).max())
