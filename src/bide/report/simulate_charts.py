"""The charts of a simulation: latencies, and the state of the fleet over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bide.i18n import _
from bide.report.simulate_text import metric_name
from bide.report.themed import ACCENT, PARTS, log_scale, round_ticks, rows, svg
from bide.simulate.simulation import Simulation
from bide.simulate.summary.summarise import Metric, values_of
from bide.simulate.summary.window import measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_POINTS = 160
_SHOWN: tuple[Metric, ...] = ("ttft", "tpot", "e2e")
_UNITS = (("d", 86400.0), ("h", 3600.0), ("min", 60.0))


def charts(made: Simulation, width: int, height: int = 220) -> list[tuple[str, str]]:
    """Title and SVG of each."""
    line, share = made.run.timeline, made.run.timeline.hit_share()
    found = [
        (_("Latencies: the share of requests that waited at most so long"), svg(latencies_of(made), width, height)),
        (
            _("Requests running and waiting"),
            over_time(made, {_("running"): line.running, _("waiting"): line.waiting}, width, height),
        ),
        (_("Share of the cache that requests hold"), over_time(made, {_("held"): line.kv_share}, width, height, "%")),
    ]
    if line.preemptions[-1]:
        series = {_("preemptions"): line.preemptions}
        found.append((_("Preemptions since the beginning"), over_time(made, series, width, height)))
    if line.hit_tokens[-1]:
        series = {_("found"): share}
        found.append((_("Share of looked-up tokens found in the cache"), over_time(made, series, width, height, "%")))
    return found


def latencies_of(made: Simulation) -> Any:
    """Cumulative shares on a logarithmic axis, as a chart of no size yet."""
    import altair as alt

    inside = measured(made.run, made.summary.window)
    values = [point for metric in _SHOWN for point in _cumulative(metric, values_of(made.run, metric)[inside])]
    names = [metric_name(metric) for metric in _SHOWN]
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


def _cumulative(metric: Metric, values: Floats) -> list[dict[str, Any]]:
    import numpy as np

    there = values[np.isfinite(values) & (values > 0)]
    if not len(there):
        return []
    shares = np.unique(np.concatenate((np.linspace(0, 1, _POINTS), [0.99, 0.995, 0.999])))
    found = zip(np.quantile(there, shares).tolist(), shares.tolist(), strict=True)
    return [{"of": metric_name(metric), "s": seconds, "share": share} for seconds, share in found]


def over_time(made: Simulation, series: dict[str, Floats], width: int, height: int, form: str = "~s") -> str:
    """Lines over the time of the run; the warm-up is shaded."""
    import altair as alt

    times = made.run.timeline.time_s
    unit, size = next((u for u in _UNITS if times[-1] >= 3 * u[1]), ("s", 1.0))
    values = [
        {"t": time / size, "y": value, "of": name}
        for name, column in series.items()
        for time, value in zip(times.tolist(), column.tolist(), strict=True)
        if math.isfinite(value)
    ]
    names = list(series)
    colour = alt.Scale(domain=names, range=[ACCENT, PARTS[2]][: len(names)])
    x = alt.X("t:Q", title=_("time, {unit}").format(unit=unit), axis=alt.Axis(grid=False))
    y = alt.Y("y:Q", title=None, axis=alt.Axis(format=form, tickCount=5))
    legend = alt.Legend(title=None, orient="top") if len(names) > 1 else None
    line = alt.Chart(rows(values)).mark_line(strokeWidth=1.5)
    drawn = line.encode(x=x, y=y, color=alt.Color("of:N", scale=colour, sort=names, legend=legend))
    shade = alt.Chart(rows([{"a": 0.0, "b": made.summary.window.start_s / size}])).mark_rect(
        opacity=0.12, color=PARTS[5]
    )
    return svg(alt.layer(shade.encode(x=alt.X("a:Q"), x2="b:Q"), drawn), width, height)
