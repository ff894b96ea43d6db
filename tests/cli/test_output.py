"""JSON, tables and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bide.cli.output import print_json, print_table, write_output
from bide.errors import BadInput


def test_json_begins_with_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    print_json("memory", {"pool": 1.5})
    assert list(json.loads(capsys.readouterr().out).items()) == [("schema", "bide.memory/1"), ("pool", 1.5)]


def test_json_refuses_numbers_that_json_has_not() -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json("memory", {"pool": float("inf")})


def test_cells_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["name", "n"], [["[bold]x[/]", "1"], ["日本", "22"]], title="[t]")
    out = capsys.readouterr().out
    assert "[bold]x[/]" in out
    assert out.startswith("[t]\n")


def test_columns_in_wrap_fold_and_optional_ones_go(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    print_table(["id", "why", "extra"], [["a", "because " * 6, "x" * 10]], left=(0, 1), wrap=(1,), optional=(2,))
    out = capsys.readouterr().out
    assert out.count("because") == 6
    assert "extra" not in out
    assert max(map(len, out.splitlines())) <= 30


def test_an_empty_table_is_its_headers(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["id", "n"], [])
    assert capsys.readouterr().out.split()[:2] == ["id", "n"]


def test_only_the_writer_of_the_suffix_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.HTML"
    write_output(path, {".html": lambda: "<p>é</p>", ".png": lambda: pytest.fail("not asked for")})
    assert path.read_text(encoding="utf-8") == "<p>é</p>"
    assert str(path) in capsys.readouterr().err


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    write_output(tmp_path / "a.png", {".png": lambda: b"\x89PNG"})
    assert (tmp_path / "a.png").read_bytes() == b"\x89PNG"


def test_an_unknown_suffix_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^output: .*\.html, \.json"):
        write_output(tmp_path / "report.pdf", {".html": str, ".json": str})


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file or directory"):
        write_output(tmp_path / "missing" / "report.json", {".json": lambda: "{}"})
