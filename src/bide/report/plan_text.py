"""A plan for the terminal: the answer first, then the five steps, in what can be read in a minute."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable

from bide.i18n import _
from bide.plan.answer import Plan
from bide.report.plan_parts import Section, ServiceView, Table
from bide.report.plan_view import view


def plan_text(plan: Plan, width: int = 120) -> str:
    """The report as plain text, lines folded at `width` columns; the page and `--explain` have the rest."""
    said = view(plan)
    parts = [_folded(text, width) for text in (said.sentence, *said.sureness)] + [""]
    for service in said.services:
        parts += _service(service, width)
    parts += _list(_("Assumptions"), said.assumptions, width)
    parts += [_folded(_("Sources, and what is not counted: in the page (-o FILE.html) and with --explain."), width)]
    return "\n".join(parts).rstrip() + "\n"


def plan_notes_text(plan: Plan, width: int = 120) -> str:
    """What `--explain` adds below the arithmetic: what is not counted, and the sources."""
    said = view(plan)
    parts = [*_list(_("Not counted"), said.limits, width), *_list(_("Sources"), said.sources, width)]
    return "\n".join(parts).rstrip() + "\n"


def _service(service: ServiceView, width: int) -> Iterable[str]:
    yield _folded(f"{service.name}: {service.headline}", width)
    for number, step in enumerate(service.steps, 1):
        yield from _section(step, f"{number} {step.title}", width)
    for section in service.sections:
        yield from _section(section, section.title, width)
    for title, command in service.starts:
        if len(service.starts) > 1:
            yield _folded(f"{title}:", width, "  ", "  ")
        yield _command(command, width)
    for remark in service.remarks:
        yield _folded(remark, width, "    ", "    ")
    yield ""


def _command(command: str, width: int) -> str:
    """Folded between options, never between an option and its value."""
    bound = re.sub(r"( --\S+) (?!-)", "\\1\u00a0", command)
    return _folded("$ " + bound, width - 2, "  ", "      ", end=" \\").replace("\u00a0", " ")


def _section(section: Section, title: str, width: int) -> Iterable[str]:
    """Its sentences in one paragraph, and its table for a terminal."""
    if section.lines or section.brief:
        yield _folded(" ".join((f"{title}:", *section.lines)), width, "  ", "      ")
    for table in section.brief:
        yield _indented(_table(table, width - 6))


def _list(title: str, lines: Iterable[str], width: int) -> Iterable[str]:
    return [title, *(_folded(line, width, "  - ", "    ") for line in lines), ""]


def _folded(text: str, width: int, first: str = "", rest: str = "", end: str = "") -> str:
    """`end` stands at the end of every line but the last."""
    import textwrap

    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return f"{end}\n".join(lines)


def _indented(text: str) -> str:
    return "\n".join(f"      {line}".rstrip() for line in text.splitlines())


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
