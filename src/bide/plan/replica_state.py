"""What an autoscaler would read off a replica at a rate: running and waiting requests, and how full the cache is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bide.plan.basket import Basket
from bide.plan.thresholds import ReplicaState
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SAMPLES = 2000
_WARM_UP = 0.2
"""Of the run."""


def replica_state(setup: ReplicaSetup, basket: Basket, requests_per_s: float) -> ReplicaState:
    """One replica serving the basket at a rate."""
    return observed(setup, basket.requests(setup.config, requests_per_s / setup.engines), requests_per_s)


def observed(setup: ReplicaSetup, requests: Requests, requests_per_s: float) -> ReplicaState:
    """One replica of which each engine gets such `requests`, on average from the warm-up's end to the last arrival.

    Over all of its engines: requests are added up, the cache's use is a mean.
    """
    import numpy as np

    end_s = float(requests.arrival_s.max())
    samples = simulate(setup.config, setup.cost, requests, sample_every_s=end_s / _SAMPLES).samples
    assert samples is not None
    times_s = samples.time_s
    held_s = np.diff(np.clip(times_s, _WARM_UP * end_s, end_s), append=end_s)
    held_s /= held_s.sum()
    return ReplicaState(
        requests_per_s,
        setup.engines * float(samples.running @ held_s),
        setup.engines * float(samples.waiting @ held_s),
        float(samples.used_blocks @ held_s) / samples.usable_blocks,
    )
