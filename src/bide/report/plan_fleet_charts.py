"""Charts over numbers of GPUs: how long users wait, and how full each GPU is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bide.i18n import _
from bide.plan.answer import ServicePlan
from bide.plan.findings import Doubling, Reading
from bide.plan.question import Goodput
from bide.report.plan_asked import Asked
from bide.report.themed import ACCENT, INK, PARTS, log_scale, round_ticks, rows, rule

Row = dict[str, Any]
_TP = PARTS[2]


@dataclass(frozen=True, slots=True)
class Scaled:
    """Values in the unit of an axis, and the limit in the same."""

    rows: list[Row]
    limit: float


def spans_of(asked: Asked, readings: Sequence[Reading]) -> list[tuple[Reading, Row]]:
    """Low, likely and high of every reading that has them; an infinite end goes to twice the highest finite value."""
    found = [(reading, span) for reading in readings if (span := asked.of(reading)) is not None]
    finite = [value for _reading, span in found for value in (span.mid, span.high) if math.isfinite(value)]
    top = 2 * max([*finite, asked.limit or 0.0])
    return [(reading, {"low": span.low, "mid": span.mid, "high": min(span.high, top)}) for reading, span in found]


def in_unit(asked: Asked, values: list[Row]) -> tuple[Scaled, str]:
    """In seconds, or ms where all are below 1 s; a goodput's ratios as they are. The unit is for the axis' title."""
    limit = asked.limit or 1.0
    if isinstance(asked.what, Goodput):
        return Scaled(values, limit), ""
    small = max([limit, *(value["mid"] for value in values)]) < 1
    scale, unit = (1e3, _(", ms")) if small else (1.0, _(", s"))
    ends = ("low", "mid", "high")
    scaled = [{key: value * scale if key in ends else value for key, value in row.items()} for row in values]
    return Scaled(scaled, limit * scale), unit


def fleet_chart(plan: ServicePlan, asked: Asked) -> Any:
    """What is asked against GPUs, as an Altair chart: replicas with their range, tensor parallel beside, the limit."""
    import altair as alt

    gpus = {id(row.reading): row.gpus for row in plan.rows}
    spans = [{"gpus": gpus[id(reading)], **span} for reading, span in spans_of(asked, [r.reading for r in plan.rows])]
    wide = _wide(plan)
    beside = [{"gpus": line.gpus, **span} for line, span in _with_lines(asked, wide)]
    scaled, unit = in_unit(asked, [*spans, *beside])
    values, others = scaled.rows[: len(spans)], scaled.rows[len(spans) :]
    reach = [row[end] for row in values for end in ("low", "high")] + [scaled.limit]
    y = alt.Y("low:Q", scale=log_scale(10), title=f"{asked.name}{unit}", axis=round_ticks(reach))
    x = _gpus(plan)
    base = alt.Chart(rows(values)).encode(x=x)
    spread = base.mark_rule(aria=False, color=ACCENT, strokeWidth=7, opacity=0.3).encode(y=y, y2=alt.Y2("high:Q"))
    data = [{**row, "way": _("replicas")} for row in values] + [{**row, "way": _("tensor parallel")} for row in others]
    points = alt.Chart(rows(data)).encode(x=x, y=alt.Y("mid:Q", scale=log_scale(10)), color=_ways(bool(others)))
    layers = [spread, points.mark_line(strokeWidth=1.5), points.mark_point(filled=True, size=70, opacity=1)]
    return alt.layer(*layers, *_answer(plan), *rule(scaled.limit, _("limit")))


def _wide(plan: ServicePlan) -> list[Doubling]:
    """The doublings over TP that are not those of the replicas."""
    own = plan.chosen.candidate.deployment.tp if plan.chosen else 1
    known = {row.gpus for row in plan.rows}
    return [line for line in plan.doublings if line.way == "tp" and line.tp != own and line.gpus in known]


def _with_lines(asked: Asked, lines: Sequence[Doubling]) -> list[tuple[Doubling, Row]]:
    by_reading = {id(line.reading): line for line in lines}
    return [(by_reading[id(reading)], span) for reading, span in spans_of(asked, [line.reading for line in lines])]


def _gpus(plan: ServicePlan) -> Any:
    import altair as alt

    every = alt.Scale(domain=[row.gpus for row in plan.rows])
    return alt.X("gpus:O", title=_("GPUs"), scale=every, axis=alt.Axis(labelAngle=0))


def _ways(both: bool) -> Any:
    import altair as alt

    names = [_("replicas"), _("tensor parallel")]
    legend = alt.Legend(title=None, orient="top") if both else None
    return alt.Color("way:N", scale=alt.Scale(domain=names, range=[ACCENT, _TP]), sort=names, legend=legend)


def _answer(plan: ServicePlan) -> list[Any]:
    """A line up at the GPUs that the load needs."""
    import altair as alt

    if plan.chosen is None:
        return []
    data = rows([{"gpus": plan.chosen.needed_gpus, "text": _("the answer")}])
    base = alt.Chart(data).encode(x=_gpus(plan))
    line = base.mark_rule(aria=False, color=INK, strokeDash=[2, 3])
    return [
        line,
        base.mark_text(aria=False, color=INK, align="left", dx=5).encode(y=alt.YValue(8), text=alt.Text("text:N")),
    ]


def batch_chart(plan: ServicePlan) -> Any:
    """Requests at once on each GPU: halved, or less, by each doubling."""
    import altair as alt

    lines = [(row.gpus, row.running_per_gpu, _("replicas")) for row in plan.rows]
    lines += [(line.gpus, line.running_per_gpu, _("tensor parallel")) for line in _wide(plan)]
    known = [(gpus, batch, way) for gpus, batch, way in lines if batch]
    values = [{"gpus": gpus, "batch": batch, "way": way} for gpus, batch, way in known]
    ways = {way for _gpus_, _batch, way in known}
    y = alt.Y(
        "batch:Q",
        scale=log_scale(10),
        title=_("requests at once a GPU"),
        axis=round_ticks([batch for _gpus_, batch, _way in known]),
    )
    base = alt.Chart(rows(values)).encode(x=_gpus(plan), y=y, color=_ways(len(ways) > 1))
    points = base.mark_point(filled=True, size=70, opacity=1)
    return alt.layer(base.mark_line(strokeWidth=1.5), points, *_answer(plan))
