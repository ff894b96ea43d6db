"""How commands speak: one JSON object or a table on stdout, everything else on stderr, reports to files.

rich is imported where a table is really printed, not before.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    from rich.text import Text

_PIPED_WIDTH = 120
"""Columns to fold at when no terminal sets the width."""
_LONGEST_LINE = 120
"""Sentences are folded here even on a wider terminal."""
_GAP = 3
"""Columns between two cells."""
_FOLDED = 16
"""Columns that a cell which folds keeps at least."""


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


def say(text: str, hang: int = 0) -> None:
    """A paragraph on stdout, folded at the terminal's width; its further lines begin `hang` columns in."""
    import textwrap

    width = min(_columns() or _PIPED_WIDTH, _LONGEST_LINE)
    fold = textwrap.TextWrapper(width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False)
    click.echo(fold.fill(text))


def say_facts(facts: Iterable[tuple[str, str]], least: int = 12) -> None:
    """A paragraph each, the names in a column as wide as the longest is in the chosen language."""
    named = list(facts)
    width = max([least, *(len(name) for name, text in named)])
    for name, text in named:
        say(f"{name:{width}} {text}", hang=width + 1)


def _columns() -> int | None:
    """The terminal's columns; None where stdout is no terminal and COLUMNS does not say."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None


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
    then those in `wrap` fold. No cell is ever cut: a table that cannot be narrower is wider than the terminal.
    """
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    widths = [max(map(cell_len, column)) for column in zip(headers, *rows, strict=True)]
    least = [min(width, _FOLDED) if number in wrap else width for number, width in enumerate(widths)]
    columns = _columns()
    shown = _fitting(widths, columns, optional) if columns else range(len(widths))
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number in shown:
        table.add_column(
            headers[number],
            justify="left" if number in left else "right",
            min_width=least[number],
            no_wrap=number not in wrap,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(_plain(row[number]) for number in shown))
    out, width = io.StringIO(), max(columns or _PIPED_WIDTH, _total(least[number] for number in shown))
    Console(file=out, width=width, highlight=False, force_terminal=sys.stdout.isatty()).print(table)
    if title:
        click.echo(title + "\n")
    click.echo("\n".join(line.rstrip() for line in out.getvalue().splitlines()))


def _total(widths: Iterable[int]) -> int:
    """Columns of a table with cells of `widths`."""
    counted = list(widths)
    return sum(counted) + _GAP * (len(counted) - 1)


def _fitting(widths: Sequence[int], width: int, optional: Sequence[int]) -> list[int]:
    """The columns to show: all, less as many of the `optional` ones as must go."""
    shown = list(range(len(widths)))
    for number in optional:
        if _total(widths[n] for n in shown) <= width:
            break
        shown.remove(number)
    return shown


def _plain(cell: str) -> Text:
    """`cell` as it is: square brackets are not markup."""
    from rich.text import Text

    return Text(cell)


def check_file(path: Path, suffixes: Sequence[str] = (), field: str = "output") -> None:
    """That `path` can be written, before the work that makes what goes there; nothing is created.

    Raises BadInput for a suffix that is not among `suffixes` (none: any will do) and for a place that cannot be
    written.
    """
    if suffixes and path.suffix.lower() not in suffixes:
        raise BadInput(field, str(path), _("a file ending in {suffixes}").format(suffixes=", ".join(suffixes)))
    why = _not_writable(path) if path.exists() else _no_place_in(path.parent)
    if why:
        raise BadInput(field, str(path), _("a file that can be written"), why)


def check_folder(folder: Path, field: str) -> None:
    """That files can be written to `folder`, which may have to be made; nothing is. Raises BadInput."""
    there = next(part for part in (folder, *folder.absolute().parents) if part.exists())
    if why := _no_place_in(there):
        raise BadInput(field, str(folder), _("a folder that can be written"), why)


def _not_writable(file: Path) -> str:
    if file.is_dir():
        return os.strerror(errno.EISDIR)
    return "" if os.access(file, os.W_OK) else os.strerror(errno.EACCES)


def _no_place_in(folder: Path) -> str:
    """Why no file can be made there; nothing where it can."""
    if not folder.is_dir():
        return os.strerror(errno.ENOTDIR if folder.exists() else errno.ENOENT)
    return "" if os.access(folder, os.W_OK | os.X_OK) else os.strerror(errno.EACCES)


def write_output(path: Path, writers: Mapping[str, Callable[[], str | bytes]]) -> None:
    """Write what the writer for `path`'s suffix makes, and say so on stderr; no other writer is called.

    Raises BadInput as `check_file` does.
    """
    check_file(path, tuple(writers))
    write_file(path, writers[path.suffix.lower()]())


def write_file(path: Path, content: str | bytes, field: str = "output") -> None:
    """Write `content`, and say so on stderr. Raises BadInput where it cannot be written."""
    with writing(path, field):
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def writing(path: Path, field: str = "output") -> Iterator[None]:
    """Around what writes `path`: said on stderr when done, BadInput where the system refuses."""
    try:
        yield
    except OSError as error:
        why = str(error.strerror or error)
        raise BadInput(field, str(path), _("a file that can be written"), why) from error
    note(_("wrote {path}").format(path=path))
