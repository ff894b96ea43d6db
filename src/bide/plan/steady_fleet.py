"""The fewest replicas for a steady rate of requests that all get their tokens in time: patience against GPUs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bide.simulate.operating import Curve, Point


@dataclass(frozen=True, slots=True)
class SteadyFleet:
    """`point` is what each replica is run at: the most work at which a token comes within `tpot_s`."""

    tpot_s: float
    point: Point
    gpus: int


def steady_fleet(curve: Curve, requests_per_s: float, tpot_s: float) -> SteadyFleet | None:
    """None where even a single request is slower than `tpot_s`.

    A mean over steady traffic: bursts and percentiles ask for more (`bide plan`).
    """
    in_time = [p for p in curve.points if p.tpot_s is not None and p.tpot_s <= tpot_s and not p.waiting_requests]
    if not in_time:
        return None
    best = max(in_time, key=lambda point: point.requests_per_s)
    return SteadyFleet(tpot_s, best, math.ceil(requests_per_s / best.requests_per_s) * curve.gpus)


def steady_fleets(curve: Curve, requests_per_s: float, patience_s: Iterable[float]) -> list[SteadyFleet]:
    """One for each patience that can be met."""
    found = (steady_fleet(curve, requests_per_s, tpot_s) for tpot_s in patience_s)
    return [fleet for fleet in found if fleet is not None]
