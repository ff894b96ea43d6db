"""The charts of a plan: where the memory goes, how many requests fit, how long they wait on how many GPUs."""

from __future__ import annotations

import math
from typing import Any

from bide.i18n import _
from bide.plan.answer import Option, Row, ServicePlan
from bide.plan.question import Measure
from bide.plan.reading import shown_measures
from bide.report.memory_charts import Marked, memory_bar, requests_chart
from bide.report.themed import ACCENT, log_scale, round_ticks, rows, rule, svg
from bide.report.words import short_name


def service_charts(plan: ServicePlan, width: int) -> list[tuple[str, str]]:
    """Title and SVG of each chart of a service that can be met."""
    option = plan.chosen
    if option is None:
        return []
    asked = [limit.measure for limit in plan.service.patience]
    shown = [measure for measure in shown_measures(plan.service.patience) if measure in asked]
    by_fleet = _("{measure} by number of GPUs")
    return [
        (_("Where the memory of one GPU goes"), memory_bar(option.candidate.memory.ledger, width)),
        (_("How many requests fit"), concurrency(plan, option, width)),
        *((by_fleet.format(measure=short_name(measure)), fleets(plan, measure, width)) for measure in shown),
    ]


def concurrency(plan: ServicePlan, option: Option, width: int) -> str:
    """Requests at once against the context of each, with the service's own contexts marked."""
    work = plan.service.workload
    marked = [
        Marked(round(work.mean_resident_tokens), _("a running request, on average")),
        Marked(work.largest_tokens, _("the longest request")),
    ]
    return requests_chart(option.candidate.memory, marked, work.largest_tokens, width)


def fleets(plan: ServicePlan, measure: Measure, width: int) -> str:
    """One latency against the number of GPUs, as SVG."""
    return svg(fleet_chart(plan, measure), width, 200)


def fleet_chart(plan: ServicePlan, measure: Measure) -> Any:
    """The same as an Altair chart: likely value, its range, and the limit."""
    import altair as alt

    limits = [limit.seconds for limit in plan.service.patience if limit.measure == measure]
    values = _fleet_values(plan.rows, measure, limits)
    scale, unit = (1e3, _("ms")) if max([*limits, *(value["mid"] for value in values)]) < 1 else (1.0, _("s"))
    scaled = [{key: value * (1 if key == "gpus" else scale) for key, value in row.items()} for row in values]
    reach = [row[end] for row in scaled for end in ("low", "high")] + [seconds * scale for seconds in limits]
    low = alt.Y("low:Q", scale=log_scale(10), title=f"{short_name(measure)}, {unit}", axis=round_ticks(reach))
    every = alt.Scale(domain=[row.gpus for row in plan.rows])
    base = alt.Chart(rows(scaled)).encode(x=alt.X("gpus:O", title=_("GPUs"), scale=every, axis=alt.Axis(labelAngle=0)))
    spread = base.mark_rule(color=ACCENT, strokeWidth=7, opacity=0.3).encode(y=low, y2="high:Q")
    points = base.mark_point(color=ACCENT, filled=True, size=80, opacity=1)
    layers = [spread, points.encode(y=alt.Y("mid:Q", scale=log_scale(10)))]
    for seconds in limits:
        layers += rule(seconds * scale, _("limit"))
    return alt.layer(*layers)


def _fleet_values(found: tuple[Row, ...], measure: Measure, limits: list[float]) -> list[dict[str, float]]:
    """GPUs and interval of every row that has one; an infinite end is drawn to twice the highest finite value."""
    spans = {row.gpus: span for row in found if (span := row.reading.seconds[measure]) is not None}
    finite = [value for span in spans.values() for value in (span.mid, span.high) if math.isfinite(value)]
    top = 2 * max([*finite, *limits])
    return [{"gpus": n, "low": span.low, "mid": span.mid, "high": min(span.high, top)} for n, span in spans.items()]
