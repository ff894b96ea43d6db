"""A plan as one self-contained page: no network, light and dark, readable on a phone and on paper."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bide.i18n import _
from bide.plan.answer import Plan
from bide.report.plan_charts import service_charts
from bide.report.plan_view import view

_TEMPLATES = Path(__file__).with_name("templates")
_WIDE, _NARROW = 750, 340
"""Every chart is drawn twice, because text in a scaled-down picture cannot be read."""


def plan_html(plan: Plan) -> str:
    """The page. Needs jinja2, altair and vl-convert; what it shows is `plan_view.view`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    charts = partial(_charts, plan)
    return environment.get_template("plan.html.j2").render(said=view(plan), charts=charts, _=_)


def _charts(plan: Plan, index: int) -> list[tuple[str, str, str]]:
    """Title, wide and narrow SVG of each chart of the service at `index`."""
    service = plan.services[index]
    both = zip(service_charts(service, _WIDE), service_charts(service, _NARROW), strict=True)
    return [(title, wide, narrow) for (title, wide), (_title, narrow) in both]
