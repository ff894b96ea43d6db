"""Times between a request's tokens, from a stretch of the run that is simulated once more with every step kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bide.simulate.fleet.run import FleetRun
from bide.simulate.fleet.served import Inbox
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
_MOST_GAPS = 400_000
_FEWEST_REQUESTS = 1000
_LEAD = 0.2
"""Of the stretch, at its beginning: it fills the engine, and is not counted."""


def token_gaps(
    setup: ReplicaSetup, traffic: Traffic, run: FleetRun, window: Window, loaded: bool = False
) -> tuple[Floats, Floats]:
    """(when, seconds) of each gap between deliveries at the first engine that answers; `loaded` where prompts were
    computed elsewhere. Only of requests that went well; the others are there.

    The whole run after the warm-up where the engine got no more than `MOST_REQUESTS`, else that many from then on;
    fewer where answers are long.
    """
    import numpy as np

    if run.inbox is None:
        return np.zeros(0), np.zeros(0)
    stretch, lead = _stretch(run.inbox, window.start_s, _most_requests(traffic))
    part = replace(traffic.taken(stretch.requests), arrival_s=stretch.arrival_s)
    requests = requests_of(part, setup.config, loaded)
    outcome = simulate(setup.config, setup.cost, requests, record_steps=True, aborts=stretch.left)
    assert outcome.log is not None
    when_s, gaps_s, request = gaps_of(outcome.log, part.prompt_tokens, setup.config.speculative_tokens)
    counts = np.arange(len(stretch.requests)) >= lead
    counts[[place for _time_s, place in stretch.left]] = False
    kept = counts[request]
    return when_s[kept], gaps_s[kept]


def _stretch(inbox: Inbox, start_s: float, most: int) -> tuple[Inbox, int]:
    """What of an engine's requests is simulated again, and how many of it come before those that count."""
    import numpy as np

    first, count = int(np.searchsorted(inbox.arrival_s, start_s)), len(inbox.requests)
    if count <= most:
        return inbox, first
    lead = int(_LEAD * most)
    first = max(0, min(first - lead, count - most))
    return inbox.between(first, first + most), lead


def _most_requests(traffic: Traffic) -> int:
    return int(min(MOST_REQUESTS, max(_FEWEST_REQUESTS, _MOST_GAPS / float(traffic.output_tokens.mean()))))


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
    small = np.min_scalar_type(len(prompt_tokens))  # numbers of 16 bits are sorted several times as fast
    order = np.argsort(entries[:, at.ENTRY_REQUEST].astype(small), kind="stable")
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
