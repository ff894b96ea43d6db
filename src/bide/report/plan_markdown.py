"""A plan as Markdown, for a ticket or a wiki."""

from __future__ import annotations

from collections.abc import Iterable

from bide.i18n import _
from bide.plan.answer import Plan
from bide.report.markdown import bullets, plain, table
from bide.report.plan_parts import Section, ServiceView
from bide.report.plan_view import view


def plan_markdown(plan: Plan) -> str:
    """The report in GitHub's Markdown."""
    said = view(plan)
    parts = [f"# {plain(said.title)}", f"**{plain(said.sentence)}**", *map(plain, said.sureness)]
    for service in said.services:
        parts += _service(service)
    for title, lines in (
        (_("Assumptions"), said.assumptions),
        (_("Not counted"), said.limits),
        (_("Sources"), said.sources),
    ):
        parts += [f"## {title}", bullets(lines)]
    parts += [f"## {_('How to reproduce')}", *map(plain, said.reproduce)]
    parts += [_fenced(text, kind) for text, kind in ((said.command, "sh"), (said.file, "yaml")) if text]
    return "\n\n".join(parts) + "\n"


def _service(service: ServiceView) -> Iterable[str]:
    yield f"## {plain(service.name)}"
    yield plain(service.headline)
    for number, step in enumerate(service.steps, 1):
        yield from _section(step, f"{number}. {step.title}")
    for section in service.sections:
        yield from _section(section, section.title)
    for title, command in service.starts:
        yield f"### {title}"
        yield _fenced(command, "sh")
    if service.remarks:
        yield bullets(service.remarks)


def _section(section: Section, title: str) -> Iterable[str]:
    yield f"### {plain(title)}"
    yield bullets((*section.lines, *section.more))
    for made in section.tables:
        yield table(made.headers, made.rows)
        if made.legend:
            yield plain(made.legend)


def _fenced(text: str, kind: str) -> str:
    """In a fence longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}"
