"""The steady state of one replica in closed form, and a request table from a simple queue on top of it.

With B requests running on average, X the GPU seconds that a prompt adds, N the steps that a request
needs and D(B) the seconds of a step that only decodes:

- a share rho = rate x X of the GPU's time is prefill; the rest gives steps of D(B), so the time
  between tokens is D(B) / (1 - rho) on average;
- Little's law: B = rate x (X + N D(B) / (1 - rho)), hence rate(B) = 1 / (X + (X + N D(B)) / B);
- B is at most what the cache pool holds or the engine admits (`slots`), so the highest stable rate
  is the largest rate(B) up to there.

Percentiles come from walking the workload's own requests through two queues, one request at a time:
a free slot (first come, first served, `slots` of them) and the prefill ahead of it (one server),
while decoding advances in the time that prefill leaves. The two waits are added, which is
pessimistic where both bind. Everything grows with the rate, request by request: more load is never
faster. Not counted: preemption and recomputing, prefix-cache hits, tails of a step.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from bide.physics.steptime import StepTable, chunk_count
from bide.records import RequestTable
from bide.workload.requests import Workload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Bound = Literal["memory bandwidth", "compute", "prefill", "cache pool", "max_num_seqs", "unstable"]

_STEP_UNDER_WAY = 0.5
"""Of the step that runs when a request arrives, this much is still to come, on average."""
_GRID = 40
_FEWEST_REQUESTS = 4096


@dataclass(frozen=True, slots=True)
class Steady:
    """Averages at a rate that the replica can hold."""

    requests_per_s: float
    running_requests: float
    decode_step_s: float
    prefill_share: float
    bound: Bound

    @property
    def tpot_s(self) -> float:
        """Mean time between tokens: D(B) / (1 - rho)."""
        return self.decode_step_s / (1 - self.prefill_share)


@dataclass(frozen=True, eq=False)
class Replica:
    """One replica and the workload that it serves. `kv_bytes` is a running request's mean cache on one GPU."""

    table: StepTable
    workload: Workload
    kv_bytes: float
    pool_requests: float
    """How many running requests of mean size the pool holds."""
    max_num_seqs: int
    budget_tokens: int
    request_s: float = 0.0

    @property
    def slots(self) -> int:
        """Requests that run at once, at most; 0 where not even one fits."""
        return int(min(self.pool_requests, self.max_num_seqs))

    @cached_property
    def _curve(self) -> tuple[Floats, Floats]:
        """(B, rate) pairs from an empty replica to a full one; the rate never falls."""
        import numpy as np

        if self.slots < 1:
            return np.zeros(1), np.zeros(1)
        running = np.unique(np.geomspace(0.05, self.slots, _GRID))
        steps = self._steps.mean()
        decode_s = self.table.decode_s(running, self.kv_bytes)
        prefill_s = np.array([self._prefill_s(count).mean() for count in running])
        rates = 1 / (prefill_s + (prefill_s + steps * decode_s) / running)
        return np.concatenate(([0.0], running)), np.concatenate(([0.0], np.maximum.accumulate(rates)))

    @cached_property
    def _work(self) -> Workload:
        """The workload, played over and over where it is short, so that queues have time to build up."""
        return self.workload.repeated(_FEWEST_REQUESTS)

    @cached_property
    def _steps(self) -> Floats:
        """Steps from admission to the last token: the prompt's chunks, the later tokens, the step under way."""
        chunks = chunk_count(self._work.prompt_tokens, self.budget_tokens)
        return chunks + self._work.output_tokens - 1 + _STEP_UNDER_WAY

    def _prefill_s(self, running: float) -> Floats:
        return self.table.prefill_s(self._work.prompt_tokens, self.budget_tokens, running)

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
        decode_s = float(self.table.decode_s(count, self.kv_bytes))
        share = requests_per_s * float(self._prefill_s(count).mean())
        return Steady(requests_per_s, count, decode_s, share, self._bound(count, share))

    def _bound(self, running: float, prefill_share: float) -> Bound:
        """What more of would help most: room for requests, or the busier of the card's two sides."""
        if running > 0.9 * self.slots:
            return "cache pool" if self.pool_requests < self.max_num_seqs else "max_num_seqs"
        if prefill_share > 0.5:
            return "prefill"
        flat = self.table.linear(running) < 1.5 * self.table.linear(1.0)
        return "memory bandwidth" if flat else "compute"

    def requests(self, requests_per_s: float) -> RequestTable | None:
        """The workload's requests, arriving at this mean rate, each with its times; None where unstable."""
        import numpy as np

        steady = self.at(requests_per_s)
        if steady is None:
            return None
        work = self._work
        arrivals_s = work.arrivals_s(requests_per_s)
        prefill_s = self._prefill_s(steady.running_requests)
        residence_s = prefill_s + self._steps * steady.tpot_s
        outside_s = _slot_waits(arrivals_s, residence_s, self.slots) + self.request_s
        prefilled_s, last_s = _prefill_then_decode(arrivals_s, prefill_s, self._steps * steady.decode_step_s)
        first_steps = chunk_count(work.prompt_tokens, self.budget_tokens) + _STEP_UNDER_WAY
        first_s = prefilled_s + first_steps * steady.decode_step_s
        return RequestTable.of(
            arrivals_s,
            first_s + outside_s,
            np.maximum(last_s, first_s) + outside_s,
            work.prompt_tokens,
            work.output_tokens,
        )


def _prefill_then_decode(arrivals_s: Floats, prefill_s: Floats, decode_s: Floats) -> tuple[Floats, Floats]:
    """When each prompt is through, and when its `decode_s` of otherwise idle server are over.

    The same traffic is played once more behind, so that the last requests do not decode undisturbed.
    """
    import numpy as np

    count = len(arrivals_s)
    twice_s, work_s = np.concatenate((arrivals_s, arrivals_s + arrivals_s[-1])), np.tile(prefill_s, 2)
    ends = _one_server_ends(twice_s, work_s)
    return ends[:count], _after_idle(ends[:count], decode_s, ends, work_s)


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
