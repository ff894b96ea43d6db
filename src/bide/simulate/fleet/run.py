"""A fleet and its traffic, from the first arrival until the last answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bide.errors import CannotBeMet
from bide.i18n import _
from bide.records import RequestTable
from bide.simulate.fleet.apart import Progress, serve_apart
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.served import OK, REFUSED, Inbox, Served
from bide.simulate.fleet.staged import serve_staged
from bide.simulate.fleet.timeline import Timeline, timeline_of
from bide.simulate.fleet.together import Together
from bide.simulate.fleet.traffic import longest_tokens, requests_of, servable
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
    inbox: Inbox | None
    """Of the first engine that answers; None where no engine got anything."""

    @property
    def queue_s(self) -> Floats:
        """From arrival until the first step that works on the request; NaN for those that did not go well."""
        import numpy as np

        return np.where(self.table.status == OK, self.first_scheduled_s - self.table.arrival_s, np.nan)


def _silent(_share: float) -> None:
    pass


def run_fleet(setup: ReplicaSetup, traffic: Traffic, rules: FleetRules, progress: Progress = _silent) -> FleetRun:
    """Serve `traffic`; requests that no engine can hold are refused at once. Raises CannotBeMet where those are all."""
    fits = servable(traffic, setup.config)
    if not fits.any():
        shortest = int((traffic.prompt_tokens + traffic.output_tokens).min())
        text = _(
            "none of the {n:,} requests fits: the shortest has {has:,} tokens, and an engine holds at most {room:,}"
        )
        raise CannotBeMet(text.format(n=len(fits), has=shortest, room=longest_tokens(setup.config)))
    kept = traffic if fits.all() else traffic.taken(fits)
    served, timeline = _served(setup, kept, rules, progress)
    if not fits.all():
        served = _with_refused(served, fits)
    arrival_s = _arrivals(traffic, served, rules)
    return FleetRun(
        _table(traffic, arrival_s, served, setup),
        served.first_scheduled_s,
        served.engine,
        served.attempts,
        timeline,
        served.steps,
        served.inbox,
    )


def _served(setup: ReplicaSetup, traffic: Traffic, rules: FleetRules, progress: Progress) -> tuple[Served, Timeline]:
    requests = requests_of(traffic, setup.config)
    span_s = float(traffic.arrival_s[-1])
    every_s = span_s / _SAMPLES if span_s > 0 and not rules.users else 0.01
    if rules.blind(rules.replicas * setup.engines):
        served = serve_apart(setup, requests, rules, every_s, progress)
    elif rules.split and rules.blind_pools:
        served = serve_staged(setup, requests, rules, every_s, progress)
    else:
        served = Together(setup, requests, rules, every_s, progress).outcome()
        span_s = float(_arrivals(traffic, served, rules)[-1])
    return served, timeline_of(served.samples, span_s)


def _arrivals(traffic: Traffic, served: Served, rules: FleetRules) -> Floats:
    """As in the trace; or when users sent them, a refused one with the one before."""
    import numpy as np

    if not rules.users:
        return traffic.arrival_s
    return np.maximum.accumulate(np.nan_to_num(served.sent_s, nan=0.0))


def _with_refused(served: Served, fits: NDArray[np.bool_]) -> Served:
    """The columns of all requests, from those that fit."""
    import numpy as np

    every = Served.nothing(len(fits))
    every.status[~fits] = REFUSED
    every.samples, every.steps = served.samples, served.steps
    if served.inbox:
        every.inbox = replace(served.inbox, requests=np.flatnonzero(fits)[served.inbox.requests])
    for name in ("first_scheduled_s", "first_token_s", "finish_s", "preemptions", "cached_tokens", "output_tokens"):
        getattr(every, name)[fits] = getattr(served, name)
    for name in ("engine", "attempts", "status", "sent_s"):
        getattr(every, name)[fits] = getattr(served, name)
    return every


def _table(traffic: Traffic, arrival_s: Floats, served: Served, setup: ReplicaSetup) -> RequestTable:
    import numpy as np

    went_well = served.status == OK
    return RequestTable.of(
        arrival_s,
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
