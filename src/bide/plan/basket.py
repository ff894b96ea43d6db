"""The requests that every candidate is tried with: the same ones, in the same order, at every rate.

Common random numbers: two candidates, or two rates, differ in what they do and not in what they were
sent. Pairs of lengths stay together, and gaps between arrivals keep the unevenness of the workload.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from bide.physics.same import Same
from bide.plan.asks import Ask, asks_of
from bide.plan.question import Goodput, Service
from bide.simulate.fleet.traffic import Traffic, requests_of
from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.requests import Requests

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

REQUESTS, REQUESTS_FOR_P99 = 2048, 4096
"""Requests of a run: a shorter workload is played over and over, of a longer one stretches are taken. The few that a
99th percentile is made of need a longer run."""
_P99 = 99.0
_STRETCHES = 16


@dataclass(frozen=True, eq=False)
class Basket:
    """`traffic` has a mean rate of 1 request a second. `groups`: which requests are of each class of the service."""

    traffic: Traffic
    groups: tuple[Booleans, ...] = ()
    _made: dict[tuple[int, bool], Requests] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.traffic)

    def requests(self, config: SchedulerConfig, requests_per_s: float) -> Requests:
        """The columns for a scheduler, arriving at this mean rate (infinite: all at once)."""
        key = (config.hash_block_tokens, config.enable_prefix_caching)
        if key not in self._made:
            self._made[key] = requests_of(self.traffic, config)
        made = self._made[key]
        return replace(made, arrival_s=made.arrival_s / requests_per_s)

    def stretch(self, config: SchedulerConfig, rows: slice, arrival_s: Floats) -> Requests:
        """Some of the requests in a row, arriving as told."""
        import numpy as np

        part = replace(self.traffic.taken(np.arange(len(self))[rows]), arrival_s=arrival_s[rows])
        return requests_of(part, config)

    def repeated(self, at_least: int) -> Basket:
        """The whole over and over until it has so many; what prompts share, they share within one round."""
        return self if at_least <= len(self) else _taken(self, _rows(len(self), at_least))


def basket_of(service: Service) -> Basket:
    """The basket of `service`, kept for the next candidate."""
    return _basket_of(Same(service))


@lru_cache(maxsize=64)
def _basket_of(kept: Same[Service]) -> Basket:
    service = kept.value
    return basket_with(service, len(service.workload) if service.classes else run_requests(service))


def run_requests(service: Service) -> int:
    """Requests of a run of `service`. One with classes was made as long as its rarest class needs."""
    rare = any(_percent(ask) >= _P99 for ask in asks_of(service))
    return REQUESTS_FOR_P99 if rare else REQUESTS


def basket_with(service: Service, requests: int) -> Basket:
    """A basket of so many requests."""
    work = service.workload
    whole = Basket(_traffic(service, work.arrivals_s(1.0)), tuple(group.rows for group in service.classes))
    return _taken(whole, _rows(len(work), requests))


def _percent(ask: Ask) -> float:
    measure = ask.probe.measure
    return 100 * measure.share if isinstance(measure, Goodput) else measure.percent or 0.0


def _traffic(service: Service, arrival_s: Floats) -> Traffic:
    import numpy as np

    work, trace = service.workload, service.trace
    blocks = None
    if trace is not None and trace.blocks is not None:
        answered = np.flatnonzero(trace.answered)
        blocks = trace.blocks.taken(answered).numbered() if len(answered) == len(work) else None
    return Traffic(arrival_s, work.prompt_tokens, work.output_tokens, work.source, blocks)


def _rows(there: int, count: int) -> Ints:
    """All rows over and over until there are so many; or stretches, evenly spread, of a long workload."""
    import numpy as np

    if there <= count:
        return np.arange(count) % there
    length = count // _STRETCHES
    starts = np.linspace(0, there - length, _STRETCHES).astype(np.int64)
    return (starts[:, None] + np.arange(length)).ravel()


def _taken(basket: Basket, rows: Ints) -> Basket:
    """Those rows, one after another at a mean rate of 1."""
    import numpy as np

    traffic = basket.traffic
    gaps = np.diff(traffic.arrival_s, prepend=0.0)[rows]
    blocks = traffic.blocks.taken(rows) if traffic.blocks else None
    if blocks is not None:
        rounds = np.repeat(np.cumsum(np.diff(rows, prepend=-1) < 0), blocks.counts)
        blocks = replace(blocks, ids=blocks.ids + rounds * (int(blocks.ids.max(initial=-1)) + 1))
    return Basket(
        replace(
            traffic,
            arrival_s=np.cumsum(gaps / gaps.mean()),
            prompt_tokens=traffic.prompt_tokens[rows],
            output_tokens=traffic.output_tokens[rows],
            blocks=blocks,
        ),
        tuple(group[rows] for group in basket.groups),
    )
