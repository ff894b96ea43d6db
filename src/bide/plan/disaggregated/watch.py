"""A cell at one rate, and what is kept of it.

All of its engines that compute prompts are simulated, and of those that answer as many as it takes for a run of the
usual length: they are alike, and each gets its requests in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.physics.kv import kv_need
from bide.plan.asks import Probe
from bide.plan.disaggregated.cell import Cell
from bide.plan.disaggregated.prompts import Prompts
from bide.plan.question import Measure
from bide.plan.trial import of_requests, settled, stretch_of, taken
from bide.records import RequestTable
from bide.simulate.fleet.apart import dealt, only
from bide.simulate.fleet.link import Link
from bide.simulate.fleet.rules import RouterName
from bide.simulate.fleet.staged import Handed, Part, answers_of, handed_over, served_by
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate
from bide.simulate.summary.token_gaps import gaps_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CellSeen:
    """What a cell did. `values`: as measured, and what 95 of 100 other runs stay below."""

    values: Mapping[Probe, tuple[float, float]]
    answer_s: float
    """That a request is at its answering engine, on average."""
    transfer_s: float
    """From the end of a prompt until its cache is there, on average."""
    cached_share: float
    """Of the prompt tokens, found in the caches of the engines for prompts."""
    preemptions_per_request: float


@dataclass(frozen=True, slots=True)
class PairSeen:
    """The same of a fleet of such cells."""

    requests_per_s: float
    values: Mapping[Probe, tuple[float, float]]
    running: float
    """Requests that are answered on average, by all replicas together."""
    transfer_s: float
    cached_share: float
    preemptions_per_request: float

    @classmethod
    def at(cls, requests_per_s: float, seen: CellSeen) -> PairSeen:
        return cls(
            requests_per_s,
            seen.values,
            requests_per_s * seen.answer_s,
            seen.transfer_s,
            seen.cached_share,
            seen.preemptions_per_request,
        )


@dataclass(frozen=True, slots=True)
class Answering:
    """The engines of `cell` that answer, at the end of `link`; `wanted`: how many answers are simulated."""

    cell: Cell
    link: Link
    router: RouterName
    wanted: int

    def targets(self, requests: int) -> Ints:
        """The engine that answers the prompt that is done first, and so on; the last is there in part."""
        import numpy as np

        answers = self.cell.answers
        if answers % 1 == 0:
            return dealt(requests, int(answers), self.router, self.cell.prompts)
        if self.router == "round-robin":
            return (np.arange(requests) % answers).astype(np.int64)
        return (np.random.default_rng(self.cell.prompts).random(requests) * answers).astype(np.int64)


def watch_cell(
    setup: ReplicaSetup, requests: Requests, prompts: Prompts, answering: Answering, probes: Sequence[Probe]
) -> CellSeen:
    """What comes of prompts that were computed."""
    import numpy as np

    cache, target = kv_need(setup.deployment).per_gpu, answering.targets(len(requests))
    tokens = requests.prompt_tokens
    given = handed_over(prompts.done_s, prompts.source, tokens, answering.link, cache, target, prompts.order)
    parts = _answered(setup, requests, given, answering)
    mine = np.concatenate([part.mine for part in parts])
    order = np.argsort(mine, kind="stable")
    table = _table(setup, requests, parts, mine, order)
    inside = settled(table)
    preempted = np.concatenate([part.outcome.preemptions for part in parts])
    stays_s = table.last_token_s - setup.request_s - given.there_s[mine[order]]
    return CellSeen(
        {probe: taken(probe, values_of(setup, parts[0], probe, table, inside)) for probe in probes},
        float(stays_s[inside].mean()),
        float((given.there_s - prompts.done_s).mean()),
        prompts.cached_share,
        prompts.preemptions + float(preempted.mean()),
    )


def _answered(setup: ReplicaSetup, requests: Requests, given: Handed, answering: Answering) -> list[Part]:
    """By as many engines as it takes for so many answers."""
    answers, cell = answers_of(requests, given.there_s), answering.cell
    engines = min(cell.whole_answers, math.ceil(cell.answers * answering.wanted / len(requests)))
    each = math.ceil(answering.wanted / engines)
    return [served_by(setup, answers, engine, given.at(engine)[:each]) for engine in range(engines)]


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


def values_of(setup: ReplicaSetup, part: Part, probe: Probe, table: RequestTable, inside: NDArray[np.bool_]) -> Floats:
    """What `probe` takes of each request `inside` the measured part; of gaps between tokens, of those at `part`."""
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
