"""All that a report of curves shows: curves by name, what did not fit, the Pareto front, the points to speak of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bide.facts.deployment import Deployment
from bide.report.curve_names import names
from bide.simulate.operating import Curve, Mix, Point
from bide.sourced import Assumption

Front = frozenset[tuple[int, int]]
"""Curve and point, by number."""
STREAMING_TTFT_S, STREAMING_TPOT_S = 1.0, 0.05
"""A first token within 1 s and 20 a second from then on: faster than people read along."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A deployment without a curve, and why."""

    deployment: Deployment
    mix: Mix
    why: str


@dataclass(frozen=True)
class CurvesSaid:
    """Curves that share a chart. Points are on the `front` where none of the same mix is faster and does more."""

    curves: tuple[Curve, ...]
    names: tuple[str, ...]
    misfits: tuple[tuple[str, str], ...] = ()
    """Name and reason."""
    front: Front = frozenset()
    explained: bool = False
    """Whether the arithmetic of each curve's headline is shown too."""
    assumptions: tuple[Assumption, ...] = ()
    """What was asked for the user; the deployments have their own."""

    def groups(self) -> Iterator[list[int]]:
        """The curves that can be compared: those of each mix."""
        for mix in dict.fromkeys(curve.mix for curve in self.curves):
            yield [number for number, curve in enumerate(self.curves) if curve.mix == mix]


def said(
    curves: Sequence[Curve],
    misfits: Sequence[Misfit] = (),
    *,
    explained: bool = False,
    assumptions: Sequence[Assumption] = (),
) -> CurvesSaid:
    """`curves` with their names and their front."""
    asked = [(curve.deployment, curve.mix) for curve in curves] + [(m.deployment, m.mix) for m in misfits]
    found = names(asked)
    refused = zip(found[len(curves) :], misfits, strict=True)
    return CurvesSaid(
        curves=tuple(curves),
        names=tuple(found[: len(curves)]),
        misfits=tuple((name, misfit.why) for name, misfit in refused),
        front=_front(curves),
        explained=explained,
        assumptions=tuple(assumptions),
    )


def _front(curves: Sequence[Curve]) -> Front:
    """The front of each mix: points of different work are not compared."""
    from bide.simulate.curve import pareto

    front: set[tuple[int, int]] = set()
    for mix in {curve.mix for curve in curves}:
        own = [number for number, curve in enumerate(curves) if curve.mix == mix]
        front |= {(own[curve], point) for curve, point in pareto([curves[number] for number in own])}
    return frozenset(front)


def headline(curve: Curve) -> Point:
    """The point to speak of: the knee, the only one, or the one that does most."""
    if curve.knee is not None:
        return curve.knee
    held = [point for point in curve.points if point.bound != "unstable"] or list(curve.points)
    return max(held, key=lambda point: point.output_tokens_per_s)


def best(said: CurvesSaid, group: Sequence[int], streaming: bool) -> tuple[int, Point] | None:
    """The cheapest point of some curves (without all prices, that which does most on a GPU).

    Among those that stream to people who read along, where `streaming`; None where there is none.
    """
    priced = all(said.curves[number].usd_per_hour() is not None for number in group)

    def merit(found: tuple[int, Point]) -> tuple[float, float]:
        curve, point = said.curves[found[0]], found[1]
        usd = curve.usd_per_million_output_tokens(point) if priced else None
        value = -usd if usd is not None else curve.output_tokens_per_s_per_gpu(point)
        return value, -(point.tpot_s or 0.0)

    points = [(number, p) for number in group for p in said.curves[number].points if p.bound != "unstable"]
    if streaming:
        points = [found for found in points if _streams(found[1])]
    at_once = [found for found in points if not found[1].waiting_requests]
    points = at_once or points  # a queue brings waiting, and hardly any tokens
    return max(points, key=merit, default=None)


def _streams(point: Point) -> bool:
    if point.ttft_s is None or point.tpot_s is None:
        return False
    return point.ttft_s <= STREAMING_TTFT_S and point.tpot_s <= STREAMING_TPOT_S
