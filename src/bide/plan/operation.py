"""What running a chosen fleet means: its energy, its hours, when to add a replica, and what an API would cost."""

from __future__ import annotations

from dataclasses import dataclass

from bide.plan.asks import asks_of
from bide.plan.autoscale import Autoscaling, together
from bide.plan.break_even import BreakEven, break_even
from bide.plan.cost import flow_of, mean_share
from bide.plan.energy import Energy, energy_of
from bide.plan.fleets import Fleets, S, carried_rps
from bide.plan.fleets_of import fleets_of
from bide.plan.option import Option
from bide.plan.question import Fleet, Service
from bide.plan.scaling import Scaling, scaling_of
from bide.plan.serving.transfer import Role
from bide.plan.thresholds import Thresholds


@dataclass(frozen=True, slots=True)
class Operation:
    """None where the TDP or an API's price is not known."""

    energy: Energy | None
    api: BreakEven | None
    scalings: tuple[Scaling, ...]
    """One for replicas that do both stages, or one for each stage."""

    @property
    def autoscaling(self) -> Autoscaling | None:
        """Of the whole fleet; None where the hours of the day are not known."""
        found = [scaling.autoscaling for scaling in self.scalings if scaling.autoscaling]
        return together(found) if found else None

    @property
    def thresholds(self) -> Thresholds | None:
        """Of replicas that do both stages; None where the fleet has none such."""
        return self.thresholds_of(None)

    def thresholds_of(self, role: Role | None) -> Thresholds | None:
        """Of the replicas that do this stage (None: both); None where the fleet has no such replicas."""
        return next((scaling.thresholds for scaling in self.scalings if scaling.role == role), None)


def operation_of(option: Option, service: Service, fleet: Fleet) -> Operation | None:
    """Of an option for `service`; None where no rate keeps the patience."""
    fleets = fleets_of(option, fleet.router)
    carried = _carried_rps(option, service, fleets)
    if not carried:
        return None
    price, api = option.price.usd_per_hour if option.price else None, service.api_price
    kinds = fleets.kinds(option, carried, by_hours=bool(service.traffic.hours))
    return Operation(
        energy=energy_of(option.candidate.gpu, option.gpus, flow_of(service), mean_share(service.traffic)),
        api=break_even(option.cost, api, carried) if option.cost and api else None,
        scalings=tuple(scaling_of(kind, service.traffic, fleet, price) for kind in kinds),
    )


def _carried_rps(option: Option, service: Service, fleets: Fleets[S]) -> float:
    """Requests a second of the fleet: no more than planned where fewer replicas did it in the search.

    Then the whole fleet was simulated and needed more of them.
    """
    planned_rps, asks = service.traffic.planned_rps, asks_of(option.candidate.service)
    if fleets.fewest(planned_rps, option.replicas - 1, asks) is not None:
        return planned_rps
    return carried_rps(fleets, fleets.answer(option), asks)
