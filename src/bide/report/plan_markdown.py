"""A plan as Markdown, for a ticket or a wiki."""

from __future__ import annotations

from collections.abc import Iterable

from bide.i18n import _
from bide.plan.answer import Plan
from bide.report.plan_view import ServiceView, Table, view


def plan_markdown(plan: Plan) -> str:
    """The report in GitHub's Markdown."""
    said = view(plan)
    parts = [f"# {_plain(said.title)}", f"**{_plain(said.sentence)}**", _plain(said.sureness)]
    for service in said.services:
        parts += _service(service)
    for title, lines in (
        (_("Assumptions"), said.assumptions),
        (_("Not counted"), said.limits),
        (_("Sources"), said.sources),
    ):
        parts += [f"## {title}", _bullets(lines)]
    if said.reproduce:
        parts += [f"`{said.reproduce}`"]
    return "\n\n".join(parts) + "\n"


def _service(service: ServiceView) -> Iterable[str]:
    yield f"## {_plain(service.name)}: {_plain(service.headline)}"
    yield "\n".join(f"{i}. **{step.title}.** {_plain(step.text)}" for i, step in enumerate(service.steps, 1))
    if service.serve:
        yield f"```sh\n{service.serve}\n```"
    yield from (_table(table) for table in (service.fleets, service.others) if table)
    if service.rejections:
        yield "**" + _("Turned down") + "**\n\n" + _bullets(service.rejections)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_plain(line)}" for line in lines)


def _table(table: Table) -> str:
    rows = [table.headers, tuple("---:" for _header in table.headers), *table.rows]
    return "\n".join("| " + " | ".join(_plain(cell) for cell in row) + " |" for row in rows)


def _plain(text: str) -> str:
    """Without what Markdown or HTML would read as markup."""
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text
