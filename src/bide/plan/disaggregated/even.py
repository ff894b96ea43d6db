"""Answers that come evenly to a replica, each with its cache: no stream of so many a second is kinder to it.

What it does not keep then it does not keep beside replicas for prompts either. A percentile leaves out some of the
requests, and without them the others come the more seldom: for a p95 the stream is 95 % of the requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bide.plan.asks import EVERYBODY, Probe
from bide.plan.basket import Basket, run_requests, stream_of
from bide.plan.disaggregated.watch import values_of
from bide.plan.question import Service
from bide.plan.trial import percent_of, taken
from bide.records import RequestTable
from bide.simulate.fleet.staged import answers_of, served_by
from bide.simulate.replica_setup import ReplicaSetup

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_WARM_UP = 0.2
"""Of the run, that is not measured."""


def even_stream(service: Service) -> Basket:
    """A usual run's requests, one a second."""
    import numpy as np

    basket = stream_of(service, run_requests(service))
    traffic = replace(basket.traffic, arrival_s=np.arange(1.0, len(basket) + 1))
    return replace(basket, traffic=traffic, _made={})


def evenly_answered(
    setup: ReplicaSetup, stream: Basket, requests_per_s: float, before_s: Floats, probes: Sequence[Probe]
) -> dict[Probe, float]:
    """What one replica comes to at a rate; `before_s`: of each request, until its cache is there."""
    import numpy as np

    requests = answers_of(stream.requests(setup.config, requests_per_s / setup.engines))
    part = served_by(setup, requests, 0, np.arange(len(requests)))
    outcome, arrival_s = part.outcome, requests.arrival_s
    table = RequestTable.of(
        arrival_s - before_s,
        outcome.first_token_s + setup.request_s,
        outcome.finish_s + setup.request_s,
        requests.prompt_tokens,
        outcome.output_tokens,
        status=np.where(np.isfinite(outcome.finish_s), "ok", "unfinished"),
    )
    inside = arrival_s >= _WARM_UP * arrival_s[-1]
    return {probe: taken(probe, values_of(setup, part, probe, table, inside))[0] for probe in probes}


def share_of(probe: Probe) -> float | None:
    """Of the requests, that must keep a limit; None where a few of them may make up for others."""
    percent = percent_of(probe)
    return None if not percent or probe.group != EVERYBODY else percent / 100
