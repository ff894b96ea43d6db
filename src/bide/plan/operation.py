"""What running a chosen fleet means: its energy, its hours, when to add a replica, and what an API would cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bide.facts.gpus import Gpu
from bide.plan.answer import Option
from bide.plan.autoscale import Autoscaling, Demand, autoscaling
from bide.plan.break_even import BreakEven, break_even
from bide.plan.capacity import Capacity
from bide.plan.cost import Cost, GpuPrice, flow_of, mean_share
from bide.plan.day import Day
from bide.plan.energy import Energy, energy_of
from bide.plan.question import Fleet, Service
from bide.plan.reading import capacity_of
from bide.plan.replica_state import replica_state
from bide.plan.thresholds import ASSUMED_GROWTH, ReplicaState, Thresholds, kept_rps, thresholds


@dataclass(frozen=True, slots=True)
class Chosen:
    """A fleet: `replicas` carry the load, `standing_by` more are for failures and updates."""

    gpu: Gpu
    replica_gpus: int
    replicas: int
    standing_by: int
    price: GpuPrice | None
    cost: Cost | None

    @classmethod
    def of(cls, option: Option) -> Chosen:
        candidate = option.candidate
        return cls(candidate.gpu, candidate.gpus, option.replicas, option.spare, option.price, option.cost)

    @property
    def gpus(self) -> int:
        return (self.replicas + self.standing_by) * self.replica_gpus


@dataclass(frozen=True, slots=True)
class Operation:
    """None where the TDP, an API's price or the hours of the day are not known.

    Of a disaggregated fleet there are no hours and no thresholds: its pools would scale by rules of their own.
    """

    energy: Energy | None
    api: BreakEven | None
    autoscaling: Autoscaling | None
    thresholds: Thresholds | None


def operation_of(chosen: Chosen, service: Service, fleet: Fleet, capacity: Capacity) -> Operation | None:
    """Of a fleet for `service`, whose replica's `capacity` is at hand; None where no rate keeps the patience."""
    highest_rps = capacity.highest_rate(replicas=chosen.replicas)
    if highest_rps is None:
        return None
    highest_rps = min(highest_rps, _carried_rps(chosen, service, highest_rps))
    scaled = _autoscaling(chosen, service, fleet, capacity, highest_rps)
    share = mean_share(service.traffic)
    api = service.api_price
    return Operation(
        energy=energy_of(chosen.gpu, chosen.gpus, flow_of(service), share),
        api=break_even(chosen.cost, api, highest_rps * chosen.replicas) if chosen.cost and api else None,
        autoscaling=scaled,
        thresholds=_thresholds(chosen, fleet, capacity, highest_rps, scaled),
    )


def operation_for(option: Option, service: Service, fleet: Fleet) -> Operation | None:
    """Of an option of the plan."""
    if option.pools is not None:
        return _of_pools(option, service)
    return operation_of(Chosen.of(option), service, fleet, capacity_of(option.candidate, router=fleet.router))


def _of_pools(option: Option, service: Service) -> Operation:
    carried_rps = option.kept_rps.mid * option.replicas if option.kept_rps else service.traffic.planned_rps
    api = service.api_price
    return Operation(
        energy_of(option.candidate.gpu, option.gpus, flow_of(service), mean_share(service.traffic)),
        break_even(option.cost, api, max(carried_rps, service.traffic.planned_rps)) if option.cost and api else None,
        None,
        None,
    )


def _carried_rps(chosen: Chosen, service: Service, highest_rps: float) -> float:
    """Of a replica: less than the search found, where the whole fleet was simulated and needed more of them."""
    planned = service.traffic.planned_rps
    return planned / chosen.replicas if planned <= highest_rps * (chosen.replicas - 1) else highest_rps


def _autoscaling(
    chosen: Chosen, service: Service, fleet: Fleet, capacity: Capacity, highest_rps: float
) -> Autoscaling | None:
    if not service.traffic.hours:
        return None
    planned_rps = service.traffic.planned_rps
    levels = tuple(carried / planned_rps for carried in _carried_together(capacity, chosen.replicas, highest_rps))
    demand = Demand(Day(service.traffic.hours), highest_rps / planned_rps, fleet.scale_up_s, levels)
    price = chosen.price.usd_per_hour if chosen.price else None
    return autoscaling(demand, chosen.replica_gpus, chosen.standing_by, price, chosen.replicas)


def _carried_together(capacity: Capacity, replicas: int, highest_rps: float) -> Iterator[float]:
    """Requests a second that fleets of 1, 2, ... up to `replicas` carry."""
    by_share: dict[int, float] = {}
    most = 0.0
    for count in range(1, replicas + 1):
        share = capacity.shared(count)
        if share not in by_share:
            by_share[share] = capacity.highest_rate(replicas=count) or 0.0
        most = max(most, count * min(by_share[share], highest_rps))
        yield most


def _thresholds(
    chosen: Chosen, fleet: Fleet, capacity: Capacity, highest_rps: float, scaled: Autoscaling | None
) -> Thresholds:
    growth = scaled.growth if scaled else None
    fewest = scaled.min_replicas if scaled else 1 + chosen.standing_by
    rate = kept_rps(highest_rps, ASSUMED_GROWTH if growth is None else growth)
    return thresholds(
        _state(capacity, rate, chosen.replicas),
        _state(capacity, highest_rps, chosen.replicas),
        replicas=(fewest, chosen.replicas + chosen.standing_by),
        standing_by=chosen.standing_by,
        scale_up_s=fleet.scale_up_s,
        growth=growth,
    )


def _state(capacity: Capacity, requests_per_s: float, replicas: int) -> ReplicaState:
    return replica_state(capacity.setup("likely"), capacity.served(replicas), requests_per_s)
