"""The course of a day: the rate that is planned for, and the replicas that follow it."""

from __future__ import annotations

from typing import Any

from bide.i18n import _
from bide.plan.answer import ServicePlan
from bide.plan.autoscale import Autoscaling
from bide.plan.question import Traffic
from bide.plan.serving.transfer import Role
from bide.report.drawing import drawing
from bide.report.plan_parts import Charts
from bide.report.themed import ACCENT, INK, PARTS, WARN, rows

_HEIGHT = 210


def peak_day_chart(traffic: Traffic) -> Any:
    """The stated day and the planned one, in requests/s, each hour's rate in its middle."""
    import altair as alt

    names = [_("planned"), _("stated")]
    values = [
        {"hour": hour + 0.5, "rps": share * rate, "of": name}
        for name, rate in zip(names, (traffic.planned_rps, traffic.peak_rps), strict=True)
        for hour, share in enumerate(traffic.hours)
    ]
    colour = alt.Scale(domain=names, range=[WARN, ACCENT])
    return (
        alt.Chart(rows(values))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=_hours(),
            y=alt.Y("rps:Q", title=_("requests/s"), axis=alt.Axis(tickCount=5)),
            color=alt.Color("of:N", scale=colour, sort=names, legend=alt.Legend(title=None, orient="top")),
        )
    )


def _hours() -> Any:
    import altair as alt

    axis = alt.Axis(values=list(range(0, 25, 3)), grid=False)
    return alt.X("hour:Q", title=_("hour of the day"), scale=alt.Scale(domain=[0, 24]), axis=axis)


def day_charts(plan: ServicePlan) -> Charts:
    """Replicas over the day, where its hours are known, a chart for each kind."""
    for scaling in plan.operation.scalings if plan.operation else ():
        if scaling.autoscaling is not None:
            yield _title(scaling.role), drawing(replicas_chart(scaling.autoscaling), _HEIGHT)


def _title(role: Role | None) -> str:
    titles = {
        "prefill": _("Replicas for prompts needed in each hour, against a fixed fleet"),
        "decode": _("Replicas for answers needed in each hour, against a fixed fleet"),
    }
    return titles[role] if role else _("Replicas needed in each hour, against a fixed fleet")


def replicas_chart(scaled: Autoscaling) -> Any:
    """Steps of the replicas that each hour needs, the fixed fleet as a line."""
    import altair as alt

    needed = scaled.replicas_by_hour
    values = [{"hour": hour, "n": count} for hour, count in enumerate((*needed, needed[-1]))]
    y = alt.Y("n:Q", title=_("replicas"), axis=alt.Axis(tickMinStep=1, format="d"), scale=alt.Scale(domainMin=0))
    area = alt.Chart(rows(values)).mark_area(
        aria=False, interpolate="step-after", color=ACCENT, opacity=0.25, line={"color": ACCENT}
    )
    base = alt.Chart(rows([{"n": scaled.fixed_replicas, "text": _("fixed")}]))
    line = base.mark_rule(aria=False, color=WARN, strokeDash=[5, 4]).encode(y=alt.Y("n:Q"))
    word = base.mark_text(aria=False, color=WARN, align="right", dy=-7).encode(
        y=alt.Y("n:Q"), x=alt.XValue("width"), text=alt.Text("text:N")
    )
    fewest = alt.Chart(rows([{"n": scaled.min_replicas, "text": _("fewest, by the thresholds")}]))
    floor = fewest.mark_rule(aria=False, color=PARTS[3], strokeDash=[2, 3]).encode(y=alt.Y("n:Q"))
    name = fewest.mark_text(aria=False, color=INK, align="left", dx=4, dy=-7).encode(
        y=alt.Y("n:Q"), x=alt.XValue(0), text=alt.Text("text:N")
    )
    return alt.layer(area.encode(x=_hours(), y=y), line, word, floor, name)
