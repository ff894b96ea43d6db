"""The cheapest option of all for one service, where only one that costs less than something else is wanted.

Groups of candidates are taken in the order of what they cost at least, by rates that their steps cannot exceed, and
each with no more replicas than the best so far leaves money for. Nothing is left out that could be cheaper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from bide.plan.asks import asks_of
from bide.plan.candidate import Candidate, members
from bide.plan.capacity import Capacity
from bide.plan.cost import price_of
from bide.plan.offer import Terms, option_of
from bide.plan.option import Option
from bide.plan.question import Hardware, Service
from bide.plan.reading import capacity_of
from bide.plan.space import Group, groups

_ROUNDING = 1e-9
"""Of replicas: so that the same bill is not less than itself."""


@dataclass(frozen=True, slots=True, eq=False)
class _Bound:
    """A candidate, the replicas that it needs at least, and what a replica costs an hour."""

    trial: Capacity
    least: int
    usd_per_hour: float
    spare: int

    @property
    def least_usd(self) -> float:
        """An hour, with the spare ones."""
        return (self.least + self.spare) * self.usd_per_hour


class Field:
    """All candidates for a service whose GPU has a price, with bounds on what they cost."""

    def __init__(self, service: Service, terms: Terms) -> None:
        self.service, self.terms = service, terms
        self._bounds: list[_Bound] = sorted(self._of_all(), key=lambda bound: bound.least_usd)

    @classmethod
    def under(cls, terms: Terms) -> Callable[[Service, Hardware], Field]:
        """Fields under the same terms on any hardware."""
        return lambda service, hardware: cls(service, replace(terms, hardware=hardware))

    def _of_all(self) -> Iterator[_Bound]:
        for group in groups(self.service, self.terms.hardware):
            price = price_of(group.gpu, self.terms.hardware.prices, self.terms.hardware.price_multiplier)
            if price is not None:
                yield from self._of(group, price.usd_per_hour * group.gpus)

    def _of(self, group: Group, usd_per_hour: float) -> Iterator[_Bound]:
        for found in members(self.service, group, self.terms.profile):
            if isinstance(found, Candidate):
                trial = capacity_of(found, router=self.terms.fleet.router)
                least = math.ceil(self.service.traffic.planned_rps / trial.bound_rps())
                yield _Bound(trial, least, usd_per_hour, self.terms.spare)

    @property
    def least_usd(self) -> float:
        """An hour, by any candidate; infinite where there is none."""
        return min((bound.least_usd for bound in self._bounds), default=math.inf)

    def without(self, gpu_id: str) -> Field:
        """The candidates on other GPUs; what was simulated stays known."""
        rest = Field.__new__(Field)
        rest.service, rest.terms = self.service, self.terms
        rest._bounds = [bound for bound in self._bounds if bound.trial.candidate.gpu.id != gpu_id]
        return rest

    def cheapest(self, below_usd: float) -> Option | None:
        """The cheapest option of less than `below_usd` an hour; None where there is none."""
        found: tuple[Capacity, int] | None = None
        for bound in self._bounds:
            if bound.least_usd >= below_usd:
                break
            replicas = self._fewest(bound, below_usd)
            if replicas is not None:
                found = bound.trial, replicas
                below_usd = (replicas + bound.spare) * bound.usd_per_hour
        return option_of(*found, self.terms) if found else None

    def _fewest(self, bound: _Bound, below_usd: float) -> int | None:
        """The replicas of a candidate that together cost less than `below_usd`."""
        most = self.terms.most(bound.trial.candidate.gpus)
        if math.isfinite(below_usd):
            most = min(most, math.ceil(below_usd / bound.usd_per_hour - _ROUNDING) - 1 - bound.spare)
        if most < bound.least:
            return None
        return bound.trial.fewest(self.service.traffic.planned_rps, most, asks_of(self.service))
