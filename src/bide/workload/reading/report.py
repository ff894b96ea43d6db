"""What was read, what was dropped and why, and what was noticed on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bide.i18n import _, ngettext
from bide.workload.trace import Trace


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows left out for one reason; `example` is the first, with its place."""

    kind: str
    count: int
    why: str
    example: str = ""

    @property
    def text(self) -> str:
        """One line for a person."""
        line = ngettext("{count:,} row left out: {why}", "{count:,} rows left out: {why}", self.count).format(
            count=self.count, why=self.why
        )
        return line + (_(" (first: {example})").format(example=self.example) if self.example else "")

    def to_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "count": self.count, "message": self.text}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the data that a reader should know; `values` are its figures."""

    kind: str
    text: str
    values: Mapping[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "message": self.text, **self.values}


@dataclass(frozen=True, slots=True)
class ReadReport:
    """`columns` are the columns that were taken, by role."""

    files: tuple[str, ...]
    format: str
    rows: int
    kept: int
    columns: Mapping[str, str]
    dropped: tuple[Dropped, ...] = ()
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return {
            "files": list(self.files),
            "format": self.format,
            "rows": self.rows,
            "kept": self.kept,
            "columns": dict(self.columns),
            "dropped": [dropped.to_dict() for dropped in self.dropped],
            "findings": [finding.to_dict() for finding in self.findings],
        }


@dataclass(frozen=True, slots=True)
class Reading:
    """A trace and how it was come by."""

    trace: Trace
    report: ReadReport
