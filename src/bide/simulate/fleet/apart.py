"""A fleet whose router looks at nothing: each engine serves its share of the requests in one go."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bide.simulate.fleet.routers import router_of
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.served import OK, UNFINISHED, Inbox, Served, Watched
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.outcome import Outcome
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

Progress = Callable[[float], None]
"""Told the share of the requests that are done, now and then."""


def serve_apart(
    setup: ReplicaSetup, requests: Requests, rules: FleetRules, sample_every_s: float | None, progress: Progress
) -> Served:
    """Every request goes to the engine that a router without eyes chooses."""
    import numpy as np

    engines = rules.replicas * setup.engines
    chosen = _chosen(rules, requests, engines)
    served, samples = Served.nothing(len(requests)), []
    for engine in range(engines):
        mine = np.flatnonzero(chosen == engine)
        outcome = simulate(setup.config, setup.cost, only(requests, mine), sample_every_s=sample_every_s)
        _note(served, mine, outcome, engine)
        if outcome.samples:
            samples.append(Watched(outcome.samples))
        progress((engine + 1) / engines)
    served.samples = tuple(samples)
    mine = np.flatnonzero(chosen == chosen.min())
    served.inbox = Inbox(mine, requests.arrival_s[mine])
    return served


def _chosen(rules: FleetRules, requests: Requests, engines: int) -> Ints:
    import numpy as np

    if engines == 1:
        return np.zeros(len(requests), dtype=np.int64)
    if rules.router == "round-robin":
        return np.arange(len(requests)) % engines
    router, up = router_of(rules.router, requests, engines, 0, rules.seed), range(engines)
    return np.array([router.choose(request, (), up) for request in range(len(requests))], dtype=np.int64)


def only(requests: Requests, mine: Ints) -> Requests:
    """Some of the requests, with what they share, in the order of `mine`."""
    import numpy as np

    if np.array_equal(mine, np.arange(len(requests))):
        return requests
    starts = requests.content_starts
    counts = np.diff(starts)[mine]
    new = np.concatenate(([0], np.cumsum(counts)))
    where = np.repeat(starts[:-1][mine] - new[:-1], counts) + np.arange(new[-1])
    return Requests.of(
        requests.arrival_s[mine],
        requests.prompt_tokens[mine],
        requests.output_tokens[mine],
        content=(new, requests.content_ids[where]),
        loaded_tokens=requests.loaded_tokens[mine],
    )


def _note(served: Served, mine: Ints, outcome: Outcome, engine: int) -> None:
    import numpy as np

    for name in ("first_scheduled_s", "first_token_s", "finish_s", "preemptions", "cached_tokens", "output_tokens"):
        getattr(served, name)[mine] = getattr(outcome, name)
    served.engine[mine] = engine
    served.status[mine] = np.where(np.isfinite(outcome.finish_s), OK, UNFINISHED)
    served.steps += outcome.steps
