"""Journals that are broken, and disks that are full."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bide.bench.asking import Ask
from bide.bench.client import Rules
from bide.bench.journal import SCHEMA, Journal
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
