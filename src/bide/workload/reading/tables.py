"""Tables of requests (CSV, JSON lines, Parquet) as lazy frames in which every wanted column is text.

Everything is read as text first, so that a bad cell is a row with a reason and not a crash. Polars streams
the file; JSON lines that polars refuses (a line that is no JSON) are read again line by line.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput
from bide.i18n import _
from bide.workload.reading import records
from bide.workload.reading.files import File

if TYPE_CHECKING:
    import polars as pl

    Select = Callable[[pl.LazyFrame], pl.LazyFrame]

_SAMPLE = 50
_CSV_HEADINGS = "# columns:"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is cut: `headings` are its columns, the first row of data comes after `skip` lines."""

    separator: str
    headings: tuple[str, ...]
    skip: int


def dialect(file: File, field: str) -> Dialect:
    """The dialect of a CSV file, headings in its first line or in a `# columns:` comment.

    Raises BadInput where there are none.
    """
    lines = file.lines
    comments = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    named = [line for line in lines[:comments] if line.lower().startswith(_CSV_HEADINGS)]
    if comments == len(lines):
        raise BadInput(field, str(file.path), _("a CSV file with headings"), _("it has no rows"))
    if named:
        text = named[-1][len(_CSV_HEADINGS) :].strip().replace("\\t", "\t")
        separator = _separator(text)
        return Dialect(separator, tuple(text.split(separator)), comments)
    separator = _separator(lines[comments])
    headings = next(csv.reader([lines[comments]], delimiter=separator))
    if 2 * sum(_is_number(cell) for cell in headings) > len(headings):
        raise BadInput(field, str(file.path), _("a CSV file whose first line names its columns"))
    if len(lines) == comments + 1:
        raise BadInput(field, str(file.path), _("at least one request"), _("it has headings and no rows"))
    return Dialect(separator, tuple(heading.strip() for heading in headings), comments + 1)


def _separator(line: str) -> str:
    return max(",\t;|", key=line.count)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def read(
    file: File, paths: Sequence[str], lists: Sequence[str], select: Select, field: str
) -> tuple[pl.DataFrame, int]:
    """What `select` makes of the file's columns `paths` (named by their paths) and how many lines were no JSON.

    Columns are text, those in `lists` lists of text. Raises BadInput for a file that polars cannot read.
    """
    import polars as pl

    if file.kind == "json":
        return records.read(file, paths, lists, select)
    try:
        return select(scan(file, paths, lists, field)).collect(engine="streaming"), 0
    except pl.exceptions.PolarsError as error:
        if file.kind == "jsonl":
            return records.read(file, paths, lists, select)
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BadInput(field, str(file.path), _("a file that polars can read"), reason[:200]) from error


def scan(file: File, paths: Sequence[str], lists: Sequence[str], field: str) -> pl.LazyFrame:
    """The columns as a lazy frame of text."""
    import polars as pl

    if file.kind == "parquet":
        kinds = {path: pl.List(pl.String) if path in lists else pl.String for path in paths}
        return pl.scan_parquet(file.path).select(_reached(path).cast(kinds[path]).alias(path) for path in paths)
    if file.kind == "jsonl":
        schema = {name: _dtype(node) for name, node in _tree(paths, lists).items()}
        frame = pl.scan_ndjson(file.path, schema=schema, ignore_errors=True)
        return frame.select(_reached(path).alias(path) for path in paths)
    cut = dialect(file, field)
    frame = pl.scan_csv(
        file.path,
        separator=cut.separator,
        has_header=False,
        skip_rows=cut.skip,
        new_columns=list(_distinct(cut.headings)),
        infer_schema=False,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )
    return frame.select(_listed(path) if path in lists else pl.col(path) for path in paths)


def _distinct(headings: Sequence[str]) -> Iterator[str]:
    """Headings, a repeated one with its number."""
    for number, heading in enumerate(headings):
        yield f"{heading}.{number}" if heading in headings[:number] else heading


def _listed(path: str) -> pl.Expr:
    """Ids written into one cell, whatever stands between them."""
    import polars as pl

    return pl.col(path).str.extract_all(r"\w+")


def _tree(paths: Sequence[str], lists: Sequence[str]) -> dict[str, Any]:
    """Paths as nested mappings; a leaf is whether it is a list."""
    tree: dict[str, Any] = {}
    for path in paths:
        node, parts = tree, path.split(".")
        for part in parts[:-1]:
            node = node.setdefault(part, {})
        node[parts[-1]] = path in lists
    return tree


def _dtype(node: Any) -> Any:
    """The polars type to ask for: numbers and texts alike as text."""
    import polars as pl

    if isinstance(node, bool):
        return pl.List(pl.String) if node else pl.String
    if list(node) == ["0"]:
        return pl.List(_dtype(node["0"]))
    return pl.Struct({name: _dtype(child) for name, child in node.items()})


def _reached(path: str) -> pl.Expr:
    import polars as pl

    first, *rest = path.split(".")
    column = pl.col(first)
    for part in rest:
        column = column.list.first() if part == "0" else column.struct.field(part)
    return column


def parquet_paths(file: File, field: str) -> list[str]:
    """The columns of a Parquet file, those of its structs as dotted paths."""
    import polars as pl

    try:
        schema = pl.read_parquet_schema(file.path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadInput(field, str(file.path), _("a Parquet file"), str(error)[:200]) from error
    return [path for name, dtype in schema.items() for path in _within(name, dtype)]


def _within(name: str, dtype: Any) -> Iterator[str]:
    import polars as pl

    if isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            yield from _within(f"{name}.{field.name}", field.dtype)
    else:
        yield name


def texts_at(file: File, paths: Sequence[str], rows: pl.Series, field: str) -> tuple[list[str | None], int]:
    """The texts of some rows, and the line of the file that the first row stands on."""
    import polars as pl

    text = pl.coalesce(paths).alias("text")
    select = lambda frame: frame.select(text)  # noqa: E731
    frame, _bad = read(file, list(paths), [], select, field)
    line = dialect(file, field).skip + 1 if file.kind == "csv" else 1
    return frame["text"].gather(rows).to_list(), line


def first_texts(file: File, path: str, field: str) -> list[str]:
    """What stands in a column of a CSV or Parquet file, in its first rows."""
    if file.kind == "parquet":
        texts = scan(file, [path], [], field).head(_SAMPLE).collect().to_series().to_list()
        return [text for text in texts if text]
    cut = dialect(file, field)
    place = cut.headings.index(path) if path in cut.headings else 0
    rows = csv.reader(file.lines[cut.skip : cut.skip + _SAMPLE], delimiter=cut.separator)
    return [row[place] for row in rows if place < len(row) and row[place].strip()]
