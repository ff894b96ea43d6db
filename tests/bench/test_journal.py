"""Journals that are broken, and disks that are full."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bide.bench.asking import Ask
from bide.bench.client import Rules
from bide.bench.formats.reading import read_runs
from bide.bench.journal import SCHEMA, Closing, Journal
from bide.bench.kept import load_result
from bide.bench.loads import Load
from bide.errors import BadInput

ASK = Ask((Load("open", rate=1.0, requests=2),))


def _settings(**more: Any) -> dict[str, Any]:
    return {"url": "http://x:80", "model": "m", "salt": 1, "ask": ASK.to_dict(), **more}


@pytest.mark.parametrize(
    "settings",
    [
        None,
        [1],
        _settings(salt="x"),
        _settings(ask={}),
        _settings(ask={**ASK.to_dict(), "unknown": 1}),
        _settings(ask={**ASK.to_dict(), "rules": "x"}),
        _settings(ask={**ASK.to_dict(), "loads": [5]}),
    ],
)
def test_a_journal_with_other_settings_is_refused(tmp_path: Path, settings: object) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({"kind": "run", "schema": SCHEMA, "settings": settings}) + "\n")
    with pytest.raises(BadInput, match="a journal of"):
        load_result(path)


REQUEST = {
    "kind": "request",
    "cell": 0,
    "number": 0,
    "arrival_s": 0.0,
    "sent_s": 0.1,
    "first_byte_s": 0.2,
    "content_s": 0.2,
    "end_s": 0.3,
    "status": "ok",
    "error": "",
    "prompt_tokens": 5,
    "prompt_asked": 5,
    "cached_tokens": 0,
    "output_tokens": 2,
    "output_asked": 2,
    "counted_by": "server",
    "finish": "length",
    "late_s": 0.0,
    "new_connection": True,
    "retried": 0,
    "chunk_us": [200_000, 100_000],
}
CELL = {"kind": "cell", "cell": 0, "load": ASK.loads[0].to_dict(), "asked_requests": 2}
END = {"kind": "cell_end", "cell": 0, **Closing(interrupted=False).to_dict()}


def _journal(path: Path, *lines: object) -> Path:
    head = {"kind": "run", "schema": SCHEMA, "settings": _settings()}
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines)))
    return path


def test_a_whole_journal_is_read(tmp_path: Path) -> None:
    made = load_result(_journal(tmp_path / "run.jsonl", CELL, REQUEST, END))
    assert (made.notes, made.cells[0].interrupted, made.cells[0].missing) == ((), False, 1)
    assert made.table.token_times_s is not None
    assert made.table.token_times_s[0].tolist() == [0.2, 0.3]


@pytest.mark.parametrize(
    "broken",
    [
        5,
        {"kind": "request", "cell": 0},
        {**REQUEST, "cell": -1},
        {**REQUEST, "cell": [0]},
        {**REQUEST, "arrival_s": "x"},
        {**REQUEST, "arrival_s": 0.15},  # after it was sent
        {**REQUEST, "sent_s": float("nan")},
        {**REQUEST, "status": "fine"},
        {**REQUEST, "chunk_us": []},  # went well without a token
        {**REQUEST, "chunk_us": [200_000, -100_000]},
        {**REQUEST, "chunk_us": "x"},
        {**REQUEST, "chunk_tokens": [1]},
        {**REQUEST, "chunk_tokens": [1, 2**40]},
        {"kind": "cell"},
        {**CELL, "cell": 1, "load": {}},
        {**CELL, "cell": 1, "load": {**ASK.loads[0].to_dict(), "rate": 1e99}},
        {**CELL, "cell": 1, "asked_requests": "x"},
        {**CELL, "cell": "1"},
        CELL,  # there is one of that number
        {"kind": "cell_end", "cell": 0},
        {**END, "cell": 7},
        {**END, "health": {"lag_p50_s": "x"}},
        {**END, "health": []},
        {**END, "counts": 5},
        {**END, "counts": {"stale": "x"}},
        {**END, "server": {"engine": "", "samples": {"time_s": ["x"]}}},
        {**END, "server": None},
        {**END, "gap_s": 5},
    ],
)
def test_a_line_that_is_not_understood_is_left_out_and_named(tmp_path: Path, broken: object) -> None:
    path = _journal(tmp_path / "run.jsonl", CELL, REQUEST, broken)
    made = load_result(path)
    assert len(made.cells[0].outcomes) == 1
    assert made.cells[0].summary.requests == 1
    (note,) = made.notes
    assert note.endswith("left out: line 4")
    assert [fault.text for fault in read_runs(path)[0].faults if fault.code == "broken_lines"] == [note]


def test_a_cell_whose_line_is_broken_is_missing_and_the_others_keep_their_numbers(tmp_path: Path) -> None:
    second = ({**CELL, "cell": 1}, {**REQUEST, "cell": 1}, {**END, "cell": 1})
    made = load_result(_journal(tmp_path / "run.jsonl", {**CELL, "load": 5}, REQUEST, END, *second))
    assert [cell.number for cell in made.cells] == [1]
    assert made.notes[0].startswith("3 lines of the journal")


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (['{"kind": "run", "schema": "bide.bench.journal/9"}'], "line 1"),
        ([json.dumps({"kind": "run", "schema": SCHEMA, "settings": _settings(salt=None)}), "{}"], "line 1"),
        ([json.dumps({"kind": "run", "schema": SCHEMA, "settings": _settings()}), "{", '{"kind": "cell"}'], "line 2"),
    ],
)
def test_who_reads_a_journal_names_its_own_field_and_the_line(tmp_path: Path, lines: list[str], where: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInput) as caught:
        load_result(path, "results")
    assert caught.value.field == "results"
    assert "bad.jsonl" in str(caught.value)
    assert where in caught.value.hint


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_a_full_disk_does_not_end_a_measurement(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run.jsonl")
    journal.close()
    journal._file = open("/dev/full", "w")  # noqa: SIM115  # the journal closes it
    journal.write("cell", {"cell": 0})
    journal.flush()
    journal.write("cell", {"cell": 1})
    journal.close()
    assert journal.trouble == "No space left on device"


@pytest.mark.parametrize(
    ("field", "asked"),
    [
        ("timeout", {"rules": Rules(timeout_s=0.0)}),
        ("processes", {"processes": 10**6}),
        ("extra", {"extra": {"messages": 5}}),
    ],
)
def test_what_cannot_be_asked(field: str, asked: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        Ask(ASK.loads, **asked)
    assert caught.value.field == field
