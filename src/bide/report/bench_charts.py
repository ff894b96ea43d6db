"""The charts of a measured run: latencies, what was in flight, and levels against one another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bide import metrics
from bide.bench.result import Bench, Cell
from bide.bench.window import measured
from bide.i18n import _, numeral
from bide.report.bench_text import metric_name, shown_cell
from bide.report.themed import ACCENT, INK, PARTS, log_scale, round_ticks, rows, svg

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_POINTS, _FEWEST_POINTS = 160, 20


def charts(made: Bench, width: int, height: int = 220) -> list[tuple[str, str]]:
    """Title and SVG of each."""
    cell = shown_cell(made)
    found = []
    if len(made.cells) > 1:
        found.append((_("Throughput against delay, a point a level"), level_chart(made, width, height)))
    found += [
        (_("Latencies: the share of requests that waited at most so long"), latency_chart(cell, width, height)),
        (_("Requests in flight, as the client sees it"), over_time(_flight(cell), width, height)),
        (_("Output tokens a second"), over_time({_("tokens/s"): _tokens(cell)}, width, height)),
    ]
    samples = cell.server.samples
    if len(samples) > 1:
        times = [each.time_s for each in samples]
        state = {_("running"): [each.running for each in samples], _("waiting"): [each.waiting for each in samples]}
        found.append((_("Requests on the server"), over_time({k: (times, v) for k, v in state.items()}, width, height)))
        held = (times, [each.kv_usage for each in samples])
        found.append((_("Share of the cache in use"), over_time({_("in use"): held}, width, height, "%")))
    return found


Series = tuple[Sequence[float], Sequence[float]]


def latency_chart(cell: Cell, width: int, height: int) -> str:
    """Cumulative shares of what was measured, as SVG."""
    inside = measured(cell.table, cell.summary.window)
    found = {metric: metrics.latency_s(cell.table, metric)[inside] for metric in metrics.LATENCIES}
    return svg(cumulative_chart(found), width, height)


def cumulative_chart(found: Mapping[metrics.Latency, Floats]) -> Any:
    """Cumulative shares of latencies in seconds on a logarithmic axis, as an Altair chart."""
    import altair as alt

    values = [point for metric, seconds in found.items() for point in _cumulative(metric, seconds)]
    names = [metric_name(metric) for metric in found]
    reach = [point["s"] for point in values] or [1.0]
    colour = alt.Scale(domain=names, range=list(PARTS[: len(names)]))
    return (
        alt.Chart(rows(values))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X("s:Q", scale=log_scale(10), title=_("seconds"), axis=round_ticks([min(reach), max(reach)])),
            y=alt.Y("share:Q", title=_("share of requests"), axis=alt.Axis(format="%", tickCount=5)),
            color=alt.Color("of:N", scale=colour, sort=names, legend=alt.Legend(title=None, orient="top")),
        )
    )


def _cumulative(metric: metrics.Latency, values: Floats) -> list[dict[str, Any]]:
    import numpy as np

    there = values[np.isfinite(values) & (values > 0)]
    if not len(there):
        return []
    shares = np.linspace(0, 1, _POINTS)
    found = zip(np.quantile(there, shares).tolist(), shares.tolist(), strict=True)
    return [{"of": metric_name(metric), "s": seconds, "share": share} for seconds, share in found]


def level_chart(made: Bench, width: int, height: int) -> str:
    """The p95 of the whole stay over output tokens a second, in order of the load, as SVG."""
    points = []
    for cell in sorted(made.cells, key=lambda each: each.load.level):
        latency = cell.summary.latency("e2e")
        if latency is not None and latency.count:
            stay_s, text = latency.at(95), numeral(cell.load.level, ".4g")
            points.append({"x": cell.summary.output_tokens_per_s, "y": stay_s, "level": cell.load.level, "text": text})
    return svg(levels_chart(points), width, height)


def levels_chart(points: Sequence[Mapping[str, Any]], which: str = "p95") -> Any:
    """Seconds `y` over output tokens a second `x`, by rising `level`, each with its `text`, as an Altair chart.

    `which` percentile of the whole stay the seconds are.
    """
    import altair as alt

    base = alt.Chart(rows(points)).encode(
        x=alt.X("x:Q", title=_("output tokens/s"), axis=alt.Axis(grid=False)),
        y=alt.Y("y:Q", title=_("E2E {which}, s").format(which=which), scale=alt.Scale(zero=True)),
    )
    line = base.mark_line(color=ACCENT, point=alt.OverlayMarkDef(color=ACCENT)).encode(order=alt.Order("level:Q"))
    return alt.layer(line, base.mark_text(color=INK, dy=-10, align="center").encode(text=alt.Text("text:N")))


def spread_chart(values: Sequence[Mapping[str, Any]]) -> Any:
    """Seconds `s` at each `percent`, a line for each of `of`, as an Altair chart: where no requests are listed."""
    import altair as alt

    names, percents = (list(dict.fromkeys(str(row[key]) for row in values)) for key in ("of", "percent"))
    reach = [float(row["s"]) for row in values]
    colour = alt.Scale(domain=names, range=list(PARTS[: len(names)]))
    base = alt.Chart(rows(values)).encode(
        x=alt.X("percent:N", sort=percents, title=None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("s:Q", scale=log_scale(10), title=_("seconds"), axis=round_ticks(reach)),
        color=alt.Color("of:N", scale=colour, sort=names, legend=alt.Legend(title=None, orient="top", columns=2)),
    )
    return alt.layer(base.mark_line(strokeWidth=1.5), base.mark_point(filled=True, size=60, opacity=1))


def over_time(series: Mapping[str, Series], width: int, height: int, form: str = "~s") -> str:
    """Lines over the seconds of the cell."""
    import altair as alt

    values = [
        {"t": time, "y": value, "of": name}
        for name, (times, column) in series.items()
        for time, value in zip(times, column, strict=True)
        if math.isfinite(value)
    ]
    names = list(series)
    colour = alt.Scale(domain=names, range=[ACCENT, PARTS[2]][: len(names)])
    legend = alt.Legend(title=None, orient="top") if len(names) > 1 else None
    drawn = (
        alt.Chart(rows(values))
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("t:Q", title=_("time, {unit}").format(unit="s"), axis=alt.Axis(grid=False)),
            y=alt.Y("y:Q", title=None, axis=alt.Axis(format=form, tickCount=5)),
            color=alt.Color("of:N", scale=colour, sort=names, legend=legend),
        )
    )
    return svg(drawn, width, height)


def _grid(cell: Cell) -> Floats:
    import numpy as np

    ends = [row.end_s for row in cell.outcomes if row.end_s is not None]
    return np.linspace(0.0, max(ends, default=1.0), 2 * _POINTS)


def _flight(cell: Cell) -> dict[str, Series]:
    import numpy as np

    spans = [(row.sent_s, row.end_s) for row in cell.outcomes if row.sent_s is not None and row.end_s is not None]
    starts, ends = (np.sort(column) for column in np.array(spans or [(0.0, 0.0)]).T)
    grid = _grid(cell)
    flying = np.searchsorted(starts, grid, side="right") - np.searchsorted(ends, grid, side="right")
    return {_("in flight"): (grid.tolist(), flying.astype(np.float64).tolist())}


def _tokens(cell: Cell) -> Series:
    import numpy as np

    kept = [times for times in cell.table.token_times_s or () if len(times)]
    stamps = np.concatenate(kept) if kept else np.empty(0)
    end_s = float(_grid(cell)[-1])
    edges = np.linspace(0.0, end_s, min(_POINTS, max(_FEWEST_POINTS, int(end_s) + 1)))
    counts, _edges = np.histogram(stamps, edges)
    return ((edges[:-1] + edges[1:]) / 2).tolist(), (counts / np.diff(edges)).tolist()
