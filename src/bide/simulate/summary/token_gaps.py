"""Times between a request's tokens, from a stretch of the run that is simulated once more with every step kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bide.simulate.fleet.run import FleetRun
from bide.simulate.fleet.traffic import requests_of
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.kernel import fields as at
from bide.simulate.scheduler.outcome import StepLog
from bide.simulate.scheduler.simulate import simulate
from bide.simulate.summary.window import Window
from bide.workload.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_REQUESTS = 4000
_LEAD = 0.2
"""Of the stretch, at its beginning: it fills the engine, and is not counted."""


def token_gaps(setup: ReplicaSetup, traffic: Traffic, run: FleetRun, window: Window) -> tuple[Floats, Floats]:
    """(when, seconds) of each gap between deliveries at the first engine.

    The whole run after the warm-up where the engine got no more than `MOST_REQUESTS`, else that many from then on.
    """
    import numpy as np

    served = np.flatnonzero((run.engine == 0) & np.isfinite(run.table.last_token_s))
    first = int(np.searchsorted(traffic.arrival_s[served], window.start_s))
    if len(served) > MOST_REQUESTS:
        first = max(0, min(first - int(_LEAD * MOST_REQUESTS), len(served) - MOST_REQUESTS))
        stretch, lead = served[first : first + MOST_REQUESTS], int(_LEAD * MOST_REQUESTS)
    else:
        stretch, lead = served, first
    if not len(stretch):
        return np.zeros(0), np.zeros(0)
    part = traffic.taken(stretch)
    outcome = simulate(setup.config, setup.cost, requests_of(part, setup.config), record_steps=True)
    assert outcome.log is not None
    when_s, gaps_s, request = gaps_of(outcome.log, part.prompt_tokens, setup.config.speculative_tokens)
    kept = request >= lead
    return when_s[kept], gaps_s[kept]


def gaps_of(log: StepLog, prompt_tokens: Ints, drafts: int = 0) -> tuple[Floats, Floats, Ints]:
    """(when, seconds, request) of each gap: between the ends of steps that took a request further than any before.

    A prompt's chunks deliver nothing, nor does computing again what a preempted request had; the first
    delivery of a request is no gap. A step that verifies drafts is one delivery.
    """
    import numpy as np

    sizes = log.steps[:, at.STEP_SIZE]
    number = np.repeat(np.arange(len(sizes)), sizes)
    offset = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    entries = log.entries[np.repeat(log.steps[:, at.ENTRY_START], sizes) + offset]
    order = np.argsort(entries[:, at.ENTRY_REQUEST], kind="stable")
    request = entries[order, at.ENTRY_REQUEST]
    before, tokens = entries[order, at.ENTRY_BEFORE], entries[order, at.ENTRY_TOKENS]
    decodes = (before >= prompt_tokens[request]) & (tokens <= 1 + drafts)
    reached = before + np.where(decodes, 1, tokens)
    delivers = (reached >= prompt_tokens[request]) & (reached > _reached_before(request, reached))
    end_s, request = log.spans_s[number[order], 1][delivers], request[delivers]
    same = request[1:] == request[:-1]
    return end_s[1:][same], np.diff(end_s)[same], request[1:][same]


def _reached_before(request: Ints, reached: Ints) -> Ints:
    """The most that earlier entries of the same request reached; 0 for its first."""
    import numpy as np

    step = int(reached.max(initial=0)) + 1
    lifted = np.maximum.accumulate(request * step + reached)
    before = np.concatenate(([0], lifted[:-1])) - request * step
    return np.maximum(before, 0)
