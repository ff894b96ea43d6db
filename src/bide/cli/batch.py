"""`--batch FILE.jsonl`: one JSON object a line in, one a line out, in order, never stopping at a bad one."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from bide.errors import BadInput
from bide.i18n import _

_COLLECT_AFTER = 500_000
"""Objects between two collections: answers hold no cycles, and each collection walks all the models that are kept."""
Answer = Callable[[object], dict[str, object]]


def run_batch(path: Path, answer: Answer) -> None:
    """Answer every line of `path` (`-`: stdin) on stdout; blank lines are skipped.

    Raises BadInput where the file cannot be read.
    """
    gc.set_threshold(_COLLECT_AFTER)
    for line in _lines(path):
        if line.strip():
            sys.stdout.write(json.dumps(_answered(line, answer), allow_nan=False) + "\n")
    sys.stdout.flush()


def _lines(path: Path) -> Iterator[bytes]:
    if str(path) == "-":
        yield from sys.stdin.buffer
        return
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise BadInput("batch", str(path), _("a JSON Lines file, or - for stdin"), str(error.strerror)) from error


def _answered(line: bytes, answer: Answer) -> dict[str, object]:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"id": None, "error": {"field": "line", "message": _("not JSON: {why}").format(why=error)}}
    return answer(parsed)


def batch_option(function: Callable[..., object]) -> Callable[..., object]:
    """`--batch FILE`: `function` gets `batch`, a path or None."""
    text = _("Answer each line of a JSON Lines file (-: stdin): a deployment a line in, an answer a line out.")
    kind = click.Path(path_type=Path, allow_dash=True)
    return click.option("--batch", type=kind, metavar="FILE", help=text)(function)
