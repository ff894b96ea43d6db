"""The prompts of a cell at a rate: when each is done, by its own engine, whoever answers then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.plan.asks import Probe
from bide.plan.question import Goodput, Timed
from bide.plan.trial import taken
from bide.simulate.fleet.apart import dealt
from bide.simulate.fleet.rules import RouterName
from bide.simulate.fleet.staged import in_order, prompts_of, served_by
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.requests import Requests

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Prompts:
    """What `engines` did with the prompts of a stream: no more of it than what comes after depends on."""

    engines: int
    router: RouterName
    done_s: Floats
    """By request."""
    order: Ints
    """The requests as they were done."""
    cached_share: float
    """Of the prompt tokens, found in the engines' caches."""
    preemptions: float
    """Of a request, on average."""

    def __len__(self) -> int:
        return len(self.done_s)

    @property
    def source(self) -> Ints:
        """The engine of each request."""
        return _sources(len(self), self.engines, self.router)


def _sources(requests: int, engines: int, router: RouterName) -> Ints:
    return dealt(requests, engines, router, 0)


def computed(setup: ReplicaSetup, requests: Requests, engines: int, router: RouterName) -> Prompts:
    """The prompts of a stream, on so many engines."""
    import numpy as np

    prompts, source = prompts_of(requests), _sources(len(requests), engines, router)
    done_s, cached, preempted = np.zeros(len(requests)), 0, 0
    for number in range(engines):
        part = served_by(setup, prompts, number, np.flatnonzero(source == number))
        done_s[part.mine] = part.outcome.finish_s
        cached += int(part.outcome.cached_tokens.sum())
        preempted += int(part.outcome.preemptions.sum())
    shares = cached / int(requests.prompt_tokens.sum()), preempted / len(requests)
    return Prompts(engines, router, done_s, in_order(done_s, source), *shares)


def after_prompts(takes_s: Floats, probe: Probe, after_s: Mapping[Timed, Floats]) -> float:
    """The least that is promised of `probe`, once prompts took `takes_s`; `after_s`: until the first and last token.

    0 for times between tokens, of which prompts say nothing.
    """
    import numpy as np

    measure = probe.measure
    if isinstance(measure, Goodput):
        limited = [(takes_s + after_s[name]) / limit for name, limit in measure.limits if name in after_s]
        return taken(probe, np.max(limited, axis=0))[1] if limited else 0.0
    return taken(probe, takes_s + after_s[measure.latency])[1] if measure.latency in after_s else 0.0
