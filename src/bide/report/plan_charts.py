"""The charts of a plan, by the section that they stand in, and those of its first three steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bide.i18n import _, numeral
from bide.plan.answer import ServicePlan
from bide.plan.option import Option
from bide.plan.question import Traffic
from bide.report.drawing import Drawing, drawing
from bide.report.memory_charts import Marked, memory_drawing, requests_drawing
from bide.report.plan_asked import Asked, asked_of
from bide.report.plan_day_charts import day_charts, peak_day_chart
from bide.report.plan_fleet_charts import batch_chart, fleet_chart, in_unit, spans_of
from bide.report.plan_parts import Charts, Key
from bide.report.plan_saving_charts import saving_charts
from bide.report.plan_swing_chart import swing_charts
from bide.report.themed import ACCENT, INK, WARN, log_scale, round_ticks, rows, rule
from bide.report.workload_charts import cumulative_lines

_HEIGHT = 220


def section_charts(plan: ServicePlan, key: Key) -> Charts:
    """What a section of the page shows: titles, and what draws each at a width."""
    drawing: dict[Key, Callable[[ServicePlan], Charts]] = {
        "patience": _patience,
        "peak": _peak,
        "card": _card,
        "cards": _cards,
        "saving": saving_charts,
        "swings": swing_charts,
        "running": day_charts,
    }
    return drawing[key](plan) if key in drawing else ()


def _patience(plan: ServicePlan) -> Charts:
    """Each limit against what one replica does at rising rates."""
    if plan.chosen is None:
        return
    title = (
        _("{name} of one replica by its load")
        if plan.chosen.pools is None
        else _("{name} of the fleet by the load for each replica of either kind")
    )
    for asked in asked_of(plan.service):
        if any(asked.of(row.reading) for row in plan.rows):
            yield title.format(name=asked.name), drawing(load_chart(plan, asked), _HEIGHT)


def load_chart(plan: ServicePlan, asked: Asked) -> Any:
    """What is asked against requests a second of one replica: likely value, its range, the limit, the planned rate."""
    import altair as alt

    spans = spans_of(asked, [row.reading for row in plan.rows])
    values, unit = in_unit(asked, [{"x": reading.requests_per_s, **span} for reading, span in spans])
    limit = values.limit
    reach = [row[end] for row in values.rows for end in ("low", "high")] + [limit]
    y = alt.Y("low:Q", scale=log_scale(10), title=f"{asked.name}{unit}", axis=round_ticks(reach))
    base = alt.Chart(rows(values.rows)).encode(
        x=alt.X("x:Q", title=_("requests/s of one replica"), axis=alt.Axis(grid=False, tickCount=8))
    )
    band = base.mark_area(aria=False, color=ACCENT, opacity=0.2).encode(y=y, y2=alt.Y2("high:Q"))
    mid = alt.Y("mid:Q", scale=log_scale(10))
    line = base.mark_line(color=ACCENT, strokeWidth=2.5, point={"color": ACCENT, "size": 50}).encode(y=mid)
    return alt.layer(band, line, *_planned(plan), *rule(limit, _("limit")))


def _planned(plan: ServicePlan) -> list[Any]:
    """A line up at the rate that the plan gives each replica."""
    import altair as alt

    assert plan.chosen is not None
    data = rows([{"x": plan.chosen.reading.requests_per_s, "text": _("planned")}])
    base = alt.Chart(data).encode(x=alt.X("x:Q"))
    line = base.mark_rule(aria=False, color=INK, strokeDash=[2, 3])
    return [
        line,
        base.mark_text(aria=False, color=INK, align="left", dx=5).encode(y=alt.YValue(8), text=alt.Text("text:N")),
    ]


def _peak(plan: ServicePlan) -> Charts:
    traffic, work = plan.service.traffic, plan.service.workload
    if traffic.hours:
        yield _("The day, as it is planned for"), drawing(peak_day_chart(traffic), _HEIGHT)
    else:
        yield _("From the peak to the planned rate"), drawing(factors_chart(traffic), 140)
    named = [(_("prompt"), work.prompt_tokens), (_("output"), work.output_tokens)]
    title = _("Lengths: the share of requests with at most so many tokens")
    yield title, drawing(cumulative_lines(named), 200)


def factors_chart(traffic: Traffic) -> Any:
    """The peak, and what growth and margin make of it."""
    import altair as alt

    steps = [(_("stated peak"), traffic.peak_rps)]
    if traffic.growth != 1:
        steps.append((_("with growth"), traffic.peak_rps * traffic.growth))
    steps.append((_("planned"), traffic.planned_rps))
    values = [{"name": name, "rps": rps, "text": numeral(rps, ".4g")} for name, rps in steps]
    names = [name for name, _rps in steps]
    base = alt.Chart(rows(values)).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(ticks=False, minExtent=86))
    )
    x = alt.X("rps:Q", title=_("requests/s"), axis=alt.Axis(grid=False, tickCount=5))
    colours = alt.Scale(domain=names, range=[ACCENT] * (len(names) - 1) + [WARN])
    bars = base.mark_bar(aria=False, height=18).encode(x=x, color=alt.Color("name:N", scale=colours, legend=None))
    words = base.mark_text(aria=False, align="left", dx=6, color=INK).encode(x=alt.X("rps:Q"), text=alt.Text("text:N"))
    return alt.layer(bars, words)


def _card(plan: ServicePlan) -> Charts:
    option = plan.chosen
    if option is not None:
        yield _("Where the memory of one GPU goes"), memory_drawing(option.candidate.memory.ledger)
        yield _("How many requests fit"), concurrency(plan, option)


def concurrency(plan: ServicePlan, option: Option) -> Drawing:
    """Requests at once against the context of each, with the service's own contexts marked."""
    work = plan.service.workload
    marked = [
        Marked(round(work.mean_resident_tokens), _("a running request, on average")),
        Marked(work.largest_tokens, _("the longest request")),
    ]
    return requests_drawing(option.candidate.memory, marked, work.largest_tokens)


def _cards(plan: ServicePlan) -> Charts:
    if plan.chosen is None:
        return
    title = _("{name} by number of GPUs")
    for asked in asked_of(plan.service):
        if any(asked.of(row.reading) for row in plan.rows):
            yield title.format(name=asked.name), drawing(fleet_chart(plan, asked), 240)
    if any(line.running_per_gpu for line in plan.doublings):
        yield _("Requests at once on each GPU"), drawing(batch_chart(plan), 200)
