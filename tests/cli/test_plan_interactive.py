"""The questions, asked through click's own runner."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from bide.cli.main import INTERRUPTED, group, main
from bide.errors import BadInput
from bide.plan.question import Question
from made_plans import quick_plans

__all__ = ["quick_plans"]
DEFAULTS = [""] * 8
"""Model, GPUs, trace, prompt, output, peak, patience, file."""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_plans: list[Question]) -> None:
    monkeypatch.chdir(tmp_path)


def run(answers: list[str], *flags: str) -> Result:
    typed = "".join(f"{answer}\n" for answer in answers)
    return CliRunner().invoke(group(), ["plan", "--interactive", "--json", *flags], input=typed, standalone_mode=False)


def written(name: str = "service.yaml") -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(Path(name).read_text(encoding="utf-8"))
    return content


def test_enter_takes_every_default_and_the_plan_is_printed(quick_plans: list[Question]) -> None:
    result = run(DEFAULTS)
    assert result.exception is None
    assert json.loads(result.stdout)["schema"] == "bide.plan/1"
    assert "wrote service.yaml" in result.stderr
    assert written()["hardware"] == {"gpus": ["h100-sxm"]}
    assert [question.file for question in quick_plans] == ["service.yaml"]


def test_a_wrong_answer_is_said_and_asked_again() -> None:
    result = run(["lama", "", "h10", "l40s", "none.csv", "", "x", "900, 3000", "", "0", "4", "soon", "", ""])
    for said in ("Did you mean h100", "a file that exists", "peak_rps: got 0", "MEASURE=TIME", "prompt.mean: got 'x'"):
        assert said in result.stderr
    (service,) = written()["services"]
    assert service["traffic"] == {"peak_rps": 4}
    assert service["workload"]["lengths"]["prompt"] == {"p50": 900, "p95": 3000}


def test_a_trace_needs_no_lengths_and_knows_its_peak(tmp_path: Path) -> None:
    rows = "".join(f"2023-11-16 18:{s // 60:02}:{s % 60:02}.5,{100 + s % 7},20\n" for s in range(150))
    (tmp_path / "trace.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + rows, encoding="utf-8")
    result = run(["", "", "trace.csv", "", "", ""])
    assert result.exception is None
    (service,) = written()["services"]
    assert service["workload"] == {"trace": "./trace.csv"}
    assert service["traffic"] == {"peak_rps": "trace"}


def test_a_file_is_never_overwritten_unasked() -> None:
    Path("service.yaml").write_text("mine", encoding="utf-8")
    result = run([*DEFAULTS, "n", "other.yaml"])
    assert "service.yaml exists. Overwrite it?" in result.stderr
    assert Path("service.yaml").read_text(encoding="utf-8") == "mine"
    assert written("other.yaml")
    assert run([*DEFAULTS, "y"]).exception is None
    assert written()


def test_a_name_that_was_given_is_the_default() -> None:
    assert run(DEFAULTS, "chat.yaml").exception is None
    assert written("chat.yaml")


def test_flags_count_for_the_file_that_was_made(quick_plans: list[Question]) -> None:
    run(DEFAULTS, "--peak-rps", "99")
    assert quick_plans[0].services[0].traffic.peak_rps == 99
    assert "peak_rps: 10" in Path("service.yaml").read_text(encoding="utf-8")


def test_answers_that_end_too_soon_write_nothing() -> None:
    result = run(DEFAULTS[:3])
    assert isinstance(result.exception, BadInput)
    assert "The input ended at: Prompt tokens" in str(result.exception)
    assert not list(Path().iterdir())


def test_an_interrupt_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_text: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("click.termui.visible_prompt_func", interrupted)
    assert main(["plan", "--interactive"]) == INTERRUPTED
    assert not list(Path().iterdir())


def test_a_blank_answer_is_an_empty_one() -> None:
    assert run(["  "] * 8).exception is None
    assert written()["hardware"] == {"gpus": ["h100-sxm"]}


def test_a_place_that_cannot_be_written_is_said_and_another_asked_for() -> None:
    result = run([*DEFAULTS[:7], f"{'x' * 300}.yaml", "a\x00b.yaml", "other.yaml"])
    assert result.stderr.count("error: ") == 2
    assert written("other.yaml")


def test_neither_yes_nor_no_is_asked_again() -> None:
    Path("service.yaml").write_text("mine", encoding="utf-8")
    result = run([*DEFAULTS, "perhaps", "Yes"])
    assert "got 'perhaps'; allowed: y, n" in result.stderr
    assert written()


@pytest.mark.parametrize("stream", ["stdin", "stderr"])
def test_a_closed_stream_is_an_empty_one(monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    for arguments in (["plan"], ["plan", "--interactive"]):
        monkeypatch.setattr(sys, stream, None)
        assert main(arguments) == 2
