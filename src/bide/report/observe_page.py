"""Observed traffic as a picture or as one self-contained page."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import accumulate
from typing import Any

from bide.i18n import _
from bide.report.observe_text import endnotes, facts, latency_table, length_table, sentence
from bide.report.page import NARROW, WIDE, page
from bide.report.themed import ACCENT, PARTS, log_scale, painted, png, round_ticks, rows, svg
from bide.report.workload_charts import stacked
from bide.units import format_seconds
from bide.workload.observing.histogram import Histogram
from bide.workload.observing.observation import Observation, moment

_HEIGHT = 220
_PICTURE = (900, 260)
_MOST_POINTS = 500


def observe_page(seen: Observation) -> str:
    """Sentence, lengths, charts, latencies, figures, notes. Needs jinja2, altair and vl-convert."""
    wide, narrow = _charts(seen, WIDE), _charts(seen, NARROW)
    return page(
        "observe.html.j2",
        sentence=sentence(seen),
        lengths=length_table(seen),
        latencies=latency_table(seen),
        facts=list(facts(seen)),
        charts=[(title, one, other) for (title, one), (_title, other) in zip(wide, narrow, strict=True)],
        notes=list(endnotes(seen)),
    )


def observe_svg(seen: Observation) -> str:
    """All charts, one below another, in light colours, for a file of its own."""
    return painted(_picture(seen))


def observe_png(seen: Observation) -> bytes:
    """The same as a PNG."""
    return png(_picture(seen))


def _picture(seen: Observation) -> str:
    return stacked(_charts(seen, *_PICTURE), _PICTURE[0])


def _charts(seen: Observation, width: int, height: int = _HEIGHT) -> list[tuple[str, str]]:
    """Title and SVG of each."""
    step = format_seconds(_chart_steps(seen) * seen.rates.step_s)
    drawn = [
        (
            _("Lengths: the share of requests with at most so many tokens, at the edges of the buckets"),
            svg(lengths_of(seen), width, height),
        )
    ]
    if seen.rates.arrived:
        title = _("Requests a second, the most in each {step}").format(step=step)
        drawn.append((title, svg(_rates(seen), width, height)))
    return drawn


def lengths_of(seen: Observation) -> Any:
    """The cumulative shares, which are known at the edges, with the likely curve between; a chart of no size yet."""
    import altair as alt

    named = {_("prompt"): "prompt_tokens", _("output"): "output_tokens"}
    curves = [point for name, role in named.items() for point in _curve(name, seen.histograms[role])]
    edges = [point for name, role in named.items() for point in _edges(name, seen.histograms[role])]
    scale = alt.Scale(domain=list(named), range=[PARTS[0], PARTS[2]])
    reach = [point["tokens"] for point in curves]
    axis = round_ticks([min(reach), max(reach)])
    x = alt.X("tokens:Q", scale=log_scale(10), title=_("tokens"), axis=axis)
    y = alt.Y("share:Q", title=_("share of requests"), axis=alt.Axis(format="%", tickCount=5))
    colour = alt.Color("of:N", scale=scale, sort=list(named), legend=alt.Legend(title=None, orient="top"))
    line = alt.Chart(rows(curves)).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    known = alt.Chart(rows(edges)).mark_point(filled=True, size=30, opacity=1).encode(x=x, y=y, color=colour)
    return alt.layer(line, known)


def _curve(name: str, of: Histogram) -> list[dict[str, Any]]:
    return [{"of": name, "tokens": max(1.0, at), "share": percent / 100} for percent, at in of.points().items()]


def _edges(name: str, of: Histogram) -> list[dict[str, Any]]:
    below = accumulate(of.counts)
    reached = zip(of.edges[1:], below, of.counts, strict=True)
    return [
        {"of": name, "tokens": edge, "share": n / of.count} for edge, n, own in reached if own and math.isfinite(edge)
    ]


def _rates(seen: Observation) -> Any:
    """The highest rate in each stretch of steps, and the mean of all."""
    import altair as alt

    values = [{"t": when.isoformat(), "rps": rps} for when, rps in _stretches(seen)]
    x = alt.X("t:T", title=_("time (UTC)"), scale=alt.Scale(type="utc"), axis=alt.Axis(grid=False))
    y = alt.Y("rps:Q", title=_("requests/s"), axis=alt.Axis(tickCount=5))
    area = alt.Chart(rows(values)).mark_area(color=ACCENT, opacity=0.25, line={"color": ACCENT}).encode(x=x, y=y)
    mean = alt.Chart(rows([{"rps": seen.rates.mean_rps}])).mark_rule(strokeDash=[5, 4], color=PARTS[2]).encode(y=y)
    return alt.layer(area, mean)


def _chart_steps(seen: Observation) -> int:
    """How many steps make a point of the chart."""
    return 1 + max(seen.rates.arrived, default=0) // _MOST_POINTS


def _stretches(seen: Observation) -> list[tuple[datetime, float]]:
    steps, rates = _chart_steps(seen), seen.rates
    most: dict[int, float] = {}
    for step, arrived in rates.arrived.items():
        most[step // steps] = max(most.get(step // steps, 0.0), arrived / rates.step_s)
    return [(moment(seen.looking.since_s + place * steps * rates.step_s), rps) for place, rps in sorted(most.items())]
