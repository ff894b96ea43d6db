"""The requests that every candidate is tried with: the same ones, in the same order, at every rate.

Common random numbers: two candidates, or two rates, differ in what they do and not in what they were
sent. Pairs of lengths stay together, and gaps between arrivals keep the unevenness of the workload.

A replica of many does not get the workload but every k-th request of it, which comes more evenly: a burst
is shared out. Its basket is the workload played over and over, of which it takes one and leaves k - 1
(`random` routers: leaves k - 1 on average), so that what it gets in a row is what a replica of k would get.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING

from bide.physics.same import Same
from bide.plan.asks import Ask, asks_of
from bide.plan.question import Goodput, Service
from bide.simulate.fleet.traffic import requests_of
from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.requests import Requests
from bide.workload.traffic import Traffic

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
_MOST = 16384
"""Requests of a longer run than usual."""
_STRETCHES = 16
_SEED = 20240601
_TURNS = 2 * 3 * 5 * 7


@dataclass(frozen=True, slots=True)
class Share:
    """Of the requests, one in so many (not necessarily a whole number); in turn or drawn."""

    one_in: float = 1
    at_random: bool = False


WHOLE = Share()


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

    @property
    def gaps_s(self) -> Floats:
        """Before each request."""
        import numpy as np

        return np.diff(self.traffic.arrival_s, prepend=0.0)

    def repeated(self, at_least: int) -> Basket:
        """The whole over and over until it has so many; what prompts share, they share within one round."""
        rows = _rows(len(self), at_least)
        return self if at_least <= len(self) else _taken(self, rows, self.gaps_s[rows])


def basket_of(service: Service, share: Share = WHOLE, times: int = 1) -> Basket:
    """The basket of `service`, kept for the next candidate.

    `times` as many requests as a run usually has, as far as the workload has them: more of the same would be no surer.
    """
    return _basket_of(Same(service), share, times)


@lru_cache(maxsize=256)
def _basket_of(kept: Same[Service], share: Share, times: int) -> Basket:
    service = kept.value
    usual = len(service.workload) if service.classes else run_requests(service)
    there = max(usual, min(len(service.workload), _MOST))
    return basket_with(service, min(times * usual, there), share)


def run_requests(service: Service) -> int:
    """Requests of a run of `service`. One with classes was made as long as its rarest class needs."""
    rare = any(_percent(ask) >= _P99 for ask in asks_of(service))
    return REQUESTS_FOR_P99 if rare else REQUESTS


def basket_with(service: Service, requests: int, share: Share = WHOLE) -> Basket:
    """A basket of so many requests."""
    work = service.workload
    whole = Basket(_traffic(service, work.arrivals_s(1.0)), tuple(group.rows for group in service.classes))
    if share.one_in > 1:
        return _taken(whole, *_dealt(whole.traffic.arrival_s, share, requests))
    rows = _rows(len(work), requests)
    return _taken(whole, rows, whole.gaps_s[rows])


def stream_of(service: Service, requests: int, share: Share = WHOLE) -> Basket:
    """So many requests as they come to a fleet or to a part of it, in which no replica meets the same in every round.

    Kept for the next candidate. The workload is cut to a number that none of 2, 3, 5 and 7 divides: those who take
    turns come by all of it.
    """
    return _stream_of(Same(service), requests, share)


@lru_cache(maxsize=64)
def _stream_of(kept: Same[Service], requests: int, share: Share) -> Basket:
    service = kept.value
    arrival_s = service.workload.arrivals_s(1.0)
    there = next(count for count in range(len(arrival_s), 0, -1) if gcd(count, _TURNS) == 1)
    whole = Basket(_traffic(service, arrival_s), tuple(group.rows for group in service.classes))
    if share.one_in > 1:
        return _taken(whole, *_dealt(arrival_s[:there], share, requests))
    rows = _rows(there, requests)
    return _taken(whole, rows, whole.gaps_s[rows])


def _dealt(arrival_s: Floats, share: Share, requests: int) -> tuple[Ints, Floats]:
    """Rows that one replica gets of a workload that is played over and over, and the gaps between them.

    The workload is cut to a number of requests that neither 2 nor 3 divides, as k has no other factors: then every k-th
    comes by all of them.
    """
    import numpy as np

    there = next(count for count in range(len(arrival_s), 0, -1) if count % 2 and count % 3)
    count = max(there, requests)
    steps = np.diff(np.floor(np.arange(count + 1) * share.one_in)).astype(np.int64)
    if share.at_random:
        steps = np.random.default_rng(_SEED).geometric(1 / share.one_in, count)
    place = np.cumsum(steps)
    gaps = np.diff(arrival_s[:there], prepend=0.0)
    rounds, rows = np.divmod(place, there)
    when_s = rounds * float(gaps.sum()) + np.cumsum(gaps)[rows]
    between_s = np.diff(when_s, prepend=when_s[0] - gaps.mean() * steps[0])
    kept = _rows(count, requests)
    return rows[kept], between_s[kept]


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


def _taken(basket: Basket, rows: Ints, gaps: Floats) -> Basket:
    """Those rows, one after another with gaps in proportion, at a mean rate of 1.

    What prompts share, they share within a round: until rows begin anew.
    """
    import numpy as np

    traffic = basket.traffic
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
