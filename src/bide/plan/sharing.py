"""Services of one model on one fleet, against fleets of their own: the cheaper way wins.

A fleet for all saves what rounding up to whole replicas wastes, the spare replicas of each, and waiting, where the
bursts of one fall into the lulls of another. It costs where one service is in more of a hurry than another: then all
are served as fast as the hastiest asks. Each service's percentiles are taken over its own requests, and all must keep
their limits. Their peaks are taken to coincide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.plan.choice import bill_of_all
from bide.plan.findings import Verified
from bide.plan.option import Option
from bide.plan.question import Service

if TYPE_CHECKING:
    from bide.plan.operation import Operation


@dataclass(frozen=True, slots=True, eq=False)
class SharedFleet:
    """One fleet for several services. `alone`: what each would take apart, in the same order."""

    services: tuple[str, ...]
    together: Service
    """The services as one."""
    option: Option
    alone: tuple[Option, ...]
    verified: tuple[Verified, ...] = ()
    """Each service's own requests in a run of the whole fleet, in the same order."""
    operation: Operation | None = None

    @property
    def saved_gpus(self) -> int:
        """Against fleets of their own; below 0 where more GPUs, of a cheaper kind, do."""
        return sum(option.gpus for option in self.alone) - self.option.gpus

    @property
    def saved_usd_per_hour(self) -> float | None:
        """None where a price is missing; below 0 where only a shared fleet has as few GPUs as are allowed."""
        missing, usd, _gpus = bill_of_all(self.alone)
        return None if missing or self.option.cost is None else usd - self.option.cost.usd_per_hour


def sharing_groups(services: Sequence[Service]) -> tuple[tuple[int, ...], ...]:
    """The services, by place, that one fleet could serve: of one model, with the same engine keys and choices.

    Shared fleets are of replicas that do both stages: services that must not have these are left out.
    """
    groups: list[list[int]] = []
    for place, service in enumerate(services):
        fitting = [group for group in groups if _alike(services[group[0]], service)]
        if fitting:
            fitting[0].append(place)
        else:
            groups.append([place])
    return tuple(tuple(group) for group in groups if len(group) > 1)


def _alike(one: Service, other: Service) -> bool:
    """Whether a replica of one could be a replica of the other."""
    engines = dict(one.engine) == dict(other.engine) and dict(one.choices) == dict(other.choices)
    return one.model == other.model and engines and one.colocated and other.colocated
