"""A plan as plain data for a page that draws its own charts: what `plan_view.view` says, and the arithmetic of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bide.i18n import _
from bide.plan.answer import Plan, ServicePlan
from bide.plan.telling import asked_point
from bide.report.plan_charts import section_charts
from bide.report.plan_explain import explained
from bide.report.plan_parts import Section, ServiceView, Table
from bide.report.plan_saving_charts import frontier_chart, held_chart, held_places
from bide.report.plan_view import view
from bide.report.spec import drawn, over, spec

_WHY: Mapping[str, tuple[str, ...]] = {
    "peak": ("count",),
    "card": ("memory", "speed"),
    "cards": ("count",),
    "cost": ("cost",),
}
"""Which arithmetic stands behind a section's numbers."""


def plan_shown(plan: Plan) -> dict[str, Any]:
    """Texts in the chosen language; charts as Vega-Lite. Needs altair."""
    said = view(plan)
    lists = ("sureness", "assumptions", "limits", "sources", "reproduce")
    return {
        "feasible": said.feasible,
        "sentence": said.sentence,
        "figures": [list(figure) for figure in said.figures],
        "services": [_service(each) for each in said.services],
        **{name: list(getattr(said, name)) for name in lists},
        "file": said.file,
    }


def _service(said: ServiceView) -> dict[str, Any]:
    plan = said.plan
    why = explained(plan, plan.chosen) if plan.chosen else {}
    steps, sections = ([_section(each, plan, why) for each in some] for some in (said.steps, said.sections))
    return {
        "name": said.name,
        "headline": said.headline,
        "steps": steps,
        "sections": sections,
        "starts": [list(start) for start in said.starts],
        "remarks": list(said.remarks),
        "why": why,
        "frontier": _frontier(plan, said.steps),
    }


def _section(section: Section, plan: ServicePlan, why: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    charts = [drawn(title, one) for title, one in section_charts(plan, section.key)]
    return {
        "key": section.key,
        "title": section.title,
        "lines": list(section.lines),
        "more": list(section.more),
        "lesson": section.lesson,
        "tables": [_table(each) for each in section.tables],
        "charts": charts,
        "why": [line for about in _WHY.get(section.key, ()) for line in why.get(about, ())],
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "headers": list(table.headers),
        "rows": [list(row) for row in table.rows],
        "marks": list(table.marks),
        "legend": table.legend,
        "wide": table.wide,
    }


def _frontier(plan: ServicePlan, steps: Sequence[Section]) -> dict[str, Any] | None:
    """The frontier with a handle, where it stands at each limit, and what the table says of the limit."""
    table = next((step.tables[0] for step in steps if step.key == "saving" and step.tables), None)
    if table is None or not plan.frontier:
        return None  # a fleet beside the services that it is for has none
    places = held_places(plan.frontier)
    first = next((place for place in places if place), None)
    if first is None:
        return None
    asked = asked_point(plan)
    base = spec(frontier_chart(plan.frontier, asked))
    return {
        "title": _("What each patience costs"),
        "measure": plan.frontier[0].measure.name,
        "seconds": [point.seconds for point in plan.frontier],
        "asked": plan.frontier.index(asked) if asked else None,
        "places": places,
        "table": _table(table),
        "spec": over(base, spec(held_chart(first), "h")),
    }
