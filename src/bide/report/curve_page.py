"""Curves as a picture or as one self-contained page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bide.i18n import _
from bide.report.curve_charts import latency_chart, throughput_chart
from bide.report.curve_explain import arithmetic
from bide.report.curve_names import load_name, mix_name
from bide.report.curve_notes import notes
from bide.report.curve_part_charts import parts_chart, point_chart
from bide.report.curve_said import CurvesSaid, headline
from bide.report.curve_sentences import sentences
from bide.report.curve_table import curve_table, limits
from bide.report.page import NARROW, WIDE, page
from bide.report.themed import painted, png, svg, titled
from bide.report.words import place

_PICTURE = (900, 520)
_LABEL_WIDTH = 330
"""Of a curve's name in a legend, pixels."""
_PART_WIDTH = 120
_POINT_HEIGHT = 200

Chart = tuple[str, str, str]
"""Title, wide and narrow SVG."""


def curve_svg(said: CurvesSaid) -> str:
    """Time between tokens against throughput, in light colours, for a file of its own."""
    return painted(_picture(said))


def curve_png(said: CurvesSaid) -> bytes:
    """The same as a PNG."""
    return png(_picture(said))


def _picture(said: CurvesSaid) -> str:
    curve, (width, height) = said.curves[0], _PICTURE
    chart = throughput_chart(said, width // _LABEL_WIDTH)
    where = place(curve.deployment) if len(said.curves) == 1 else ""
    title = ", ".join(filter(None, (curve.deployment.model.name, where, _mix(said))))
    return titled(svg(chart.properties(title=title), width, height))


def _mix(said: CurvesSaid) -> str:
    mixes = {curve.mix for curve in said.curves}
    return mix_name(mixes.pop()) if len(mixes) == 1 else ""


def curve_page(said: CurvesSaid) -> str:
    """Sentences, charts, a table for each curve, the arithmetic where it was asked for, notes."""
    first, *more = sentences(said)
    return page(
        "curve.html.j2",
        sentence=first,
        more=more,
        charts=list(_charts(said)) if drawable(said) else [],
        curves=[_section(said, number) for number in range(len(said.curves))],
        notes=list(notes(said)),
    )


def drawable(said: CurvesSaid) -> bool:
    """Whether any point has a place on the charts."""
    return any(point.tpot_s and point.bound != "unstable" for curve in said.curves for point in curve.points)


def _charts(said: CurvesSaid) -> Iterator[Chart]:
    rows = -(-len(said.curves) // 2) if len(said.curves) > 1 else 0

    def columns(width: int) -> int:
        return max(1, width // _LABEL_WIDTH)

    def drawn(make: Callable[[int], Any], height: int) -> tuple[str, str]:
        wide, narrow = ((make(columns(width)), width) for width in (WIDE, NARROW))
        return _svg(*wide, height + 22 * rows), _svg(*narrow, height + 44 * rows)

    yield (_("Speed against work, as more requests run at once"), *drawn(lambda n: throughput_chart(said, n), 360))
    if any(len(curve.points) > 1 for curve in said.curves):
        yield (_("How long a whole answer takes"), *drawn(lambda n: latency_chart(said, "e2e_s", n), 250))
        yield (_("How long until the first token"), *drawn(lambda n: latency_chart(said, "ttft_s", n), 250))


def _svg(chart: Any, width: int, height: int) -> str:
    return titled(svg(chart, width, height))


def _section(said: CurvesSaid, number: int) -> dict[str, object]:
    """One curve: its name, table with the class of each row, limits, chart of parts, explanation."""
    curve = said.curves[number]
    headers, rows = curve_table(said, number)
    point = headline(curve)
    return {
        "name": said.names[number],
        "headers": headers,
        "rows": [("knee" if curve.points[i] is curve.knee else "", row) for i, row in enumerate(rows)],
        "limits": limits(curve),
        "charts": list(_part_charts(said, number)),
        "explained": list(arithmetic(curve, point)) if said.explained else [],
        "load": load_name(point.load),
    }


def _part_charts(said: CurvesSaid, number: int) -> Iterator[Chart]:
    curve = said.curves[number]
    if any(point.tpot_parts for point in curve.points):
        charts = [_svg(parts_chart(curve, width // _PART_WIDTH), width, 270) for width in (WIDE, NARROW)]
        yield _("Where a token's time goes"), charts[0], charts[1]
    point = headline(curve)
    times = [(_("a token"), point.tpot_parts), (_("the first token"), point.ttft_parts)] if said.explained else []
    for what, parts in times:
        if parts:
            title = _("Where the time of {what} goes with {load}").format(what=what, load=load_name(point.load))
            charts = [_svg(point_chart(parts), width, _POINT_HEIGHT) for width in (WIDE, NARROW)]
            yield title, charts[0], charts[1]
