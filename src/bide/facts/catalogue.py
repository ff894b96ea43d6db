"""Packaged facts: JSON files under `data/`, read when first asked for and kept.

A room of facts is a folder. Each of its files holds a list of records with an `id`; an id that
stands in two places is an error, never a silent overwrite. Files that start with `_` are tables
that the records refer to (sources), not records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

_DATA = Path(__file__).with_name("data")

Record = dict[str, Any]
"""One JSON object of a data file, as parsed."""


class CatalogueError(Exception):
    """A packaged data file is wrong: a fault of ours, not of what was asked."""


@lru_cache(maxsize=64)
def table(path: str) -> Record:
    """The parsed JSON object in `data/<path>`; the caller must not change it.

    Raises CatalogueError naming the file where it is missing or not a JSON object.
    """
    try:
        content = json.loads((_DATA / path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CatalogueError(f"{path}: {error}") from error
    if not isinstance(content, dict):
        raise CatalogueError(f"{path}: not a JSON object")
    return content


def files(room: str) -> list[str]:
    """The record files of `data/<room>/`, by name."""
    return [f"{room}/{file.name}" for file in sorted((_DATA / room).glob("[!_]*.json"))]


@lru_cache(maxsize=8)
def records(room: str) -> dict[str, Record]:
    """Every record of `data/<room>/`, by id, in the order of the files.

    The records of a file stand in its one list; the file's other keys (a vendor, a family) are
    added to each record. Raises CatalogueError for an id that stands twice.
    """
    return index(record for path in files(room) for record in _records_of(path))


def index(found: Iterable[Record]) -> dict[str, Record]:
    """`found` records by their `id`; CatalogueError for one that stands twice."""
    by_id: dict[str, Record] = {}
    for record in found:
        if record["id"] in by_id:
            raise CatalogueError(f"{record['id']}: the id stands twice")
        by_id[record["id"]] = record
    return by_id


def _records_of(path: str) -> list[Record]:
    content = table(path)
    lists = [value for value in content.values() if isinstance(value, list)]
    if len(lists) != 1:
        raise CatalogueError(f"{path}: {len(lists)} lists of records, not one")
    shared = {key: value for key, value in content.items() if not isinstance(value, list)}
    return [{**shared, **record} for record in lists[0]]
