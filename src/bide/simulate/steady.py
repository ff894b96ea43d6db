"""One replica in the steady state, in closed form: averages over a workload whose requests are not alike.

`simulate.loops` has it for requests that are all alike. A `Replica` asks it how R running requests split into
those that decode and those that prefill (for a request of mean lengths), for the pace of each request of the
workload beside them, and, from the means of those, for the rate that keeps R running. The highest stable
rate is the largest such rate up to a full replica. With rho of the time spent on prefill and D a step that
only decodes, the mean time between tokens is D / (1 - rho). For explanation: percentiles, queues, preemption
and prefix-cache hits are for the scheduler's simulation.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from bide.physics.steptime import StepTable
from bide.simulate.pace import Pace, Replicas
from bide.workload.requests import Workload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_GRID = 40


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
