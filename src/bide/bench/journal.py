"""The journal of a run: a line for what was asked, one for each cell, one for each request as it ends.

A run that dies has lost what was not yet flushed: at most a second. A last line that was cut off is left out.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bide.bench.health import Health
from bide.bench.loads import Load
from bide.bench.outcome import Outcome, from_line, to_line
from bide.bench.scrape import ServerView
from bide.errors import BadInput
from bide.i18n import _

SCHEMA = "bide.bench.journal/1"
_ENCODED = json.JSONEncoder(separators=(",", ":")).encode


class Journal:
    """Appends lines to a file, or to nothing where there is no path. Whoever writes flushes twice a second."""

    def __init__(self, path: Path | None, fresh: bool = True) -> None:
        self.path = path
        self.trouble = ""
        """Why nothing is written any more: a full disk does not end a measurement."""
        self._file: IO[str] | None = None
        if path is not None:
            try:
                if not fresh:
                    _mend(path)
                self._file = path.open("x" if fresh else "a", encoding="utf-8", buffering=1 << 16)
            except OSError as error:
                allowed = _("a new file that can be written") if fresh else _("a file that can be written")
                raise BadInput("journal", str(path), allowed, str(error.strerror)) from error

    def write(self, kind: str, line: Mapping[str, Any]) -> None:
        if self._file is not None:
            text = _ENCODED({"kind": kind, **line}) + "\n"
            with self._giving_up(self._file) as file:
                file.write(text)

    def request(self, cell: int, outcome: Outcome) -> None:
        if self._file is not None:
            self.write("request", {"cell": cell, **to_line(outcome)})

    def flush(self) -> None:
        if self._file is not None:
            with self._giving_up(self._file) as file:
                file.flush()

    def close(self) -> None:
        if self._file is not None:
            with self._giving_up(self._file) as file:
                file.close()
            self._file = None

    @contextlib.contextmanager
    def _giving_up(self, file: IO[str]) -> Iterator[IO[str]]:
        try:
            yield file
        except OSError as error:
            self.trouble, self._file = str(error.strerror or error), None
            with contextlib.suppress(OSError):
                file.close()


def _mend(path: Path) -> None:
    """Cut off a last line that was not written to its end."""
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        place = size
        while place > 0:
            file.seek(place - 1)
            if file.read(1) == b"\n":
                break
            place -= 1
        file.truncate(place)


@dataclass(frozen=True, slots=True)
class Closing:
    """What is known of a cell beside its requests; as it stands here for one that was not finished.

    `gap_s`: where on the cell's clock it was taken up again.
    """

    health: Health = field(default_factory=Health)
    counts: Mapping[str, int] = field(default_factory=dict)
    server: ServerView = field(default_factory=ServerView)
    interrupted: bool = True
    gap_s: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "health": self.health.to_dict(),
            "counts": dict(self.counts),
            "server": self.server.to_dict(),
            "interrupted": self.interrupted,
            "gap_s": list(self.gap_s),
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Closing:
        """What `to_dict` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        counts = {str(name): int(count) for name, count in found["counts"].items()}
        gaps = tuple(float(gap) for gap in found.get("gap_s", ()))
        server = ServerView.from_dict(found["server"])
        return cls(Health.from_dict(found["health"]), counts, server, bool(found["interrupted"]), gaps)


@dataclass(slots=True)
class CellNotes:
    """What a journal holds of one cell. `closing`: None where the cell was not finished."""

    load: Load
    asked_requests: int | None
    outcomes: list[Outcome] = field(default_factory=list)
    closing: Closing | None = None

    @property
    def is_whole(self) -> bool:
        return self.closing is not None and not self.closing.interrupted


@dataclass(slots=True)
class Kept:
    """A journal that was read: its cells by number, and the lines that say nothing."""

    settings: dict[str, Any]
    cells: dict[int, CellNotes] = field(default_factory=dict)
    lost_lines: list[int] = field(default_factory=list)


def read_journal(path: Path, field_name: str = "resume") -> Kept:
    """Raises BadInput for a file that is no journal."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return _kept(file, path, field_name)
    except OSError as error:
        raise BadInput(field_name, str(path), _("a journal of `bide bench`"), str(error.strerror)) from error


def _kept(file: IO[str], path: Path, field_name: str) -> Kept:
    head = _parsed(file.readline())
    if head is None or head.get("schema") != SCHEMA:
        hint = _("line 1 is not the beginning of one")
        raise BadInput(field_name, str(path), _("a journal of `bide bench`"), hint)
    if not _is_whole(head.get("settings")):
        hint = _("the settings in line 1 are not those of a run")
        raise BadInput(field_name, str(path), _("a journal of `bide bench`"), hint)
    kept = Kept(dict(head["settings"]))
    for number, text in enumerate(file, 2):
        line = _parsed(text)
        if line is None or not _placed(kept, line):
            kept.lost_lines.append(number)
    return kept


def _is_whole(settings: object) -> bool:
    """Whether a run can be taken up by them; what was asked is looked at by `Ask`."""
    kinds = {"url": str, "model": str, "salt": int, "ask": dict}
    return isinstance(settings, dict) and all(isinstance(settings.get(name), kind) for name, kind in kinds.items())


def _placed(kept: Kept, line: Mapping[str, Any]) -> bool:
    """Put a line where it belongs; False where it cannot be understood, or its cell is not known."""
    try:
        if line["kind"] == "cell":
            return _opened(kept, line)
        if line["kind"] == "request":
            kept.cells[line["cell"]].outcomes.append(from_line(line))
        elif line["kind"] == "cell_end":
            kept.cells[line["cell"]].closing = Closing.from_dict(line)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, BadInput):
        return False
    return True


def _opened(kept: Kept, line: Mapping[str, Any]) -> bool:
    number, asked = line["cell"], line["asked_requests"]
    known = isinstance(number, int) and number >= 0 and (asked is None or isinstance(asked, int))
    if not known or number in kept.cells:
        return False
    kept.cells[number] = CellNotes(Load.from_dict(line["load"]), asked)
    return True


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and text.endswith("\n") else None
