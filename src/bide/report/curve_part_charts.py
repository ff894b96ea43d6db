"""Where a token's time goes, as bars: by load, and for one point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bide.i18n import _, numeral
from bide.report.curve_names import load_name
from bide.report.curve_parts import time_parts
from bide.report.curve_scales import hover, legend, load_title
from bide.report.shaped import Shaped, named, shape
from bide.report.themed import INK, rows
from bide.report.words import seconds
from bide.simulate.operating import Curve, Parts, Point


def parts_chart(curve: Curve, columns: int = 4) -> Shaped:
    """Where a token's time goes, stacked in milliseconds by load."""
    found = [(point, point.tpot_parts) for point in curve.points if point.tpot_parts is not None]
    values = [row for point, parts in found for row in _stack(point, parts)]
    return Shaped(_parts_shape(load_title(curve.points[0].load), columns), {"parts": values})


@shape
def _parts_shape(loads: str, columns: int) -> Any:
    """A bar for each load of `parts`, in the order in which they come."""
    import altair as alt

    x = alt.X("load:O", sort=None, title=loads, axis=alt.Axis(labelAngle=0, labelOverlap=True))
    y = alt.Y("ms:Q", stack="zero", title=_("a token's time, ms"))
    colour = alt.Color("part:N", sort=_part_names(), scale=_part_scale(), legend=legend(columns, "square"))
    return named("parts").mark_bar().encode(x=x, y=y, color=colour, order=alt.Order("order:Q"), **hover())


def _stack(point: Point, parts: Parts) -> Iterator[dict[str, object]]:
    for order, part in enumerate(time_parts(parts)):
        if part.seconds > 0:
            load, time = numeral(point.load.value, ",.10g"), seconds(part.seconds)
            text = _("{load}, {part}: {time}").format(load=load_name(point.load), part=part.name, time=time)
            yield {"load": load, "part": part.name, "ms": part.seconds * 1e3, "order": order, "text": text}


def point_chart(parts: Parts) -> Any:
    """The parts of one time as bars below each other, as an Altair chart."""
    import altair as alt

    values = [
        {
            "part": part.name,
            "ms": part.seconds * 1e3,
            "text": f"{seconds(part.seconds)} ({numeral(part.seconds / parts.total_s, '.0%')})",
        }
        for part in time_parts(parts)
        if part.seconds > 0
    ]
    order = [str(row["part"]) for row in values]
    room = alt.Scale(domain=[0, 1.25e3 * max(part.seconds for part in time_parts(parts))])
    base = alt.Chart(rows(values)).encode(
        x=alt.X("ms:Q", scale=room, title=_("ms"), axis=alt.Axis(grid=False)), y=alt.Y("part:N", sort=order, title=None)
    )
    bars = base.mark_bar(aria=False).encode(color=alt.Color("part:N", scale=_part_scale(), legend=None))
    return alt.layer(bars, base.mark_text(align="left", dx=6, color=INK, aria=False).encode(text=alt.Text("text:N")))


def _part_names() -> list[str]:
    return [part.name for part in time_parts(Parts(0, 0, 0, 0, 0, 0))]


def _part_scale() -> Any:
    import altair as alt

    parts = time_parts(Parts(0, 0, 0, 0, 0, 0))
    return alt.Scale(domain=[part.name for part in parts], range=[part.colour for part in parts])
