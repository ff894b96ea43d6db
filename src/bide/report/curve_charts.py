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
from bide.report.themed import INK, PARTS, WARN, log_scale, round_ticks, rows
from bide.report.words import seconds, usd
from bide.simulate.operating import Curve, Parts, Point

_DASHES = ([1, 0], [6, 3], [2, 2])
_LABEL_GAP = 0.07
"""Of the chart's width and height, between two labels of points."""

Row = dict[str, object]


def throughput_chart(said: CurvesSaid, columns: int = 2) -> Any:
    """Time between tokens (log) against output tokens a second on each GPU, a line a curve, as an Altair chart.

    The band is the 10th to 90th percentile of both at each load; dots are on the Pareto front, rings are not.
    """
    import altair as alt

    values = [row for number in range(len(said.curves)) for row in _point_rows(said, number)]
    band = [row for number in range(len(said.curves)) for row in _band_rows(said, number)]
    times = _column(values, "tpot_ms")
    reach = times + _column(band, "tpot_ms")
    x = alt.X("tpot_ms:Q", scale=log_scale(10), axis=round_ticks(reach), title=_("time between tokens (TPOT), ms"))
    most = max(_column(values, "tokens"))
    y = alt.Y("tokens:Q", title=_("output tokens/s per GPU"), axis=alt.Axis(format=",.0f" if most > 10 else ".1f"))
    lines = alt.Chart(rows(values)).encode(
        x=x, y=y, order=alt.Order("order:Q"), color=_colour(said, columns), **_dash(said)
    )
    points = alt.Chart(rows(values)).encode(x=x, y=y, color=_colour(said, columns), **hover())
    rings = points.transform_filter("!datum.front").mark_point(size=45, opacity=1, strokeWidth=1.5)
    dots = points.transform_filter("datum.front").mark_point(filled=True, size=55, opacity=1)
    knees = points.transform_filter("datum.knee").mark_point(shape="diamond", size=170, strokeWidth=2)
    labels = _labels(values, min(times), max(times), most)
    named = alt.Chart(rows(labels)).mark_text(align="right", dx=-9, dy=-6, color=INK, aria=False)
    return alt.layer(
        _band(said, band, columns),
        lines.mark_line(strokeWidth=2, aria=False),
        rings,
        dots,
        knees.encode(color=alt.ColorValue(WARN)),
        named.encode(x=x, y=y, text=alt.Text("label:N")),
    )


def chosen_chart(said: CurvesSaid, chosen: Sequence[Point]) -> Any:
    """A square for a point of each curve, to lie over `throughput_chart`."""
    import altair as alt

    each = zip(said.names, said.curves, chosen, strict=True)
    found = [_point_row(name, curve, point) for name, curve, point in each]
    square = alt.Chart(rows([row for row in found if row is not None]))
    square = square.mark_point(shape="square", filled=True, size=90, opacity=1, color=INK)
    x = alt.X("tpot_ms:Q", scale=log_scale(10))
    return square.encode(x=x, y=alt.Y("tokens:Q"), **hover())


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


def _band(said: CurvesSaid, values: Sequence[Row], columns: int) -> Any:
    """Each curve at the fast end and back at the slow end, filled."""
    import altair as alt

    base = alt.Chart(rows(values)).mark_line(
        interpolate="linear-closed", filled=True, opacity=0.15, strokeWidth=0, aria=False
    )
    x = alt.X("tpot_ms:Q", scale=log_scale(10))
    return base.encode(x=x, y=alt.Y("tokens:Q"), order=alt.Order("order:Q"), color=_colour(said, columns))


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


def latency_chart(said: CurvesSaid, metric: str, columns: int = 2) -> Any:
    """TTFT or E2E (`metric`: `ttft_s`, `e2e_s`) against the load, both log, as an Altair chart; interval shaded."""
    import altair as alt

    values = [row for number in range(len(said.curves)) for row in _latency_rows(said, number, metric)]
    title = _("time to first token, s") if metric == "ttft_s" else _("time to last token, s")
    shown = "format(datum.value, datum.value < 10 ? '~g' : ',.0f')"
    loads = alt.Axis(values=_shared_loads(said), labelExpr=shown, labelOverlap=True)
    x = alt.X("load:Q", scale=log_scale(2), axis=loads, title=load_title(said.curves[0].points[0].load))
    y = alt.Y("seconds:Q", scale=log_scale(10), axis=round_ticks(_column(values, "seconds")), title=title)
    base = alt.Chart(rows(values)).encode(x=x, color=_colour(said, columns))
    band = base.mark_area(opacity=0.15, line=False, aria=False).encode(
        y=alt.Y("low:Q", scale=log_scale(10)), y2=alt.Y2("high:Q")
    )
    line = base.mark_line(strokeWidth=2, aria=False).encode(y=y, **_dash(said))
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


def _colour(said: CurvesSaid, columns: int) -> Any:
    import altair as alt

    shown = legend(columns, "stroke") if len(said.curves) > 1 else None
    return alt.Color("curve:N", scale=_scale(said), legend=shown)


def _scale(said: CurvesSaid) -> Any:
    import altair as alt

    colours = [PARTS[number % len(PARTS)] for number in range(len(said.curves))]
    return alt.Scale(domain=list(said.names), range=colours)


def _dash(said: CurvesSaid) -> dict[str, Any]:
    """Lines beyond the last colour are dashed."""
    import altair as alt

    if len(said.curves) <= len(PARTS):
        return {}
    dashes = [_DASHES[number // len(PARTS)] for number in range(len(said.curves))]
    return {
        "strokeDash": alt.StrokeDash("curve:N", scale=alt.Scale(domain=list(said.names), range=dashes), legend=None)
    }


def _column(values: Sequence[Row], name: str) -> list[float]:
    return [_number(row, name) for row in values]


def _number(row: Row, name: str) -> float:
    value = row[name]
    assert isinstance(value, float | int)
    return float(value)
