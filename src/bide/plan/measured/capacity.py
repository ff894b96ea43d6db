"""The replicas of one candidate, of which a benchmark says what they do: nothing of them is simulated.

Between two loads that were measured a number lies on the line between theirs: latencies rise ever more steeply with the
load, so that the line is above them. Below the lowest load it is that load's, and beyond the highest that was borne
nothing is promised. More load is never taken to be faster: where it was measured so, that is chance.

There is no slow and no fast end: what a replica did is not a prediction. What is left is that a run is short, and it is
treated as of a simulated one (`plan.bounded`): promised is what 95 of 100 runs as long stay below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from bide.plan.asks import Asks, Probe
from bide.plan.candidate import Candidate, End
from bide.plan.capacity import FULLEST, Capacity
from bide.plan.measured.levels import levels_of
from bide.plan.question import MeasuredReplica
from bide.plan.thresholds import ReplicaState
from bide.plan.trial import Seen, prefill_share
from bide.simulate.fleet.rules import RouterName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class MeasuredCapacity(Capacity):
    """What `Capacity` tells of simulated replicas, of measured ones."""

    def __init__(
        self,
        candidate: Candidate,
        measured: MeasuredReplica,
        probes: tuple[Probe, ...] = (),
        router: RouterName = "round-robin",
    ) -> None:
        super().__init__(candidate, probes, router=router)
        self.measured, self._levels = measured, levels_of(measured.runs)
        self._rates = [level.requests_per_s for level in self._levels]
        self._stays_s = [level.running / level.requests_per_s for level in self._levels]
        first_s = [level.first_token_s for level in self._levels]
        self._waits_s = [max(0.0, seconds - first_s[0]) for seconds in first_s]

    @property
    def runs(self) -> int:
        return 0

    @property
    def is_tried(self) -> bool:
        return True

    @property
    def lowest_measured_rps(self) -> float:
        return self._rates[0]

    @property
    def highest_measured_rps(self) -> float:
        return self._rates[-1]

    def bound_rps(self, asks: Asks = ()) -> float:
        return self.highest_measured_rps

    def saturated_rps(self, end: End = "likely") -> float:
        """Such that the highest rate that was borne is just not too busy."""
        return self.highest_measured_rps / FULLEST

    def shared(self, replicas: int) -> int:
        """A fleet's replicas get less bursty requests than a single one, which is what was measured."""
        return 1

    def further(self, probe: Probe, end: End) -> float:
        return 1.0

    def state(self, requests_per_s: float, replicas: int) -> ReplicaState:
        """The requests there, and the cache that so many hold on average.

        Those wait that came within what first tokens take longer than at the lowest load (Little's law).
        """
        there = requests_per_s * self._between(requests_per_s, self._stays_s)
        waiting = requests_per_s * self._between(requests_per_s, self._waits_s)
        running = max(0.0, there - waiting)
        return ReplicaState(requests_per_s, running, waiting, min(1.0, running / self.candidate.likely.slots))

    def value(self, requests_per_s: float, probe: Probe, end: End = "likely", replicas: int = 1) -> float:
        """What is promised; in place of a fast end, as measured."""
        seen = self.at(requests_per_s)
        if seen is None:
            return math.inf
        measured, promised = seen.values[probe]
        return measured if end == "fast" else promised

    def at(self, requests_per_s: float, end: End = "likely", replicas: int = 1, times: int = 1) -> Seen | None:
        """One replica at a rate; None beyond the highest that it bore."""
        if requests_per_s > self.highest_measured_rps:
            return None
        cached = self._between(requests_per_s, [level.run.cached_share or 0.0 for level in self._levels])
        stay_s = self._between(requests_per_s, self._stays_s)
        return Seen(
            requests_per_s,
            {probe: self._taken(requests_per_s, probe) for probe in self.probes},
            requests_per_s * stay_s,
            prefill_share(self.setup("likely"), self.basket, requests_per_s, cached),
            cached,
            0.0,
        )

    def _taken(self, requests_per_s: float, probe: Probe) -> tuple[float, float]:
        """Infinite where a level does not say it."""
        values = self._values.get(probe)
        if values is None:
            return math.inf, math.inf
        value, above = (self._between(requests_per_s, column) for column in values)
        return value, above

    def _between(self, requests_per_s: float, values: Sequence[float] | Floats) -> float:
        import numpy as np

        return float(np.interp(requests_per_s, self._rates, values))

    @cached_property
    def _values(self) -> dict[Probe, tuple[Floats, Floats]]:
        """Of each probe that every level tells: as measured, and what other runs stay below; never falling."""
        import numpy as np

        found = {}
        for probe in self.probes:
            told = [taken for taken in (level.taken(probe) for level in self._levels) if taken is not None]
            if len(told) == len(self._levels):
                value, above = np.maximum.accumulate(np.array(told)).T
                found[probe] = value, above
        return found


def measured_of(candidate: Candidate) -> MeasuredReplica | None:
    """The benchmark of this very deployment, where the service has one."""
    measured = candidate.service.measured
    if measured is None or measured.gpu.id != candidate.gpu.id or dict(measured.setting) != dict(candidate.setting):
        return None
    return measured
