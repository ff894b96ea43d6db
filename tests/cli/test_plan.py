import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bide.cli.main import main
from bide.plan.question import Question
from bide.plan.search import Progress
from bide.report.plan_progress import best_so_far
from made_plans import ONE_CANDIDATE, made_plan, quick_plans
from made_profile import profile, write_profile

__all__ = ["quick_plans"]


def one_candidate(content: dict[str, Any]) -> None:
    """For plans that are really made: the quickest."""
    content["services"][0]["deployment"] = ONE_CANDIDATE


@pytest.fixture
def quick(quick_plans: list[Question], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Question]:
    """Quick plans, made in an empty folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return quick_plans


def impossible(content: dict[str, Any]) -> None:
    one_candidate(content)
    content["services"][0]["patience"] = {"e2e_p95": "1ms"}


def test_the_answer_is_printed_and_a_page_written_here(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], quick: list[Question], tmp_path: Path
) -> None:
    path = write()
    assert main(["plan", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Run ")
    assert err == "wrote service.html\n"
    assert (tmp_path / "here" / "service.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_json_is_one_object_and_writes_no_page(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], quick: list[Question], tmp_path: Path
) -> None:
    path = write()
    assert main(["plan", str(path), "--json"]) == 0
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert data["schema"] == "bide.plan/1"
    assert data["feasible"]
    assert data["gpus"] == sum(service["chosen"]["gpus"] for service in data["services"])
    assert err == ""
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
def test_the_suffix_says_what_is_written(
    write: Callable[..., Path], quick: list[Question], tmp_path: Path, suffix: str
) -> None:
    target = tmp_path / f"report{suffix}"
    assert main(["plan", str(write()), "-o", str(target)]) == 0
    start = {".html": "<!doctype html>", ".md": "# service.yaml", ".json": '{\n  "schema": "bide.plan/1"'}[suffix]
    assert target.read_text(encoding="utf-8").startswith(start)


def test_no_report_writes_nothing(
    write: Callable[..., Path], quick: list[Question], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write()
    assert main(["plan", str(path), "--no-report", "--explain"]) == 0
    assert list((tmp_path / "here").iterdir()) == []
    assert "Arithmetic (likely values)" in capsys.readouterr().out


def test_step_times_can_be_of_your_own(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = str(write(one_candidate))
    fast, slow = (write_profile(tmp_path / f"{n}.json", profile(slower=n)) for n in (1, 2))
    assert main(["plan", path, "--json", "--profile", str(fast)]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["profile"]["name"] == "by hand"
    monkeypatch.setenv("BIDE_PROFILE", str(slow))
    assert main(["plan", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gpus"] > first["gpus"]


def test_a_profile_that_lacks_a_term_is_one_error(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = write_profile(tmp_path / "hopper.json", profile())
    path = write(lambda content: content["hardware"].update(gpus=["mi300x"], prices={}))
    assert main(["plan", str(path), "--profile", str(made)]) == 2
    assert "bandwidth.amd" in capsys.readouterr().err


def test_a_file_that_is_no_profile_is_one_error(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "none.json").write_text("{}", encoding="utf-8")
    assert main(["plan", str(write()), "--profile", str(tmp_path / "none.json")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: profile: ")


def test_what_cannot_be_met_is_answered_with_exit_code_1(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(write(impossible)), "--no-report"]) == 1
    assert capsys.readouterr().out.startswith("Cannot be met")
    assert main(["plan", str(write(impossible)), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["services"][0]["chosen"] is None


@pytest.mark.parametrize("arguments", [["none.yaml"], [], ["none.yaml", "--bogus"]])
def test_bad_input_is_one_error_with_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_an_output_of_another_kind_is_refused(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(write()), "-o", "report.docx"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert ".html, .md, .json" in err


def test_a_page_that_cannot_be_written_unasked_is_a_note(
    write: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    quick_plans: list[Question],
    tmp_path: Path,
) -> None:
    path = write()
    (tmp_path / "service.html").mkdir()  # in the way, as a folder that cannot be written to would be
    monkeypatch.chdir(tmp_path)
    assert main(["plan", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Run ")
    assert err.startswith("no page was written; -o FILE says where")


def test_flags_take_the_place_of_the_files_values(
    write: Callable[..., Path], quick: list[Question], capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--gpu", "l40s", "--gpu", "h100", "--max-gpus", "8", "--peak-rps", "20", "--margin", "2"]
    assert main(["plan", str(write()), "--json", *flags, "--patience", "e2e_p95=8s"]) == 0
    (question,) = quick
    assert [gpu.id for gpu in question.hardware.gpus] == ["l40s", "h100-sxm"]
    assert (question.hardware.max_gpus, question.services[0].traffic.planned_rps) == (8, 40)
    assert json.loads(capsys.readouterr().out)["question"]["flags"][0] == "--gpu l40s"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--gpu", "h10"], "error: --gpu: got 'h10'"),
        (["--max-gpus", "0"], "error: --max-gpus: got 0"),
        (["--max-gpus", "two"], "max_gpus: got 'two'; allowed: a whole number"),
        (["--peak-rps", "-3"], "error: --peak-rps: got -3"),
        (["--margin", "0"], "error: --margin: got 0"),
        (["--patience", "5s"], "error: --patience: got '5s'"),
    ],
)
def test_a_bad_flag_is_one_error(
    write: Callable[..., Path], flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(write()), *flags]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_manifests_are_written_where_they_are_wanted(
    write: Callable[..., Path], quick: list[Question], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(write()), "--json", "--manifests", str(tmp_path / "out")]) == 0
    err = capsys.readouterr().err
    assert (tmp_path / "out" / "chat" / "serve.sh").exists()
    assert f"wrote {tmp_path / 'out' / 'chat' / 'serve.sh'}" in err


def test_no_manifests_of_what_cannot_be_met(write: Callable[..., Path], quick: list[Question], tmp_path: Path) -> None:
    path = write(impossible)
    assert main(["plan", str(path), "--json", "--manifests", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()


def test_progress_tells_the_best_so_far_once_every_service_has_one() -> None:
    option = made_plan().services[0].chosen
    assert option is not None
    assert best_so_far(Progress(1, 4, 3, (option, None))) == "planning"
    assert best_so_far(Progress(2, 4, 6, (option, option))) == f"best so far: {2 * option.gpus} GPUs"
