"""Requests as JSON records: one object a line, or one array of objects.

Polars reads lines faster; here they are read where it refuses (a line that is no JSON) and for arrays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from bide.workload.reading.files import File

if TYPE_CHECKING:
    import polars as pl

    Select = Callable[[pl.LazyFrame], pl.LazyFrame]

_CHUNK_LINES = 50_000
_SAMPLE_LINES = 500
_DEEPEST = 6
_BROKEN = object()


def first(file: File) -> list[dict[str, Any]]:
    """The objects among the first records."""
    found = map(_parsed, file.lines[:_SAMPLE_LINES]) if file.kind == "jsonl" else islice(_array(file), _SAMPLE_LINES)
    return [value for value in found if isinstance(value, dict)]


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _BROKEN


def _array(file: File) -> Iterator[Any]:
    """The records of a document that is an array, or an object with one array of objects; none of any other."""
    with file.text() as text:
        document = _parsed(text.read())
    if isinstance(document, dict):
        arrays = [value for value in document.values() if isinstance(value, list) and value]
        document = arrays[0] if len(arrays) == 1 else None
    yield from document if isinstance(document, list) else ()


def _lines(file: File) -> Iterator[Any]:
    with file.text() as lines:
        yield from map(_parsed, filter(str.strip, lines))


def paths_of(record: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[str]:
    """Dotted paths of what a record holds; a list of objects goes in by its first, other lists are leaves."""
    for key, value in record.items():
        path = prefix + key
        if isinstance(value, Mapping) and depth < _DEEPEST:
            yield from paths_of(value, path + ".", depth + 1)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping) and depth < _DEEPEST:
            yield from paths_of(value[0], path + ".0.", depth + 1)
        elif value is not None:
            yield path


def read(file: File, paths: Sequence[str], lists: Sequence[str], select: Select) -> tuple[pl.DataFrame, int]:
    """What `select` makes of the columns `paths`, those in `lists` lists of text, and how many records were no JSON.

    In bounded memory for lines; an array is read whole.
    """
    import polars as pl

    schema = {path: pl.List(pl.String) if path in lists else pl.String for path in paths}
    done, rows, bad = [], [], 0
    for record in _lines(file) if file.kind == "jsonl" else _array(file):
        if record is _BROKEN:
            bad += 1
            continue
        rows.append([_text(_at(record, path), path in lists) for path in paths])
        if len(rows) == _CHUNK_LINES:
            done.append(select(pl.LazyFrame(rows, schema, orient="row")).collect())
            rows = []
    done.append(select(pl.LazyFrame(rows, schema, orient="row")).collect())
    return pl.concat(done), bad


def _at(record: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(record, list):
            record = record[0] if record else None
        elif isinstance(record, dict):
            record = record.get(part)
        else:
            return None
    return record


def _text(value: Any, is_list: bool) -> str | list[str] | None:
    if is_list:
        return [str(each) for each in value] if isinstance(value, list) else None
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def text_at(record: Mapping[str, Any], path: str) -> str | None:
    """What a record has at a path, as text."""
    text = _text(_at(record, path), False)
    return text if isinstance(text, str) else None
