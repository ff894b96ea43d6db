"""Figures that are told beside an answer and decide nothing: what patience saves, what outweighs what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bide.plan.answer import ServicePlan
from bide.plan.candidate import Candidate
from bide.plan.findings import FrontierPoint
from bide.plan.option import Option

_LONGER = 1.5


@dataclass(frozen=True, slots=True)
class Saving:
    """A point of a frontier against the point before it, and against a fleet.

    The last three are None where a fleet or a price is missing.
    """

    point: FrontierPoint
    usd_per_second: float | None
    """USD a month that each second of patience saves, over the stretch from the point before."""
    gpus: int | None
    """Fewer than the fleet has; below 0: more."""
    usd_per_month: float | None
    """Less than the fleet costs."""


def savings(points: Sequence[FrontierPoint], against: FrontierPoint | None) -> tuple[Saving, ...]:
    """What each point of a frontier saves; `against` is the limit that was asked for."""
    before = (None, *points)
    return tuple(
        Saving(point, _marginal(last, point), *_saved(point, against))
        for last, point in zip(before, points, strict=False)
    )


def _marginal(before: FrontierPoint | None, point: FrontierPoint) -> float | None:
    if before is None or before.usd_per_month is None or point.usd_per_month is None:
        return None
    return (before.usd_per_month - point.usd_per_month) / (point.seconds - before.seconds)


def _saved(point: FrontierPoint, against: FrontierPoint | None) -> tuple[int | None, float | None]:
    if against is None or against.gpus is None or point.gpus is None:
        return None, None
    if against.usd_per_month is None or point.usd_per_month is None:
        return against.gpus - point.gpus, None
    return against.gpus - point.gpus, against.usd_per_month - point.usd_per_month


def asked_point(plan: ServicePlan) -> FrontierPoint | None:
    """The point of the frontier at the limit that was asked for."""
    if not plan.frontier:
        return None
    measure = plan.frontier[0].measure
    limits = [limit.seconds for limit in plan.service.patience if limit.measure == measure]
    if not limits and plan.service.goodput:
        limits = [seconds for latency, seconds in plan.service.goodput.limits if latency == measure.latency]
    return next((point for point in plan.frontier if point.seconds in limits), None)


def half_longer(plan: ServicePlan) -> FrontierPoint | None:
    """The first point with at least half as much patience again as was asked for."""
    asked = asked_point(plan)
    if asked is None:
        return None
    return next((point for point in plan.frontier if point.seconds >= _LONGER * asked.seconds), None)


def outweighing_requests(candidate: Candidate) -> float | None:
    """Running requests whose cache is as large as the weights on a GPU; None where a request's cache does not grow."""
    held = candidate.held_bytes
    return candidate.memory.ledger.weights_bytes / held if held else None


def surest(plan: ServicePlan) -> Option | None:
    """Of all options the one that costs least to be sure; None where none is sure."""
    options = [option for option in (plan.chosen, *plan.others) if option and option.gpus_surely is not None]
    return min(options, key=_sure_bill, default=None)


def _sure_bill(option: Option) -> tuple[bool, float]:
    gpus = option.gpus_surely or 0
    return (option.price is None, gpus * option.price.usd_per_hour if option.price else gpus)
