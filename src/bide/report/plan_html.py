"""A plan as one self-contained page: no network, light and dark, readable on a phone and on paper."""

from __future__ import annotations

from bide.plan.answer import Plan, ServicePlan
from bide.report.page import NARROW, WIDE, page
from bide.report.plan_charts import section_charts
from bide.report.plan_parts import Key
from bide.report.plan_view import view


def plan_html(plan: Plan) -> str:
    """The page. Needs jinja2, altair and vl-convert; what it shows is `plan_view.view`."""
    return page("plan.html.j2", said=view(plan), charts=_charts)


def _charts(service: ServicePlan, key: Key) -> list[tuple[str, str, str]]:
    """Title, wide and narrow SVG of each chart of a section."""
    return [(title, draw(WIDE), draw(NARROW)) for title, draw in section_charts(service, key)]
