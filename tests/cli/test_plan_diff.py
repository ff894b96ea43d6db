import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bide.cli.main import main
from bide.plan.question import Question
from made_plans import quick_plans

__all__ = ["quick_plans"]
Write = Callable[..., Path]


@pytest.fixture
def two(write: Write, quick_plans: list[Question]) -> tuple[str, str]:
    """An old file, and a new one with twice the margin."""
    old = write()
    new = old.with_name("new.yaml")
    new.write_text(old.read_text(encoding="utf-8").replace("margin: 1.5", "margin: 3"), encoding="utf-8")
    return str(old), str(new)


def test_what_changed_is_said_with_its_effect(two: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "diff", *two]) == 0
    out, err = capsys.readouterr()
    assert out.split()[0] == "From"
    assert "chat: margin" in out
    assert "x 1.5" in out
    assert "changed one at a time" in out
    assert err == ""


def test_json_is_one_object(two: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "diff", *two, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "bide.plan.diff/1"
    assert data["changes"] == [{"service": "chat", "input": "margin", "old": "x 1.5", "new": "x 3"}]
    assert data["effects"][0]["gpus"] == 0  # the quick plans are all the same
    assert data["old"]["file"].endswith("service.yaml")


@pytest.mark.parametrize(("suffix", "start"), [(".md", "**From "), (".json", '{\n  "schema": "bide.plan.diff/1"')])
def test_the_suffix_says_what_is_written(two: tuple[str, str], tmp_path: Path, suffix: str, start: str) -> None:
    target = tmp_path / f"diff{suffix}"
    assert main(["plan", "diff", *two, "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8").startswith(start)


def test_a_printed_plan_is_a_side_too(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str], quick_plans: list[Question]
) -> None:
    assert main(["plan", two[0], "--json"]) == 0
    recorded = Path(two[0]).with_name("old.json")
    recorded.write_text(capsys.readouterr().out, encoding="utf-8")
    quick_plans.clear()
    assert main(["plan", "diff", str(recorded), two[1], "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["explained"]
    assert [change["input"] for change in data["changes"]] == ["margin"]
    assert len(quick_plans) == 2  # the old question again, and the new one, which is the last step too


def test_a_printed_plan_without_its_question_is_compared_as_it_is(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", two[0], "--json"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    del data["question"]
    recorded = Path(two[0]).with_name("old.json")
    recorded.write_text(json.dumps(data), encoding="utf-8")
    assert main(["plan", "diff", str(recorded), two[1]]) == 0
    out = capsys.readouterr().out
    assert "does not hold its question" in " ".join(out.split())
    assert "margin" in out


def test_a_file_called_diff_is_reached_by_its_path(
    two: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(two[0]).parent
    Path(two[0]).rename(folder / "diff")
    monkeypatch.chdir(folder)
    assert main(["plan", "./diff", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "bide.plan/1"


@pytest.mark.parametrize(
    "arguments", [[], ["one.yaml"], ["none.yaml", "none.yaml"], ["a", "b", "c"], ["a", "b", "-o", "x.html"]]
)
def test_bad_input_is_one_error_with_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "diff", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_help_names_both_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "diff", "--help"]) == 0
    assert "bide plan diff [OPTIONS] OLD NEW" in capsys.readouterr().out
    assert main(["plan", "--help"]) == 0
    assert "bide plan diff OLD NEW" in capsys.readouterr().out
