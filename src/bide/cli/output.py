"""How commands speak: one JSON object or a table on stdout, everything else on stderr, reports to files.

rich is imported where a table is really printed, not before.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_PIPED_WIDTH = 200
"""Columns when nobody's terminal sets the width: wide enough that no cell is cut."""

_GAP = 3
"""Columns between two cells."""


def print_json(command: str, payload: Mapping[str, object]) -> None:
    """One JSON object on stdout: see `json_text`."""
    click.echo(json_text(command, payload))


def json_text(command: str, payload: Mapping[str, object]) -> str:
    """`"schema": "bide.<command>/1"`, then `payload`, as JSON.

    Raises ValueError for a number that JSON has not (infinity, NaN): send null instead.
    """
    return json.dumps({"schema": f"bide.{command}/1", **payload}, indent=2, allow_nan=False)


def note(text: str) -> None:
    """A line for the person, on stderr."""
    click.echo(text, err=True)


def console(*, stderr: bool = False) -> Console:
    """A rich console as wide as the terminal, or wide enough for whole tables where there is none."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    fixed = None if stream.isatty() or os.environ.get("COLUMNS") else _PIPED_WIDTH
    return Console(file=stream, width=fixed, highlight=False)


def print_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    left: Sequence[int] = (0,),
    wrap: Sequence[int] = (),
    optional: Sequence[int] = (),
) -> None:
    """A plain table on stdout: numbers to the right, the columns in `left` to the left.

    Where the terminal is too narrow, columns in `optional` are left out, the first named first;
    then those in `wrap` fold. No other cell is ever cut.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    screen = console()
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    shown = _fitting(widths, screen.width, optional)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number in shown:
        table.add_column(
            headers[number],
            justify="left" if number in left else "right",
            min_width=None if number in wrap else widths[number],
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(_plain(row[number]) for number in shown))
    if title:
        click.echo(title + "\n")
    screen.print(table)


def _fitting(widths: Sequence[int], width: int, optional: Sequence[int]) -> list[int]:
    """The columns to show: all, less as many of the `optional` ones as must go."""
    shown = list(range(len(widths)))
    for number in optional:
        if sum(widths[n] for n in shown) + _GAP * (len(shown) - 1) <= width:
            break
        shown.remove(number)
    return shown


def _plain(cell: str) -> Text:
    """`cell` as it is: square brackets are not markup."""
    from rich.text import Text

    return Text(cell)


def write_output(path: Path, writers: Mapping[str, Callable[[], str | bytes]]) -> None:
    """Write what the writer for `path`'s suffix makes, and say so on stderr; no other writer is called.

    Raises BadInput for a suffix that nobody writes and for a path that cannot be written.
    """
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise BadInput("output", str(path), _("a file ending in {suffixes}").format(suffixes=", ".join(writers)))
    content = writer()
    try:
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        raise BadInput("output", str(path), _("a file that can be written"), str(error.strerror)) from error
    note(_("wrote {path}").format(path=path))
