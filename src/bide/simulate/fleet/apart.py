"""A fleet whose router looks at nothing: each engine serves its share of the requests in one go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from bide.simulate.fleet.rules import FleetRules, RouterName
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
    chosen = dealt(len(requests), engines, rules.router, rules.seed)
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


def dealt(count: int, engines: int, router: RouterName, seed: int) -> Ints:
    """The engine of each of `count` requests, in the order in which they come to a router that looks at nothing."""
    import numpy as np

    if router == "round-robin":
        return np.arange(count) % engines
    return np.random.default_rng(seed).integers(engines, size=count)  # the same as `routers.Random` one by one


def only(requests: Requests, mine: Ints) -> Requests:
    """Some of the requests, with what they share, in the order of `mine`, in which they come."""
    import numpy as np

    if len(mine) == len(requests) and np.array_equal(mine, np.arange(len(requests))):
        return requests
    starts, ids = requests.content_starts, requests.content_ids
    new = np.zeros(len(mine) + 1, dtype=np.int64)
    if len(ids):
        counts = np.diff(starts)[mine]
        np.cumsum(counts, out=new[1:])
        ids = ids[np.repeat(starts[:-1][mine] - new[:-1], counts) + np.arange(new[-1])]
    return replace(
        requests,
        arrival_s=requests.arrival_s[mine],
        prompt_tokens=requests.prompt_tokens[mine],
        output_tokens=requests.output_tokens[mine],
        priority=requests.priority[mine],
        tie_rank=np.arange(len(mine)),
        content_starts=new,
        content_ids=ids,
        loaded_tokens=requests.loaded_tokens[mine],
    )


def _note(served: Served, mine: Ints, outcome: Outcome, engine: int) -> None:
    import numpy as np

    for name in ("first_scheduled_s", "first_token_s", "finish_s", "preemptions", "cached_tokens", "output_tokens"):
        getattr(served, name)[mine] = getattr(outcome, name)
    served.engine[mine] = engine
    served.status[mine] = np.where(np.isfinite(outcome.finish_s), OK, UNFINISHED)
    served.steps += outcome.steps
