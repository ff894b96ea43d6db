"""Files on disk: which ones are meant, compressed or not, and what kind of text they hold."""

from __future__ import annotations

import glob
import gzip
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from bide.errors import BadInput
from bide.i18n import _

Kind = Literal["csv", "jsonl", "json", "parquet"]
_HEAD_BYTES = 2**18
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MOST_REPLACED = 0.05
"""A text of another encoding has a few bytes that are no UTF-8; more than this share is not text."""
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".log", ".txt")


@dataclass(frozen=True, slots=True)
class File:
    """A file and the beginning of its text (unpacked); `head` is empty for Parquet."""

    path: Path
    kind: Kind
    head: str
    compressed: bool = False

    @property
    def lines(self) -> list[str]:
        """The whole lines of the beginning."""
        lines = self.head.splitlines()
        return lines if len(self.head) < _HEAD_BYTES or len(lines) < 2 else lines[:-1]

    @contextmanager
    def text(self) -> Iterator[IO[str]]:
        """The file opened for reading text; bytes that are no UTF-8 become replacement signs."""
        opened = gzip.open if self.compressed else open
        with opened(self.path, "rt", encoding="utf-8-sig", errors="replace") as file:
            yield file


def expand(patterns: Sequence[str | Path], field: str) -> list[Path]:
    """The files that names, globs and folders stand for, each pattern's in order of name.

    Raises BadInput naming `field` for one that stands for no file.
    """
    found: list[Path] = []
    for pattern in patterns:
        path = Path(pattern)
        if not str(pattern).strip():
            here = []
        elif os.path.isdir(path):  # False for a name that no file can have
            here = sorted(p for p in path.iterdir() if _readable(p))
        else:
            here = (
                [path]
                if os.path.isfile(path)
                else sorted(map(Path, filter(_is_file, glob.glob(str(pattern), recursive=True))))
            )
        if not here:
            raise BadInput(field, str(pattern), _("a file that exists, a folder of traces or a glob that matches some"))
        found += here
    return list(dict.fromkeys(found))


def look(path: Path, field: str) -> File:
    """What a file holds, from its first bytes. Raises BadInput for one that cannot be read or is no text."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
        if start == _PARQUET:
            return File(path, "parquet", "")
        compressed = start[:2] == _GZIP
        with gzip.open(path) if compressed else path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, EOFError) as error:
        raise BadInput(field, str(path), _("a file that can be read"), str(error)) from error
    text = head.decode("utf-8-sig", errors="replace")
    wrong = _no_text(head, text)
    if wrong:
        raise BadInput(field, str(path), _("CSV, JSON or Parquet, packed with gzip or not"), wrong)
    return File(path, _kind(text, path), text, compressed)


def _no_text(head: bytes, text: str) -> str:
    """Why these first bytes are not the beginning of a table or a document; empty where they may be."""
    if head.startswith(_UTF16):
        return _("this is UTF-16: save it as UTF-8")
    if b"\0" in head or text.count("\ufffd") > _MOST_REPLACED * len(text):
        return _("this is no text")
    return "" if text.strip() else _("it is empty")


def _kind(text: str, path: Path) -> Kind:
    start = text.lstrip()[:1]
    if start == "[":
        return "json"
    if start != "{":
        return "jsonl" if _any_json_line(text) else "csv"
    first, newline, _rest = text.lstrip().partition("\n")
    if newline and _is_json(first):
        return "jsonl"
    return "jsonl" if path.name.lower().split(".gz")[0].endswith((".jsonl", ".ndjson")) else "json"


def _any_json_line(text: str) -> bool:
    """Whether a file that does not begin so is one JSON object a line all the same: a log after its banner."""
    return any(line.startswith("{") and _is_json(line) for line in text.splitlines()[:50])


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _readable(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    return path.is_file() and name.endswith(_SUFFIXES) and not name.startswith(".")


def _is_file(name: str) -> bool:
    return Path(name).is_file()
