"""A fleet of so many replicas for prompts and so many for answers at one rate, and what is kept of it.

All engines that compute prompts are simulated, and of those that answer as many as it takes for a run of
the usual length: they are alike, and each gets its requests in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.physics.kv import kv_need
from bide.plan.asks import Probe
from bide.plan.basket import Basket
from bide.plan.question import Goodput, Measure
from bide.plan.trial import of_requests, settled, stretch_of, taken
from bide.records import RequestTable
from bide.simulate.fleet.apart import only
from bide.simulate.fleet.link import Link
from bide.simulate.fleet.rules import RouterName
from bide.simulate.fleet.staged import Part, answers_of, dealt, handed_over, prompts_of, served_by
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate
from bide.simulate.summary.token_gaps import gaps_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Prompts:
    """What the engines for prompts did with a stream."""

    requests: Requests
    engine: Ints
    done_s: Floats
    cached_tokens: Ints
    preemptions: Ints

    @property
    def takes_s(self) -> Floats:
        """From arrival to the end of the prompt."""
        return self.done_s - self.requests.arrival_s


@dataclass(frozen=True, slots=True)
class PairSeen:
    """What a fleet did. `values`: as measured, and what 95 of 100 other runs stay below."""

    requests_per_s: float
    values: Mapping[Probe, tuple[float, float]]
    running: float
    """Requests that are answered on average, by all replicas together."""
    transfer_s: float
    """From the end of a prompt until its cache is there, on average."""
    cached_share: float
    """Of the prompt tokens, found in the caches of the replicas for prompts."""
    preemptions_per_request: float


def computed(setup: ReplicaSetup, stream: Basket, requests_per_s: float, replicas: int, router: RouterName) -> Prompts:
    """The prompts of a stream at a rate, on so many replicas."""
    import numpy as np

    requests = stream.requests(setup.config, requests_per_s)
    prompts, engines = prompts_of(requests), replicas * setup.engines
    engine = dealt(prompts, engines, router, 0)
    done_s, counts = np.zeros(len(requests)), np.zeros((2, len(requests)), dtype=np.int64)
    for number in range(engines):
        part = served_by(setup, prompts, number, np.flatnonzero(engine == number))
        done_s[part.mine] = part.outcome.finish_s
        counts[:, part.mine] = part.outcome.cached_tokens, part.outcome.preemptions
    return Prompts(requests, engine, done_s, *counts)


@dataclass(frozen=True, slots=True)
class Answering:
    """So many engines, of which some are simulated, at the end of `link`."""

    link: Link
    engines: int
    simulated: int
    router: RouterName
    seed: int


def watch_pair(
    setup: ReplicaSetup, prompts: Prompts, answering: Answering, probes: Sequence[Probe], requests_per_s: float
) -> PairSeen:
    """What comes of prompts that were computed."""
    import numpy as np

    requests, cache = prompts.requests, kv_need(setup.deployment).per_gpu
    router = (answering.router, answering.engines, answering.seed)
    given = handed_over(prompts.done_s, prompts.engine, requests.prompt_tokens, answering.link, cache, router, requests)
    answers = answers_of(requests, given.there_s)
    parts = [served_by(setup, answers, engine, given.at(engine)) for engine in range(answering.simulated)]
    mine = np.concatenate([part.mine for part in parts])
    order = np.argsort(mine, kind="stable")
    table = _table(setup, requests, parts, mine, order)
    inside = settled(table)
    preempted = np.concatenate([part.outcome.preemptions for part in parts])
    stays_s = table.last_token_s - setup.request_s - given.there_s[mine[order]]
    return PairSeen(
        requests_per_s,
        {probe: taken(probe, _values(setup, parts[0], probe, table, inside)) for probe in probes},
        requests_per_s * float(stays_s[inside].mean()),
        float((given.there_s - prompts.done_s).mean()),
        float(prompts.cached_tokens.sum() / requests.prompt_tokens.sum()),
        float(prompts.preemptions.mean() + preempted.mean()),
    )


def _table(setup: ReplicaSetup, requests: Requests, parts: Sequence[Part], mine: Ints, order: Ints) -> RequestTable:
    """Of the answers that were simulated, in the order in which clients sent the requests."""
    import numpy as np

    first_s, last_s, output = (
        np.concatenate([getattr(part.outcome, name) for part in parts])[order]
        for name in ("first_token_s", "finish_s", "output_tokens")
    )
    rows = mine[order]
    return RequestTable.of(
        requests.arrival_s[rows],
        first_s + setup.request_s,
        last_s + setup.request_s,
        requests.prompt_tokens[rows],
        output,
        status=np.where(np.isfinite(last_s), "ok", "unfinished"),
    )


def _values(setup: ReplicaSetup, part: Part, probe: Probe, table: RequestTable, inside: NDArray[np.bool_]) -> Floats:
    if isinstance(probe.measure, Measure) and probe.measure.latency == "itl":
        return _gaps(setup, part)
    return of_requests(probe, table)[inside]


def _gaps(setup: ReplicaSetup, part: Part) -> Floats:
    """Times between tokens of a stretch of one engine's answers, with every step kept."""
    import numpy as np

    first, rows = stretch_of(part.requests.arrival_s)
    requests = only(part.requests, np.arange(len(part.mine))[rows])
    log = simulate(setup.config, setup.cost, requests, record_steps=True).log
    assert log is not None
    _when_s, gaps_s, request = gaps_of(log, requests.prompt_tokens, setup.config.speculative_tokens)
    return np.asarray(gaps_s[request >= first - rows.start])


def after_prompts(prompts: Prompts, probe: Probe, least_after_s: Floats) -> float:
    """The least that `probe` can come to, once prompts took what they took and the rest takes `least_after_s` or more.

    0 for times between tokens, of which prompts say nothing.
    """
    import numpy as np

    measure, seconds = probe.measure, prompts.takes_s + least_after_s
    if isinstance(measure, Goodput):
        limits = [limit for latency, limit in measure.limits if latency in ("ttft", "e2e")]
        return float(np.percentile(seconds / min(limits), 100 * measure.share)) if limits else 0.0
    if measure.latency not in ("ttft", "e2e"):
        return 0.0
    return float(seconds.mean() if measure.percent is None else np.percentile(seconds, measure.percent))
