"""A fleet and its traffic, from the first arrival until the last answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.records import RequestTable
from bide.simulate.fleet.apart import Progress, serve_apart
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.served import OK, REFUSED, Served
from bide.simulate.fleet.timeline import Timeline, timeline_of
from bide.simulate.fleet.together import Together
from bide.simulate.fleet.traffic import requests_of, servable
from bide.simulate.replica_setup import ReplicaSetup
from bide.workload.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_SAMPLES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class FleetRun:
    """What came of all of the traffic. `engine` counts over replicas and the engines of each; -1 where none took it."""

    table: RequestTable
    first_scheduled_s: Floats
    engine: Ints
    attempts: Ints
    timeline: Timeline
    steps: int

    @property
    def queue_s(self) -> Floats:
        """From arrival until the first step that works on the request; NaN for those that did not go well."""
        import numpy as np

        return np.where(self.table.status == OK, self.first_scheduled_s - self.table.arrival_s, np.nan)


def _silent(_share: float) -> None:
    pass


def run_fleet(setup: ReplicaSetup, traffic: Traffic, rules: FleetRules, progress: Progress = _silent) -> FleetRun:
    """Serve `traffic`; requests that no engine can hold are refused at once."""
    fits = servable(traffic, setup.config)
    kept = traffic if fits.all() else traffic.taken(fits)
    served, timeline = _served(setup, kept, rules, progress)
    if not fits.all():
        served = _with_refused(served, fits)
    return FleetRun(
        _table(traffic, served, setup),
        served.first_scheduled_s,
        served.engine,
        served.attempts,
        timeline,
        served.steps,
    )


def _served(setup: ReplicaSetup, traffic: Traffic, rules: FleetRules, progress: Progress) -> tuple[Served, Timeline]:
    if not len(traffic):
        return Served.nothing(0), timeline_of((), 0.0)
    requests = requests_of(traffic, setup.config)
    span_s = float(traffic.arrival_s[-1])
    every_s = span_s / _SAMPLES if span_s > 0 else 0.01
    if rules.blind(rules.replicas * setup.engines):
        served = serve_apart(setup, requests, rules, every_s, progress)
    else:
        served = Together(setup, requests, rules, every_s, progress).outcome()
    return served, timeline_of(served.samples, span_s)


def _with_refused(served: Served, fits: NDArray[np.bool_]) -> Served:
    """The columns of all requests, from those that fit."""
    every = Served.nothing(len(fits))
    every.status[~fits] = REFUSED
    every.samples, every.steps = served.samples, served.steps
    for name in ("first_scheduled_s", "first_token_s", "finish_s", "preemptions", "cached_tokens", "output_tokens"):
        getattr(every, name)[fits] = getattr(served, name)
    for name in ("engine", "attempts", "status"):
        getattr(every, name)[fits] = getattr(served, name)
    return every


def _table(traffic: Traffic, served: Served, setup: ReplicaSetup) -> RequestTable:
    import numpy as np

    went_well = served.status == OK
    return RequestTable.of(
        traffic.arrival_s,
        served.first_token_s + setup.request_s,
        served.finish_s + setup.request_s,
        traffic.prompt_tokens,
        served.output_tokens,
        cached_tokens=served.cached_tokens,
        preemptions=served.preemptions,
        replica=np.where(served.engine < 0, -1, served.engine // setup.engines),
        status=served.status,
        error=np.where(went_well, "", served.status),
    )
