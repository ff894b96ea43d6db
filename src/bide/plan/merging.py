"""Several services as one stream of requests, in which each request knows whose it is.

Each service's requests are played at its part of a rate of 1, in the proportion of the planned peaks, for the time
that a basket of all of them lasts. Bursts stay as they are within each service and are independent between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bide.i18n import _
from bide.plan.basket import basket_of, run_requests
from bide.plan.question import ApiPrice, Service, ServiceClass, Traffic
from bide.sourced import Source
from bide.workload.blocks import Blocks, starts_of
from bide.workload.requests import Workload
from bide.workload.trace import Trace
from bide.workload.traffic import Traffic as Stream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_MOST = 8192
"""Requests of all services together."""
_FEWEST = 512
"""Of the rarest service, up to that: a 95th percentile of fewer is promised with a wide margin, or not at all."""


def merged(services: Sequence[Service]) -> Service:
    """All of them as one service, each a class of it with its own patience.

    They must be of one model with the same engine keys; the first one's stand for all.
    """
    import numpy as np

    rates = [service.traffic.planned_rps for service in services]
    shares = [rate / sum(rates) for rate in rates]
    count = _count(services, min(shares))
    streams = [_stream(service, share, count) for service, share in zip(services, shares, strict=True)]
    times_s = np.concatenate([stream.arrival_s for stream in streams])
    order = np.argsort(times_s, kind="stable")
    whose = np.repeat(np.arange(len(streams)), [len(stream) for stream in streams])[order]
    workload = _workload(services, streams, order, times_s[order])
    return replace(
        services[0],
        name=_(" and ").join(service.name for service in services),
        workload=workload,
        traffic=_traffic(services),
        trace=_trace(workload, _blocks(streams, order)),
        api_price=_same([service.api_price for service in services]),
        measured=None,  # with the requests of one of them
        classes=tuple(
            ServiceClass(service.name, whose == place, service.patience, service.goodput)
            for place, service in enumerate(services)
        ),
    )


def _count(services: Sequence[Service], smallest_share: float) -> int:
    """Requests of all: as many as one of the services is tried with, or more where the rarest has few."""
    usual = max(run_requests(service) for service in services)
    return max(usual, min(_MOST, math.ceil(_FEWEST / smallest_share)))


def _stream(service: Service, share: float, count: int) -> Stream:
    """The service's requests at a rate of `share`, its part of `count`."""
    import numpy as np

    wanted = max(1, round(share * count))
    stream = basket_of(service).repeated(wanted).traffic.taken(np.arange(wanted))
    return replace(stream, arrival_s=stream.arrival_s / share)


def _workload(services: Sequence[Service], streams: Sequence[Stream], order: Ints, times_s: object) -> Workload:
    import numpy as np

    gaps = np.diff(np.asarray(times_s), prepend=0.0)
    works = [service.workload for service in services]
    return Workload(
        np.concatenate([stream.prompt_tokens for stream in streams])[order],
        np.concatenate([stream.output_tokens for stream in streams])[order],
        gaps / gaps.mean(),
        Source("; ".join(work.source.text for work in works), kind="derived"),
        tuple(dict.fromkeys(assumption for work in works for assumption in work.assumptions)),
        tuple(dict.fromkeys(note for work in works for note in work.notes)),
    )


def _traffic(services: Sequence[Service]) -> Traffic:
    """Rates add up, with a margin that makes the planned rates do so too. The hours are kept where all have them."""
    peaks = [service.traffic.peak_rps for service in services]
    planned = sum(service.traffic.planned_rps for service in services)
    days = [service.traffic.hours for service in services]
    hours = _hours(days, [peak / sum(peaks) for peak in peaks]) if all(days) else ()
    return Traffic(sum(peaks), planned / sum(peaks), hours=hours, users=_users(services))


def _users(services: Sequence[Service]) -> float | None:
    """Of all, where all state them; who uses two services counts twice."""
    users = [service.traffic.users for service in services]
    return None if None in users else sum(count for count in users if count is not None)


def _same(prices: Sequence[ApiPrice | None]) -> ApiPrice | None:
    """What an API asks, where it asks the same for all."""
    return prices[0] if len(set(prices)) == 1 else None


def _hours(days: Sequence[Sequence[float]], weights: Sequence[float]) -> tuple[float, ...]:
    """Shares of the sum of the peaks: below 1 throughout where the peaks do not coincide."""
    return tuple(sum(w * share for w, share in zip(weights, hour, strict=True)) for hour in zip(*days, strict=True))


def _blocks(streams: Sequence[Stream], order: Ints) -> Blocks | None:
    """What prompts share within each service, where it is known in blocks of one size; services share nothing."""
    import numpy as np

    sizes = {stream.blocks.tokens for stream in streams if stream.blocks}
    if len(sizes) != 1:
        return None
    chains = [stream.blocks or Blocks.of([()] * len(stream), sizes.copy().pop()) for stream in streams]
    firsts = np.cumsum([0, *(int(chain.ids.max(initial=-1)) + 1 for chain in chains)])
    ids = np.concatenate([chain.ids + first for chain, first in zip(chains, firsts, strict=False)])
    counts = np.concatenate([chain.counts for chain in chains])
    return Blocks(starts_of(counts), ids, sizes.pop()).taken(order)


def _trace(workload: Workload, blocks: Blocks | None) -> Trace | None:
    if blocks is None:
        return None
    return Trace(workload.prompt_tokens, workload.output_tokens, workload.arrivals_s(1.0), workload.source, blocks)
