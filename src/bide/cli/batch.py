"""`--batch FILE.jsonl`: one JSON object a line in, one a line out, in order, never stopping at a bad one."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import click

from bide.errors import BadInput
from bide.i18n import _

Answer = Callable[[object], dict[str, object]]
AnswerMany = Callable[[Sequence[object]], Sequence[dict[str, object]]]
_LONGEST_BYTES = 2**20
"""Of a line; one with a hundred contexts has about 1 kB."""
_ENDLESS_BYTES = 2**28
_LINES_AT_ONCE = 2000


def run_batch(path: Path, answer: Answer) -> None:
    """Answer every line of `path` (`-`: stdin) on stdout as it comes; blank lines are skipped.

    Raises BadInput where the file cannot be read.
    """
    run_batch_chunks(path, lambda lines: [answer(line) for line in lines], lines_at_once=1)


def run_batch_chunks(path: Path, answer_many: AnswerMany, lines_at_once: int = _LINES_AT_ONCE) -> None:
    """The same, so many lines at a time: `answer_many` gives an answer for each, in order."""
    encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode
    with _no_collection():
        given = (_read(line) for line in _lines(path) if line.strip())
        while chunk := list(islice(given, lines_at_once)):
            answers = iter(answer_many([line for line in chunk if not isinstance(line, _Refused)]))
            found = (line.answer() if isinstance(line, _Refused) else next(answers) for line in chunk)
            sys.stdout.writelines(encode(answer) + "\n" for answer in found)
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


@dataclass(frozen=True, slots=True)
class _Refused:
    """A line that is no JSON, and why."""

    why: str

    def answer(self) -> dict[str, object]:
        return {"id": None, "error": {"field": "line", "message": self.why}}


def _read(line: bytes) -> object:
    """The value that the line is the JSON of, or a _Refused."""
    if len(line) > _LONGEST_BYTES:
        return _Refused(_("longer than {limit:,} bytes").format(limit=_LONGEST_BYTES))
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return _Refused(_("not JSON: {why}").format(why=error))


def batch_option(function: Callable[..., object]) -> Callable[..., object]:
    """`--batch FILE`: `function` gets `batch`, a path or None."""
    text = _("Answer each line of a JSON Lines file (-: stdin): a deployment a line in, an answer a line out.")
    kind = click.Path(path_type=Path, allow_dash=True)
    return click.option("--batch", type=kind, metavar="FILE", help=text)(function)
