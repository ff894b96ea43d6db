"""Prompts computed by some engines and answered by others, behind routers that look at nothing.

Then nothing that happens at an answering engine touches one that computes prompts, and each engine can
serve its requests in one go: first all prompts, then the transfers in the order in which these end, then
the answers. The same run as `together.Together` makes event by event, in a fraction of the time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bide.facts.layers import Cost
from bide.physics.kv import kv_need
from bide.simulate.fleet.apart import Progress, dealt, only
from bide.simulate.fleet.link import Link, link_of
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.served import OK, UNFINISHED, Inbox, Served, Watched
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.outcome import Outcome
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One engine's requests (by place), when each came to it, and what it did with them."""

    engine: int
    mine: Ints
    requests: Requests
    outcome: Outcome


@dataclass(frozen=True, slots=True, eq=False)
class Handed:
    """Requests in the order in which their prompts were done: which engine answers each, and from when on."""

    order: Ints
    engine: Ints
    there_s: Floats
    """By request, in the order in which clients sent them."""

    def at(self, engine: int) -> Ints:
        """The requests of one answering engine, in the order in which they come to it."""
        mine: Ints = self.order[self.engine == engine]
        return mine


def prompts_of(requests: Requests) -> Requests:
    """What engines for prompts get: one token to answer, which nobody sees."""
    import numpy as np

    return replace(requests, output_tokens=np.ones_like(requests.output_tokens))


def answers_of(requests: Requests, there_s: Floats | None = None) -> Requests:
    """What engines for answers get, from when on (as they are where that is not told): prompts whose cache is sent."""
    arrival_s = requests.arrival_s if there_s is None else there_s
    return replace(requests, loaded_tokens=requests.prompt_tokens, arrival_s=arrival_s)


def served_by(setup: ReplicaSetup, requests: Requests, engine: int, mine: Ints, every_s: float | None = None) -> Part:
    """One engine serves its share of the requests, from the first to the last."""
    own = only(requests, mine)
    return Part(engine, mine, own, simulate(setup.config, setup.cost, own, sample_every_s=every_s))


def in_order(done_s: Floats, source: Ints) -> Ints:
    """Requests as their prompts are done; of those that are at the same time by engine, then the earlier first."""
    import numpy as np

    return np.lexsort((np.arange(len(done_s)), source, done_s))


def handed_over(
    done_s: Floats, source: Ints, tokens: Ints, link: Link, cache: Cost, target: Ints, order: Ints | None = None
) -> Handed:
    """Where and when each prompt's cache arrives. `target`: the answering engine of the first that is done, and so on.

    `order`: of the prompts, as `in_order` gives it.
    """
    import numpy as np

    from bide.simulate.fleet.in_turn import in_turn

    order = in_order(done_s, source) if order is None else order
    sent_s = cache_bytes(cache, tokens[order]) / link.bytes_per_s
    there_s = in_turn(done_s[order], sent_s, source[order], target)
    by_request_s = np.empty(len(order))
    by_request_s[order] = there_s + link.latency_s
    return Handed(order, target, by_request_s)


def cache_bytes(cache: Cost, tokens: Ints) -> Floats:
    """`Cost.request_bytes` of each."""
    import numpy as np

    windowed = sum(each.bytes_per_token * np.minimum(tokens, each.window_tokens) for each in cache.windows)
    return np.asarray(cache.growing_bytes_per_token * tokens + windowed + cache.fixed_bytes_per_request, dtype=float)


def serve_staged(
    setup: ReplicaSetup, requests: Requests, rules: FleetRules, sample_every_s: float | None, progress: Progress
) -> Served:
    """Every request, through both pools."""
    import numpy as np

    each, prompts = setup.engines, prompts_of(requests)
    first, last = rules.prefill_replicas * each, rules.decode_replicas * each
    served, parts = Served.nothing(len(requests)), []
    source = dealt(len(requests), first, rules.router, rules.seed)
    for engine in range(first):
        parts.append(served_by(setup, prompts, engine, np.flatnonzero(source == engine), sample_every_s))
        _note(served, parts[-1], ("first_scheduled_s", "finish_s", "preemptions", "cached_tokens"))
        progress((engine + 1) / (first + last))
    link, cache = link_of(setup.deployment, rules), kv_need(setup.deployment).per_gpu
    target = dealt(len(requests), last, rules.decode_router or rules.router, rules.seed + rules.prefill_replicas)
    handed = handed_over(served.finish_s, source, requests.prompt_tokens, link, cache, target)
    answers, preempted = answers_of(requests, handed.there_s), served.preemptions.copy()
    for engine in range(last):
        part = served_by(setup, answers, engine, handed.at(engine), sample_every_s)
        _note(served, part, ("first_token_s", "finish_s", "preemptions", "output_tokens"))
        served.engine[part.mine] = first + engine
        parts.append(part)
        progress((first + engine + 1) / (first + last))
    served.preemptions += preempted
    served.status[:] = np.where(np.isfinite(served.finish_s), OK, UNFINISHED)
    served.steps = sum(part.outcome.steps for part in parts)
    served.samples = tuple(Watched(part.outcome.samples) for part in parts if part.outcome.samples)
    served.inbox = next((Inbox(part.mine, part.requests.arrival_s) for part in parts[first:] if len(part.mine)), None)
    return served


def _note(served: Served, part: Part, names: tuple[str, ...]) -> None:
    for name in names:
        getattr(served, name)[part.mine] = getattr(part.outcome, name)
