"""A plan as one self-contained page: no network, light and dark, readable on a phone and on paper."""

from __future__ import annotations

from functools import partial

from bide.plan.answer import Plan
from bide.report.page import NARROW, WIDE, page
from bide.report.plan_charts import section_charts
from bide.report.plan_parts import Key
from bide.report.plan_view import view


def plan_html(plan: Plan) -> str:
    """The page. Needs jinja2, altair and vl-convert; what it shows is `plan_view.view`."""
    return page("plan.html.j2", said=view(plan), charts=partial(_charts, plan))


def _charts(plan: Plan, index: int, key: Key) -> list[tuple[str, str, str]]:
    """Title, wide and narrow SVG of each chart of a section of the service at `index`."""
    service = plan.services[index]
    both = zip(section_charts(service, key, WIDE), section_charts(service, key, NARROW), strict=True)
    return [(title, wide, narrow) for (title, wide), (_title, narrow) in both]
