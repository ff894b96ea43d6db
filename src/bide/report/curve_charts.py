"""The charts of curves: time between tokens against work done, and times against load."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from bide.i18n import _, numeral
from bide.report.curve_names import load_name
from bide.report.curve_parts import time_parts
from bide.report.curve_said import CurvesSaid
from bide.report.curve_scales import hover, legend, load_title
from bide.report.curve_sentences import spanned, tokens
from bide.report.curve_table import bound_name
from bide.report.shaped import Shaped, named, shape, ticks
from bide.report.themed import INK, PARTS, WARN, log_scale, round_values
from bide.report.words import seconds, usd
from bide.simulate.operating import Curve, Parts, Point

_DASHES = ([1, 0], [6, 3], [2, 2])
_LABEL_GAP = 0.07
"""Of the chart's width and height, between two labels of points."""

Row = dict[str, object]


def throughput_chart(said: CurvesSaid, columns: int = 2, chosen: Sequence[Point] | None = None) -> Shaped:
    """Time between tokens (log) against output tokens a second on each GPU, a line a curve.

    The band is the 10th to 90th percentile of both at each load; dots are on the Pareto front, rings are not.
    `chosen`: a point of each curve that gets a square.
    """
    values = [row for number in range(len(said.curves)) for row in _point_rows(said, number)]
    band = [row for number in range(len(said.curves)) for row in _band_rows(said, number)]
    times, most = _column(values, "tpot_ms"), max(_column(values, "tokens"))
    return Shaped(
        _throughput_shape(tuple(said.names), columns, ",.0f" if most > 10 else ".1f"),
        {
            "points": values,
            "bands": band,
            "labels": _labels(values, min(times), max(times), most),
            "chosen": chosen_rows(said, chosen or ()),
        },
        {"times": round_values(times + _column(band, "tpot_ms"))},
    )


@shape
def _throughput_shape(names: tuple[str, ...], columns: int, form: str) -> Any:
    """Lines of `points` by curve, their `bands`, those with `labels`, and those that were `chosen`."""
    import altair as alt

    title = _("time between tokens (TPOT), ms")
    x = alt.X("tpot_ms:Q", scale=log_scale(10), axis=ticks("times", format="~g"), title=title)
    y = alt.Y("tokens:Q", title=_("output tokens/s per GPU"), axis=alt.Axis(format=form))
    colour, base = _colour(names, columns), named("points").encode(x=x, y=y)
    lines = base.encode(order=alt.Order("order:Q"), color=colour, **_dash(names))
    points = base.encode(color=colour, **hover())
    rings = points.transform_filter("!datum.front").mark_point(size=45, opacity=1, strokeWidth=1.5)
    dots = points.transform_filter("datum.front").mark_point(filled=True, size=55, opacity=1)
    knees = points.transform_filter("datum.knee").mark_point(shape="diamond", size=170, strokeWidth=2)
    labels = named("labels").mark_text(align="right", dx=-9, dy=-6, color=INK, aria=False)
    squares = named("chosen").mark_point(shape="square", filled=True, size=90, opacity=1, color=INK)
    return alt.layer(
        _band(colour),
        lines.mark_line(strokeWidth=2, aria=False),
        rings,
        dots,
        knees.encode(color=alt.ColorValue(WARN)),
        labels.encode(x=x, y=y, text=alt.Text("label:N")),
        squares.encode(x=alt.X("tpot_ms:Q", scale=log_scale(10)), y=alt.Y("tokens:Q"), **hover()),
    )


def chosen_rows(said: CurvesSaid, chosen: Sequence[Point]) -> list[Row]:
    """The places of points on `throughput_chart`, one of each curve; those that have none are left out."""
    each = zip(said.names, said.curves, chosen, strict=False)
    found = [_point_row(name, curve, point) for name, curve, point in each]
    return [row for row in found if row is not None]


def _point_row(name: str, curve: Curve, point: Point) -> Row | None:
    """A point's place on the chart; None for one that has none."""
    if point.tpot_s is None or point.bound == "unstable":
        return None
    return {
        "curve": name,
        "tpot_ms": point.tpot_s * 1e3,
        "tokens": curve.output_tokens_per_s_per_gpu(point),
        "text": _hover_text(name, curve, point),
    }


def _point_rows(said: CurvesSaid, number: int) -> Iterator[Row]:
    """The points of a curve that have a place on the chart."""
    curve = said.curves[number]
    for index, point in enumerate(curve.points):
        row = _point_row(said.names[number], curve, point)
        if row is not None:
            yield {
                **row,
                "order": index,
                "front": (number, index) in said.front,
                "knee": point is curve.knee,
                "label": _label(said, curve, point),
            }


def _label(said: CurvesSaid, curve: Curve, point: Point) -> str:
    """The load; the knee by name, in full where there is one curve."""
    load = numeral(point.load.value, ",.10g")
    if point is not curve.knee:
        return load
    return _("knee: {load}").format(load=load_name(point.load) if len(said.curves) == 1 else load)


def _hover_text(name: str, curve: Curve, point: Point) -> str:
    text = _("{name}, {load}: TPOT {tpot}, TTFT {ttft}, {tokens} output tokens/s per GPU, bound by {bound}")
    cost = curve.usd_per_million_output_tokens(point)
    said = text.format(
        name=name,
        load=load_name(point.load),
        tpot=spanned(point, "tpot_s"),
        ttft=spanned(point, "ttft_s"),
        tokens=tokens(curve, point),
        bound=bound_name(point.bound),
    )
    said += ", " + _("{usd} per million").format(usd=usd(cost)) if cost is not None else ""
    return said + (f"\n{_breakdown(point.tpot_parts)}" if point.tpot_parts else "")


