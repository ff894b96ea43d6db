"""What must hold of a run: each limit and each share of a service, over all of its requests or over one class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bide.plan.question import Goodput, Limit, Measure, Service

EVERYBODY = -1


@dataclass(frozen=True, slots=True)
class Probe:
    """A number that is taken of a run, over the requests of the service's class `group` (-1: over all).

    Seconds for a Measure. For a Goodput the ratio of a latency to its limit, the worst of each
    request, at the percentile of the share: 1 or less where so many requests keep every limit.
    """

    measure: Measure | Goodput
    group: int = EVERYBODY


@dataclass(frozen=True, slots=True)
class Ask:
    """`probe` is to be at most `most`."""

    probe: Probe
    most: float

    def scaled(self, factor: float) -> Ask:
        """With `factor` times the patience."""
        return replace(self, most=self.most * factor)


Asks = tuple[Ask, ...]


def asks_of(service: Service) -> Asks:
    """Everything that the service asks for."""
    if not service.classes:
        return tuple(_asks(service.patience, service.goodput, EVERYBODY))
    found: list[Ask] = []
    for number, group in enumerate(service.classes):
        found += _asks(group.patience, group.goodput, number)
    return tuple(found)


def _asks(patience: Iterable[Limit], goodput: Goodput | None, group: int) -> Iterable[Ask]:
    for limit in patience:
        yield Ask(Probe(limit.measure, group), limit.seconds)
    if goodput is not None:
        yield Ask(Probe(goodput, group), 1.0)
