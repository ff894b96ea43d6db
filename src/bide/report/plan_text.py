"""A plan for the terminal: the answer first, then the steps, the tables, what was assumed and where it is from."""

from __future__ import annotations

import io
from collections.abc import Iterable

from bide.i18n import _
from bide.plan.answer import Plan
from bide.report.plan_view import ServiceView, Table, view


def plan_text(plan: Plan, width: int = 120) -> str:
    """The report as plain text, lines folded at `width` columns."""
    said = view(plan)
    parts = [_folded(said.sentence, width), _folded(said.sureness, width), ""]
    for service in said.services:
        parts += _service(service, width)
    if plan.feasible:
        parts += [_folded(said.legend, width), ""]
    parts += _section(_("Assumptions"), said.assumptions, width)
    parts += _section(_("Not counted"), said.limits, width)
    parts += _section(_("Sources"), said.sources, width)
    return "\n".join(parts).rstrip() + "\n"


def _service(service: ServiceView, width: int) -> Iterable[str]:
    yield _folded(f"{service.name}: {service.headline}", width)
    for number, step in enumerate(service.steps, 1):
        yield _folded(step.text, width, f"  {number} {step.title}: ", "      ")
    if service.serve:
        yield "  $ " + service.serve.replace(" --", " \\\n      --")
    yield ""
    for table in (service.fleets, service.others):
        if table:
            yield from (_indented(_table(table, width - 2)), "")
    if service.rejections:
        yield from _section(_("Turned down for {name}").format(name=service.name), service.rejections, width)


def _section(title: str, lines: Iterable[str], width: int) -> Iterable[str]:
    return [title, *(_folded(line, width, "  - ", "    ") for line in lines), ""]


def _folded(text: str, width: int, first: str = "", rest: str = "") -> str:
    import textwrap

    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


def _table(table: Table, width: int) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as RichTable

    drawn = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in table.headers:
        drawn.add_column(escape(header), justify="right", overflow="fold")
    narrow = sum(max(map(len, column)) + 3 for column in zip(table.headers, *table.rows, strict=True)) - 3 > width
    for row in table.rows:
        drawn.add_row(*(escape(cell.replace(" (", "\n(") if narrow else cell) for cell in row))
    out = io.StringIO()
    Console(file=out, width=width, highlight=False, color_system=None).print(drawn)
    return out.getvalue().rstrip("\n")
