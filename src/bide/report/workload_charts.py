"""The charts of a workload: how long, when, and what a prefix cache finds."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bide.i18n import _
from bide.report.themed import ACCENT, PARTS, log_scale, round_ticks, rows, svg
from bide.report.workload_text import WorkloadSaid, duration
from bide.workload.measuring.description import Description
from bide.workload.measuring.rates import ArrivalStats, counts_in
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_MOST_WINDOWS = 240
_WIDTHS_S = (1.0, 10.0, 60.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0)
_CURVE_POINTS = 160


def charts(said: WorkloadSaid, width: int, height: int = 220) -> list[tuple[str, str]]:
    """Title and SVG of each chart that there is something for."""
    drawn = [(_("Lengths: the share of requests with at most so many tokens"), svg(lengths_of(said), width, height))]
    about, times_s = said.description, said.trace.arrival_s if said.trace else None
    if times_s is not None and about.arrivals:
        window_s = _window_s(about.arrivals.span_s)
        title = _("Requests a second, over {window}").format(window=duration(window_s))
        drawn.append((title, rates_chart(about.arrivals, times_s, window_s, width, height)))
    if about.reuse and about.reuse.curve:
        drawn.append((_("Prompt tokens found in a prefix cache, by its size"), reuse_chart(said, width, height)))
    return drawn


def lengths_of(said: WorkloadSaid) -> Any:
    """Cumulative shares of prompt and output lengths on a logarithmic axis, as a chart of no size yet."""
    return _cumulative_lines(_from_trace(said.trace) if said.trace else _from_percentiles(said.description))


def cumulative_lines(named: Sequence[tuple[str, Ints]]) -> Any:
    """The share of requests with at most so many tokens, a line for each name."""
    return _cumulative_lines([point for name, tokens in named for point in _cumulative(name, tokens)])


def _cumulative_lines(values: list[dict[str, Any]]) -> Any:
    import altair as alt

    names = list(dict.fromkeys(value["of"] for value in values))
    colour = alt.Scale(domain=names, range=[PARTS[0], PARTS[2]][: len(names)])
    reach = [value["tokens"] for value in values]
    axis = round_ticks([float(min(reach)), float(max(reach))])
    line = alt.Chart(rows(values)).mark_line(strokeWidth=2.5)
    return line.encode(
        x=alt.X("tokens:Q", scale=log_scale(10), title=_("tokens"), axis=axis),
        y=alt.Y("share:Q", title=_("share of requests"), axis=alt.Axis(format="%", tickCount=5)),
        color=alt.Color("of:N", scale=colour, sort=names, legend=alt.Legend(title=None, orient="top")),
    )


def _from_trace(trace: Trace) -> list[dict[str, Any]]:
    answered = trace.answered
    found = _cumulative(_("prompt"), trace.prompt_tokens[answered])
    return found + (_cumulative(_("output"), trace.output_tokens[answered]) if trace.outputs_known else [])


def _from_percentiles(about: Description) -> list[dict[str, Any]]:
    """The percentiles alone, where the trace is not at hand."""
    named = ((_("prompt"), about.prompt), (_("output"), about.output))
    return [
        {"of": name, "tokens": float(tokens), "share": percent / 100}
        for name, stats in named
        if stats
        for percent, tokens in ((0.0, stats.smallest), *sorted(stats.percentiles.items()), (100.0, stats.largest))
    ]


def _cumulative(name: str, tokens: Ints) -> list[dict[str, Any]]:
    import numpy as np

    shares = np.unique(np.concatenate((np.linspace(0, 1, _CURVE_POINTS), [0.99, 0.995, 0.999])))
    at = np.quantile(tokens, shares)
    return [{"of": name, "tokens": float(n), "share": float(s)} for n, s in zip(at, shares, strict=True)]


def _window_s(span_s: float) -> float:
    """The narrowest window that gives a readable number of points."""
    return next((width for width in _WIDTHS_S if span_s / width <= _MOST_WINDOWS), _WIDTHS_S[-1])


def rates_chart(arrivals: ArrivalStats, times_s: Floats, window_s: float, width: int, height: int) -> str:
    """Requests a second over time, and their mean."""
    import altair as alt

    counts = counts_in(times_s, window_s) / window_s
    unit, size = next(
        (u for u in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)) if arrivals.span_s >= 3 * u[1]), ("s", 1.0)
    )
    values = [{"t": i * window_s / size, "rps": float(each)} for i, each in enumerate(counts)]
    title = _("time, {unit}").format(unit=unit)
    base = alt.Chart(rows(values)).encode(x=alt.X("t:Q", title=title, axis=alt.Axis(grid=False)))
    rates = base.mark_area(color=ACCENT, opacity=0.25, line={"color": ACCENT}, interpolate="step-after")
    mean = alt.Chart(rows([{"rps": arrivals.mean_rps}])).mark_rule(strokeDash=[5, 4], color=PARTS[2], strokeWidth=1.5)
    y = alt.Y("rps:Q", title=_("requests/s"), axis=alt.Axis(tickCount=5))
    return svg(alt.layer(rates.encode(y=y), mean.encode(y="rps:Q")), width, height)


def reuse_chart(said: WorkloadSaid, width: int, height: int) -> str:
    """The share of prompt tokens found, against the size of the cache."""
    import altair as alt

    reuse = said.description.reuse
    assert reuse is not None
    values = [{"tokens": size, "share": share} for size, share in reuse.curve]
    ticks = round_ticks([float(reuse.curve[0][0]), float(reuse.curve[-1][0])])
    powers = [10.0**n for n in range(3, 13)]
    axis = alt.Axis(values=[t for t in powers if _within(t, reuse.curve)] or ticks.values, format="~s", grid=False)
    x = alt.X("tokens:Q", scale=log_scale(10), title=_("tokens in the cache"), axis=axis)
    y = alt.Y("share:Q", title=_("prompt tokens found"), axis=alt.Axis(format="%", tickCount=5))
    line = alt.Chart(rows(values)).mark_line(color=ACCENT, strokeWidth=2.5)
    return svg(line.encode(x=x, y=y), width, height)


def _within(tick: float, curve: Sequence[tuple[int, float]]) -> bool:
    return curve[0][0] <= tick <= curve[-1][0]


def stacked(drawn: Sequence[tuple[str, str]], width: int) -> str:
    """Several SVGs one below another, each under its title."""
    parts, y = [], 0
    for title, one in drawn:
        size = re.search(r'height="(\d+(?:\.\d+)?)"', one)
        height = math.ceil(float(size[1])) if size else 0
        style = 'font-family="system-ui, sans-serif" font-size="15" font-weight="600" fill="var(--ink)"'
        text = f'<text x="8" y="{y + 24}" {style}>{title}</text>'
        parts.append(text + f'<g transform="translate(0,{y + 36})">{one}</g>')
        y += height + 56
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" viewBox="0 0 {width} {y}">'
    return head + "".join(parts) + "</svg>"
