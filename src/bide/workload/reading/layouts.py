"""Which column of a table plays which role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput, UnknownName, nearest
from bide.i18n import _
from bide.workload.reading import cells, records, tables
from bide.workload.reading.asking import Ask
from bide.workload.reading.files import File
from bide.workload.reading.formats import Format, by_name, of_columns
from bide.workload.reading.roles import NAMES, NEEDED, candidates, covering

if TYPE_CHECKING:
    import polars as pl

_NO_OUTPUT_NEEDED = ("rtp-llm-arrivals",)
_SHOWN_COLUMNS = 12


@dataclass(frozen=True, slots=True)
class Layout:
    """The format, and for each role the paths that have it: of each row the first that is there."""

    format: Format
    paths: Mapping[str, tuple[str, ...]]
    clock: cells.Clock | None

    @property
    def every(self) -> list[str]:
        return list(dict.fromkeys(path for paths in self.paths.values() for path in paths))

    def text(self, role: str) -> pl.Expr:
        """The text of a role."""
        import polars as pl

        return pl.coalesce(self.paths[role]) if len(self.paths[role]) > 1 else pl.col(self.paths[role][0])


def layout(file: File, ask: Ask, field: str) -> Layout:
    """Which columns of a file are what. Raises BadInput where prompts or outputs are not to be found."""
    columns, present, samples = _columns(file, field)
    known = by_name(ask.format) if ask.format else of_columns(columns)
    _check_fields(ask, columns, field)
    paths: dict[str, tuple[str, ...]] = {}
    for role in NAMES:
        found = _found(role, known, ask, columns, present)
        if found:
            paths[role] = found
    for role in NEEDED:
        if role not in paths and not (role == "output" and known.name in _NO_OUTPUT_NEEDED):
            raise _missing(role, columns, file, field)
    stamps = [text for path in paths.get("time", ()) for text in samples(path)]
    return Layout(known, paths, cells.clock_of(stamps) if "time" in paths else None)


def _check_fields(ask: Ask, columns: Sequence[str], field: str) -> None:
    """Raise for a role that there is not, and for a column that the file has not."""
    for role, name in ask.fields.items():
        if role not in NAMES:
            raise UnknownName(f"{field}.field", role, NAMES, _("one of {roles}").format(roles=", ".join(NAMES)))
        if name not in columns:
            shown = ", ".join(_printable(column) for column in columns[:_SHOWN_COLUMNS])
            raise UnknownName(f"{field}.field.{role}", name, columns, _("one of {columns}").format(columns=shown))


def _found(role: str, known: Format, ask: Ask, columns: Sequence[str], present: Sequence[set[str]]) -> tuple[str, ...]:
    """The columns of a role: what the caller says, else what the format says, else what the names say."""
    if role in ask.fields:
        return (ask.fields[role],)
    if known.fields.get(role) in columns:
        return (known.fields[role],)
    if role in ("id", "parent") and known.name not in ("log", "bailian"):
        return ()
    names = candidates(role, columns)
    return tuple(covering(names, present)) if names and role in NEEDED else tuple(names[:1])


def _columns(file: File, field: str) -> tuple[list[str], list[set[str]], Any]:
    """Columns, which of them each of the first records has, and the first texts of a column."""
    if file.kind in ("jsonl", "json"):
        found = records.first(file)
        present = [set(records.paths_of(record)) for record in found]
        columns = list(dict.fromkeys(path for record in found for path in records.paths_of(record)))
        if not found:
            allowed = _("one JSON object a line, an array of them, or a document of a known format")
            raise BadInput(field, str(file.path), allowed)
        return columns, present, lambda path: [t for r in found[:50] if (t := records.text_at(r, path))]
    if file.kind == "parquet":
        columns = tables.parquet_paths(file, field)
    else:
        columns = list(tables.dialect(file, field).headings)
    return columns, [set(columns)], lambda path: tables.first_texts(file, path, field)


def _missing(role: str, columns: Sequence[str], file: File, field: str) -> BadInput:
    allowed = {
        "prompt": _("a column of prompt lengths, such as ContextTokens, input_length or usage.prompt_tokens"),
        "output": _("a column of output lengths, such as GeneratedTokens, output_length or usage.completion_tokens"),
    }[role]
    shown = [_printable(name) for name in columns[:_SHOWN_COLUMNS]]
    near = nearest(NAMES[role][0], shown, 1) or [near[0] for name in NAMES[role] if (near := nearest(name, shown, 1))]
    hint = _("it has {columns}").format(columns=", ".join(shown) or _("none"))
    hint += _("; is {near} meant?").format(near=near[0]) if near else ""
    return BadInput(field, str(file.path), allowed, f"{hint}; --field {role}=NAME " + _("says which"))


def _printable(name: str) -> str:
    """A column's name as an error can show it, whatever file it came from."""
    return name[:40] if name[:40].isprintable() else ascii(name[:20])
