"""When replicas of a kind are added, and what it takes to follow the day: of a fleet's one kind or either of two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bide.plan.autoscale import Autoscaling, Demand, autoscaling
from bide.plan.day import Day
from bide.plan.question import Fleet, Traffic
from bide.plan.serving.transfer import Role
from bide.plan.thresholds import ASSUMED_GROWTH, ReplicaState, Thresholds, kept_rps, thresholds


@dataclass(frozen=True, slots=True)
class Kind:
    """Replicas that do the same of a request, as an autoscaler counts them."""

    role: Role | None
    """None: all of it."""
    replicas: int
    """That the load needs."""
    standing_by: int
    """More, for failures and updates."""
    gpus: int
    """Of a replica."""
    carried_rps: float
    """By all of them, while the fleet keeps what is asked."""
    levels: tuple[float, ...]
    """Requests a second that fleets with 1, 2, ... of these replicas carry; empty where that was not looked at."""
    state: Callable[[float], ReplicaState]
    """Of one replica, while all of them serve so many requests a second."""
    prompt_tokens: float | None = None
    """Of a prompt on average, where the replicas do nothing else."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """`autoscaling` is None where the hours of the day are not known."""

    role: Role | None
    thresholds: Thresholds
    autoscaling: Autoscaling | None


def scaling_of(kind: Kind, traffic: Traffic, fleet: Fleet, usd_per_gpu_hour: float | None) -> Scaling:
    """Of one kind of replica, whose others follow the same load."""
    scaled = _by_the_hours(kind, traffic, fleet, usd_per_gpu_hour) if traffic.hours else None
    return Scaling(kind.role, _thresholds(kind, fleet, scaled), scaled)


def _by_the_hours(kind: Kind, traffic: Traffic, fleet: Fleet, usd_per_gpu_hour: float | None) -> Autoscaling:
    planned_rps = traffic.planned_rps
    levels = tuple(level / planned_rps for level in kind.levels)
    carried_share = kind.carried_rps / kind.replicas / planned_rps
    demand = Demand(Day(traffic.hours), carried_share, fleet.scale_up_s, levels)
    return autoscaling(demand, kind.gpus, kind.standing_by, usd_per_gpu_hour, kind.replicas)


def _thresholds(kind: Kind, fleet: Fleet, scaled: Autoscaling | None) -> Thresholds:
    growth = scaled.growth if scaled else None
    fewest = scaled.min_replicas if scaled else 1 + kind.standing_by
    kept = kept_rps(kind.carried_rps, ASSUMED_GROWTH if growth is None else growth)
    return thresholds(
        kind.state(kept),
        kind.state(kind.carried_rps),
        replicas=(fewest, kind.replicas + kind.standing_by),
        standing_by=kind.standing_by,
        scale_up_s=fleet.scale_up_s,
        growth=growth,
        prompt_tokens=kind.prompt_tokens,
    )
