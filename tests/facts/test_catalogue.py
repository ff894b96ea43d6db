"""Packaged data is read once, and a doubled id is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from bide.facts import catalogue
from bide.facts.catalogue import CatalogueError


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(catalogue, "_DATA", tmp_path)
    room = tmp_path / "room"
    room.mkdir()
    catalogue.table.cache_clear()
    catalogue.records.cache_clear()
    return room


@pytest.fixture(autouse=True)
def _forget() -> object:
    yield
    catalogue.table.cache_clear()
    catalogue.records.cache_clear()


def test_records_take_on_what_their_file_says_of_all(data: Path) -> None:
    (data / "a.json").write_text('{"vendor": "x", "gpus": [{"id": "one"}]}')
    (data / "b.json").write_text('{"vendor": "y", "gpus": [{"id": "two"}]}')
    (data / "_sources.json").write_text('{"sources": {}}')
    assert catalogue.records("room") == {"one": {"vendor": "x", "id": "one"}, "two": {"vendor": "y", "id": "two"}}


def test_a_doubled_id_is_an_error_not_an_overwrite(data: Path) -> None:
    (data / "a.json").write_text('{"gpus": [{"id": "one"}]}')
    (data / "b.json").write_text('{"gpus": [{"id": "one"}]}')
    with pytest.raises(CatalogueError, match="one: the id stands twice"):
        catalogue.records("room")


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 1}', '{"a": [], "b": []}'])
def test_a_broken_file_is_named(data: Path, text: str) -> None:
    (data / "a.json").write_text(text)
    with pytest.raises(CatalogueError, match=r"room/a\.json"):
        catalogue.records("room")


def test_a_file_is_parsed_once(data: Path) -> None:
    (data / "a.json").write_text('{"gpus": []}')
    assert catalogue.table("room/a.json") is catalogue.table("room/a.json")