def _breakdown(parts: Parts) -> str:
    """Where a token's time goes, the parts in their order."""
    each = [f"{part.name} {seconds(part.seconds)}" for part in time_parts(parts) if part.seconds > 0]
    return _("A token's time: {parts}").format(parts=", ".join(each))


def _labels(values: Sequence[Row], left: float, right: float, top: float) -> list[Row]:
    """The rows whose labels do not lie on each other, the knees first."""
    shown: list[tuple[float, float]] = []
    kept: list[Row] = []
    width = math.log(right / left) or 1.0
    for row in sorted(values, key=lambda row: not row["knee"]):
        at = math.log(_number(row, "tpot_ms") / left) / width, _number(row, "tokens") / top
        if all(max(abs(at[0] - x), abs(at[1] - y)) >= _LABEL_GAP for x, y in shown):
            shown.append(at)
            kept.append(row)
    return kept


def _band(colour: Any) -> Any:
    """Each curve at the fast end and back at the slow end, filled."""
    import altair as alt

    base = named("bands").mark_line(interpolate="linear-closed", filled=True, opacity=0.15, strokeWidth=0, aria=False)
    x = alt.X("tpot_ms:Q", scale=log_scale(10))
    return base.encode(x=x, y=alt.Y("tokens:Q"), order=alt.Order("order:Q"), color=colour)


def _band_rows(said: CurvesSaid, number: int) -> list[Row]:
    curve = said.curves[number]
    found = [p.interval for p in curve.points if p.interval and p.bound != "unstable"]
    ends = [(i["tpot_s"], i["output_tokens_per_s"]) for i in found if "tpot_s" in i and "output_tokens_per_s" in i]
    fast = [(tpot[0], rate[1]) for tpot, rate in ends]
    slow = [(tpot[1], rate[0]) for tpot, rate in reversed(ends)]
    return [
        {"curve": said.names[number], "tpot_ms": tpot * 1e3, "tokens": rate / curve.gpus, "order": order}
        for order, (tpot, rate) in enumerate(fast + slow)
    ]


def latency_chart(said: CurvesSaid, metric: str, columns: int = 2) -> Shaped:
    """TTFT or E2E (`metric`: `ttft_s`, `e2e_s`) against the load, both log; interval shaded."""
    values = [row for number in range(len(said.curves)) for row in _latency_rows(said, number, metric)]
    title = _("time to first token, s") if metric == "ttft_s" else _("time to last token, s")
    loads = load_title(said.curves[0].points[0].load)
    return Shaped(
        _latency_shape(tuple(said.names), columns, title, loads),
        {"points": values},
        {"loads": _shared_loads(said), "times": round_values(_column(values, "seconds"))},
    )


@shape
def _latency_shape(names: tuple[str, ...], columns: int, title: str, loads: str) -> Any:
    """A line of `points` by curve."""
    import altair as alt

    shown = "format(datum.value, datum.value < 10 ? '~g' : ',.0f')"
    x = alt.X("load:Q", scale=log_scale(2), axis=ticks("loads", labelExpr=shown, labelOverlap=True), title=loads)
    y = alt.Y("seconds:Q", scale=log_scale(10), axis=ticks("times", format="~g"), title=title)
    base = named("points").encode(x=x, color=_colour(names, columns))
    band = base.mark_area(opacity=0.15, line=False, aria=False).encode(
        y=alt.Y("low:Q", scale=log_scale(10)), y2=alt.Y2("high:Q")
    )
    line = base.mark_line(strokeWidth=2, aria=False).encode(y=y, **_dash(names))
    return alt.layer(band, line, base.mark_point(filled=True, size=40, opacity=1).encode(y=y, **hover()))


def _shared_loads(said: CurvesSaid) -> list[float]:
    """The loads of all curves; each curve's knee is one of its own."""
    each = [{point.load.value for point in curve.points} for curve in said.curves]
    return sorted(set.intersection(*each) or set.union(*each))


def _latency_rows(said: CurvesSaid, number: int, metric: str) -> Iterator[Row]:
    for point in said.curves[number].points:
        value = getattr(point, metric)
        if value is None:
            continue
        low, high = (point.interval or {}).get(metric, (value, value))
        text = _("{name}, {load}: {time}")
        text = text.format(name=said.names[number], load=load_name(point.load), time=spanned(point, metric))
        row = {"curve": said.names[number], "load": point.load.value, "seconds": value, "text": text}
        yield {**row, "low": max(low, 1e-6), "high": high}


def _colour(names: Sequence[str], columns: int) -> Any:
    import altair as alt

    colours = [PARTS[number % len(PARTS)] for number in range(len(names))]
    shown = legend(columns, "stroke") if len(names) > 1 else None
    return alt.Color("curve:N", scale=alt.Scale(domain=list(names), range=colours), legend=shown)


def _dash(names: Sequence[str]) -> dict[str, Any]:
    """Lines beyond the last colour are dashed."""
    import altair as alt

    if len(names) <= len(PARTS):
        return {}
    dashes = [_DASHES[number // len(PARTS)] for number in range(len(names))]
    return {"strokeDash": alt.StrokeDash("curve:N", scale=alt.Scale(domain=list(names), range=dashes), legend=None)}


def _column(values: Sequence[Row], name: str) -> list[float]:
    return [_number(row, name) for row in values]


def _number(row: Row, name: str) -> float:
    value = row[name]
    assert isinstance(value, float | int)
    return float(value)
