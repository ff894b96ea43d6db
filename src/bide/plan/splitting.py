"""A mixed fleet: short prompts on one kind of GPU, long ones on another.

Short requests hardly need the bandwidth and memory that long ones do, and a cheap card may serve them for less; and
among themselves they do not wait behind long prompts. A router that looks at the prompt's length sends each where it
belongs.

Each class must keep the service's limits by itself. That is enough for the whole: where at least a share q of the
requests of each class is within a limit, at least q of all of them are, whatever the classes' sizes (their shares'
weighted mean); a mean that is within the limit in each class is so over all; and a request that keeps every limit of a
goodput does so in either class. It asks for more than is needed, so that a mixed fleet is never promised too early.

Thresholds and candidates depend on the workload and the hardware alone, each kind may be at most half of the GPUs that
are allowed, and the cheapest of all ways is taken: so a longer patience never costs more here either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from bide.i18n import _
from bide.plan.choice import Bill, bill_of, bill_of_all
from bide.plan.findings import Verified
from bide.plan.option import Option
from bide.plan.question import Hardware, Service

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bide.plan.operation import Operation

    Booleans = NDArray[np.bool_]

THRESHOLD_PERCENTS = (50.0, 75.0, 90.0)
"""Of the prompts' lengths."""
_TOKENS = "max_num_batched_tokens"
"""The engine's own, where the service says nothing of it: a third of the candidates, for a fleet that seldom wins."""
_FEWEST = 100
"""Requests that a class must have in the workload, as many as a trace must: a percentile of fewer says little."""


class Cards(Protocol):
    """What there is for one service: `plan.cheapest.Field`."""

    @property
    def least_usd(self) -> float: ...

    def without(self, gpu_id: str) -> Cards: ...

    def cheapest(self, below_usd: float) -> Option | None: ...


Offering = Callable[[Service, Hardware], Cards]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The requests of a service on one side of the threshold, as a service, and what serves them."""

    service: Service
    option: Option
    verified: Verified | None = None
    operation: Operation | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MixedFleet:
    """Prompts of up to `threshold_tokens` on `short`, the others on `long`; `single` would serve all."""

    threshold_tokens: int
    short_share: float
    """Of the requests."""
    short: Part
    long: Part
    single: Option

    @property
    def options(self) -> tuple[Option, Option]:
        return self.short.option, self.long.option

    @property
    def bill(self) -> Bill:
        return bill_of_all(self.options)

    @property
    def gpus(self) -> int:
        return self.bill[2]

    @property
    def usd_per_hour(self) -> float:
        return self.bill[1]

    @property
    def saved_usd_per_hour(self) -> float:
        """Against the single fleet; only such are made."""
        return bill_of(self.single)[1] - self.usd_per_hour


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A service cut in two at a prompt length."""

    threshold_tokens: int
    short_share: float
    short: Service
    long: Service


def splits(service: Service) -> Iterator[Split]:
    """At the median and two higher percentiles of the prompts' lengths, each length once."""
    import numpy as np

    prompt = service.workload.prompt_tokens
    for threshold in sorted({int(tokens) for tokens in np.percentile(prompt, THRESHOLD_PERCENTS)}):
        short = prompt <= threshold
        if min(short.sum(), (~short).sum()) >= _FEWEST:
            parts = _part(service, short, _("short prompts")), _part(service, ~short, _("long prompts"))
            yield Split(threshold, float(short.mean()), *parts)


def _part(service: Service, rows: Booleans, what: str) -> Service:
    """The service with those requests alone, in the bursts in which they come, at their share of the rate."""
    import numpy as np

    work, trace = service.workload, service.trace
    gaps = np.diff(work.arrivals_s(1.0)[rows], prepend=0.0)
    return replace(
        service,
        name=f"{service.name}, {what}",
        workload=replace(
            work,
            prompt_tokens=work.prompt_tokens[rows],
            output_tokens=work.output_tokens[rows],
            gaps=gaps / gaps.mean(),
        ),
        traffic=replace(service.traffic, peak_rps=service.traffic.peak_rps * float(rows.mean()), users=None),
        trace=trace.taken(np.flatnonzero(rows)) if trace else None,
        engine=service.engine if _told(service) else {**service.engine, _TOKENS: None},
        measured=None,  # with all of the requests
    )


def _told(service: Service) -> bool:
    return _TOKENS in service.engine or _TOKENS in service.choices


def cheapest_mixed(service: Service, single: Option, hardware: Hardware, offering: Offering) -> MixedFleet | None:
    """The cheapest mixed fleet that costs less than `single`; None where there is none, or where prices are missing."""
    if single.cost is None or len(hardware.gpus) < 2:
        return None
    found: MixedFleet | None = None
    below = single.cost.usd_per_hour
    half = replace(hardware, max_gpus=hardware.max_gpus // 2)
    for split in splits(service):
        mixed = _at(split, single, half, offering, below)
        if mixed is not None and mixed.usd_per_hour < below:
            found, below = mixed, mixed.usd_per_hour
    return found


def _at(split: Split, single: Option, hardware: Hardware, offering: Offering, below: float) -> MixedFleet | None:
    """The cheapest at one threshold that costs less than `below`, on two kinds of GPU."""
    short, long = offering(split.short, hardware), offering(split.long, hardware)
    pair = _cheapest_pair(short, long, below)
    if pair is None:
        return None
    parts = Part(split.short, pair[0]), Part(split.long, pair[1])
    return MixedFleet(split.threshold_tokens, split.short_share, *parts, single)


def _cheapest_pair(short: Cards, long: Cards, below: float) -> tuple[Option, Option] | None:
    """Each class on the kind that is cheapest for it: where these differ, nothing is cheaper.

    Where they are the same, one of the two goes to the next best kind: a pair that avoids the best kind for both is
    beaten by either.
    """
    first = short.cheapest(below - long.least_usd)
    second = long.cheapest(below - _usd(first)) if first else None
    if first is None or second is None:
        return None
    gpu = first.candidate.gpu.id
    if second.candidate.gpu.id != gpu:
        return first, second
    found: tuple[Option, Option] | None = None
    other = short.without(gpu).cheapest(below - _usd(second))
    if other is not None:
        found, below = (other, second), _usd(other) + _usd(second)
    other = long.without(gpu).cheapest(below - _usd(first))
    return (first, other) if other is not None else found


def _usd(option: Option) -> float:
    return bill_of(option)[1]
