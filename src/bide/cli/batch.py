"""`--batch FILE.jsonl`: one JSON object a line in, one a line out, in order, never stopping at a bad one."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from bide.errors import BadInput
from bide.i18n import _

Answer = Callable[[object], dict[str, object]]
_LONGEST_BYTES = 2**20
"""Of a line; one with a hundred contexts has about 1 kB."""
_ENDLESS_BYTES = 2**28


def run_batch(path: Path, answer: Answer) -> None:
    """Answer every line of `path` (`-`: stdin) on stdout; blank lines are skipped.

    Raises BadInput where the file cannot be read.
    """
    with _no_collection():
        for line in _lines(path):
            if line.strip():
                sys.stdout.write(json.dumps(_answered(line, answer), allow_nan=False) + "\n")
    sys.stdout.flush()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Answers hold no cycles and need no collector, which would walk all the models that are kept each time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _lines(path: Path) -> Iterator[bytes]:
    if str(path) == "-":
        if sys.stdin is None:
            raise BadInput("batch", str(path), _("a JSON Lines file, or - for stdin"), _("stdin is closed"))
        yield from _bounded(sys.stdin.buffer, path)
        return
    try:
        with path.open("rb") as file:
            yield from _bounded(file, path)
    except OSError as error:
        raise BadInput("batch", str(path), _("a JSON Lines file, or - for stdin"), str(error.strerror)) from error


def _bounded(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """The lines, those that are too long cut just above the limit; raises BadInput where a line does not end."""
    while line := file.readline(_LONGEST_BYTES + 1):
        rest, passed = line, 0
        while len(rest) > _LONGEST_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(_LONGEST_BYTES + 1)
            passed += len(rest)
            if passed > _ENDLESS_BYTES:
                raise BadInput("batch", str(path), _("lines of JSON"), _("a line does not end: is this a text file?"))
        yield line


def _answered(line: bytes, answer: Answer) -> dict[str, object]:
    if len(line) > _LONGEST_BYTES:
        return _refused(_("longer than {limit:,} bytes").format(limit=_LONGEST_BYTES))
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _refused(_("not JSON: {why}").format(why=error))
    return answer(parsed)


def _refused(why: str) -> dict[str, object]:
    return {"id": None, "error": {"field": "line", "message": why}}


def batch_option(function: Callable[..., object]) -> Callable[..., object]:
    """`--batch FILE`: `function` gets `batch`, a path or None."""
    text = _("Answer each line of a JSON Lines file (-: stdin): a deployment a line in, an answer a line out.")
    kind = click.Path(path_type=Path, allow_dash=True)
    return click.option("--batch", type=kind, metavar="FILE", help=text)(function)
