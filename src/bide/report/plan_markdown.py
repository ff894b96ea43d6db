"""A plan as Markdown, for a ticket or a wiki."""

from __future__ import annotations

from collections.abc import Iterable

from bide.i18n import _
from bide.plan.answer import Plan
from bide.report.markdown import bullets, plain, table
from bide.report.plan_view import ServiceView, view


def plan_markdown(plan: Plan) -> str:
    """The report in GitHub's Markdown."""
    said = view(plan)
    parts = [f"# {plain(said.title)}", f"**{plain(said.sentence)}**", plain(said.sureness)]
    for service in said.services:
        parts += _service(service)
    for title, lines in (
        (_("Assumptions"), said.assumptions),
        (_("Not counted"), said.limits),
        (_("Sources"), said.sources),
    ):
        parts += [f"## {title}", bullets(lines)]
    if said.reproduce:
        parts += [f"`{said.reproduce}`"]
    return "\n\n".join(parts) + "\n"


def _service(service: ServiceView) -> Iterable[str]:
    yield f"## {plain(service.name)}: {plain(service.headline)}"
    yield "\n".join(f"{i}. **{step.title}.** {plain(step.text)}" for i, step in enumerate(service.steps, 1))
    if service.serve:
        yield f"```sh\n{service.serve}\n```"
    yield from (table(made.headers, made.rows) for made in (service.fleets, service.others) if made)
    if service.rejections:
        yield "**" + _("Turned down") + "**\n\n" + bullets(service.rejections)
