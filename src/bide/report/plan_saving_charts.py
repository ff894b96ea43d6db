"""The frontier of patience: what each limit costs, with what it takes to be sure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from bide.i18n import _, numeral
from bide.plan.answer import ServicePlan
from bide.plan.findings import FrontierPoint
from bide.plan.telling import asked_point
from bide.report.drawing import drawing
from bide.report.plan_parts import Charts
from bide.report.themed import ACCENT, INK, MUTED, PARTS, WARN, log_scale, round_ticks, rows
from bide.report.words import short_name, usd

_HEIGHT = 250
_MS = 1e3


def saving_charts(plan: ServicePlan) -> Charts:
    """Of the limit that was asked for, and of the first token instead."""
    asked = asked_point(plan)
    if any(point.gpus for point in plan.frontier):
        yield _("What each patience costs"), drawing(frontier_chart(plan.frontier, asked), _HEIGHT)
    if any(point.gpus for point in plan.streaming):
        title = _("The same if only the first token must come soon")
        yield title, drawing(frontier_chart(plan.streaming, None, asked), _HEIGHT)


def frontier_chart(
    points: Sequence[FrontierPoint], asked: FrontierPoint | None, against: FrontierPoint | None = None
) -> Any:
    """USD a month (GPUs where a price is missing) against the limit, GPUs written on the points; log axes.

    The band goes to what it takes to be sure. `against`: a line at what was asked for costs.
    """
    import altair as alt

    able = [point for point in points if point.gpus is not None]
    priced, (scale, unit) = _is_priced(points), _unit(points)
    values = [_value(point, scale, priced) for point in able]
    named = [value for value in values if asked is None or value["x"] != asked.seconds * scale]
    limits = [point.seconds * scale for point in points]
    x = alt.X(
        "x:Q",
        scale=alt.Scale(type="log", domain=[min(limits), max(limits)], nice=False),
        title=_("limit on {name}, {unit}").format(name=short_name(points[0].measure), unit=unit),
        axis=_limits_axis(limits),
    )
    reach = [value["y"] for value in values] + [value["sure"] for value in values if value["sure"]]
    reach += [_height(against, priced)] if against and against.gpus else []
    axis = round_ticks(reach)
    axis.format = "$~s" if priced else "~s"
    y = alt.Y("y:Q", scale=log_scale(10), title=_("USD a month") if priced else _("GPUs"), axis=axis)
    base = alt.Chart(rows(values)).encode(x=x, y=y)
    layers = [
        *_impossible(points, scale),
        *_band(values, x),
        base.mark_line(color=ACCENT, strokeWidth=2.5),
        base.mark_point(color=ACCENT, filled=True, size=60, opacity=1),
        alt.Chart(rows(named)).mark_text(aria=False, color=INK, dy=-11).encode(x=x, y=y, text=alt.Text("gpus:N")),
        *_marked(asked, scale, priced, x, (points[0].seconds * points[-1].seconds) ** 0.5),
        *_against(against, priced),
    ]
    return alt.layer(*layers)


def _is_priced(points: Sequence[FrontierPoint]) -> bool:
    return all(point.usd_per_month is not None for point in points if point.gpus is not None)


def _unit(points: Sequence[FrontierPoint]) -> tuple[float, str]:
    """What seconds are multiplied with for the axis, and its unit."""
    return (_MS, _("ms")) if points[-1].seconds < 1 else (1.0, _("s"))


def held_places(points: Sequence[FrontierPoint]) -> list[dict[str, Any] | None]:
    """Where each limit stands on `frontier_chart`; None for one that no fleet keeps."""
    priced, (scale, _name) = _is_priced(points), _unit(points)
    return [_value(point, scale, priced) if point.gpus is not None else None for point in points]


def held_chart(place: dict[str, Any]) -> Any:
    """A layer for `frontier_chart`: a line at the limit that somebody holds, with a handle on it."""
    import altair as alt

    base = alt.Chart(rows([place])).encode(x=alt.X("x:Q"))
    line = base.mark_rule(aria=False, color=INK, strokeWidth=1.5)
    handle = base.mark_point(color=INK, filled=True, size=190, opacity=1)
    return alt.layer(line, handle.encode(y=alt.Y("y:Q", scale=log_scale(10))))


def _height(point: FrontierPoint, priced: bool) -> float:
    return float((point.usd_per_month if priced else point.gpus) or 0)


def _value(point: FrontierPoint, scale: float, priced: bool) -> dict[str, Any]:
    sure = point.usd_per_month_surely if priced else point.gpus_surely
    return {
        "x": point.seconds * scale,
        "y": _height(point, priced),
        "sure": sure,
        "gpus": numeral(point.gpus or 0, ","),
    }


def _limits_axis(limits: Sequence[float]) -> Any:
    axis = round_ticks(limits)
    axis.grid = False
    return axis


def _band(values: Sequence[dict[str, Any]], x: Any) -> list[Any]:
    """Up to what it takes to be sure, where that is known."""
    import altair as alt

    known = [value for value in values if value["sure"]]
    if not known:
        return []
    base = alt.Chart(rows(known)).encode(x=x)
    low = alt.Y("y:Q", scale=log_scale(10))
    mark = (
        base.mark_area(aria=False, color=ACCENT, opacity=0.2)
        if len(known) > 1
        else base.mark_rule(aria=False, color=ACCENT, opacity=0.4)
    )
    return [mark.encode(y=low, y2=alt.Y2("sure:Q"))]


def _impossible(points: Sequence[FrontierPoint], scale: float) -> list[Any]:
    """Shade over the limits that no fleet keeps."""
    import altair as alt

    first = next(number for number, point in enumerate(points) if point.gpus is not None)
    if first == 0:
        return []
    ends = points[0].seconds * scale, points[first].seconds * scale
    data = rows([{"a": ends[0], "b": ends[1], "text": _("no fleet")}])
    shade = alt.Chart(data).mark_rect(aria=False, color=PARTS[5], opacity=0.25).encode(x=alt.X("a:Q"), x2=alt.X2("b:Q"))
    word = (
        alt.Chart(data)
        .mark_text(aria=False, color=MUTED, align="left", dx=5)
        .encode(x=alt.X("a:Q"), y=alt.YValue(12), text=alt.Text("text:N"))
    )
    return [shade, word]


def _marked(asked: FrontierPoint | None, scale: float, priced: bool, x: Any, middle_s: float) -> list[Any]:
    """A ring around what was asked for, with words beside it: a handle's line goes through it."""
    import altair as alt

    if asked is None or asked.gpus is None:
        return []
    data = rows(
        [
            {
                "x": asked.seconds * scale,
                "y": _height(asked, priced),
                "text": _("{gpus} as asked").format(gpus=asked.gpus),
            }
        ]
    )
    base = alt.Chart(data).encode(x=x, y=alt.Y("y:Q", scale=log_scale(10)))
    ring = base.mark_point(color=WARN, size=180, strokeWidth=2.5)
    side: Literal["left", "right"]
    side, dx = ("left", 11) if asked.seconds <= middle_s else ("right", -11)
    above = -26  # of the numbers on the points beside it
    return [ring, base.mark_text(aria=False, color=WARN, align=side, dx=dx, dy=above).encode(text=alt.Text("text:N"))]


def _against(point: FrontierPoint | None, priced: bool) -> list[Any]:
    """A dashed line at what was asked for, whole answers within its limit."""
    import altair as alt

    if point is None or point.gpus is None:
        return []
    text = _("{name} {seconds:g} s").format(name=short_name(point.measure), seconds=point.seconds)
    if priced and point.usd_per_month is not None:
        text += f": {usd(point.usd_per_month)}"
    base = alt.Chart(rows([{"y": _height(point, priced), "text": text}]))
    y = alt.Y("y:Q", scale=log_scale(10))
    line = base.mark_rule(aria=False, color=WARN, strokeDash=[5, 4]).encode(y=y)
    return [
        line,
        base.mark_text(aria=False, color=WARN, align="right", dy=-7).encode(
            y=y, x=alt.XValue("width"), text=alt.Text("text:N")
        ),
    ]
