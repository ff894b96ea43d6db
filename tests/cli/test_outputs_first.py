"""Where an answer cannot be written is found before the work begins, by every command that writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bide.cli.main import main
from bide.cli.output import check_file, check_folder
from bide.errors import BadInput

# Each command with what else it needs; the inputs do not exist, so whoever begins to work complains of them instead.
COMMANDS = {
    "plan": ["plan", "no.yaml", "-o"],
    "plan diff": ["plan", "diff", "no.yaml", "no.yaml", "-o"],
    "simulate": ["simulate", "no-model", "--workload", "no.csv", "-o"],
    "curve": ["curve", "no-model", "-o"],
    "memory": ["memory", "no-model", "-o"],
    "bench": ["bench", "http://127.0.0.1:9", "-o"],
    "calibrate": ["calibrate", "no.json", "-o"],
    "compare": ["compare", "no.json", "no.json", "-o"],
    "workload describe": ["workload", "describe", "no.csv", "-o"],
    "workload convert": ["workload", "convert", "no.csv", "-o"],
}


@pytest.mark.parametrize("args", COMMANDS.values(), ids=COMMANDS)
def test_a_missing_folder_is_said_first(args: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*args, str(tmp_path / "missing" / "report.json")]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: output: got '")
    assert "No such file or directory" in err


@pytest.mark.parametrize("args", [a for a in COMMANDS.values() if a[1] != "convert"])
def test_an_unknown_suffix_is_said_first(args: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*args, str(tmp_path / "report.pdf")]) == 2
    assert "a file ending in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "field"),
    [
        (["plan", "no.yaml", "--manifests"], "manifests"),
        (["calibrate", "no.json", "--save"], "save"),
        (["bench", "http://127.0.0.1:9", "--vllm-json"], "vllm_json"),
        (["bench", "http://127.0.0.1:9", "--journal"], "journal"),
    ],
)
def test_other_files_likewise(args: list[str], field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main([*args, str(tmp_path / "file" / "below")]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {field}: got '")
    assert "Not a directory" in err


def test_looking_creates_nothing(tmp_path: Path) -> None:
    check_file(tmp_path / "a.json", (".json",))
    check_folder(tmp_path / "b" / "c", "manifests")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Is a directory"):
        check_file(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_what_is_read_only_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("{}")
    file.chmod(0o444)
    with pytest.raises(BadInput, match="Permission denied"):
        check_file(file)
    tmp_path.chmod(0o555)
    with pytest.raises(BadInput, match="Permission denied"):
        check_folder(tmp_path / "new", "manifests")
