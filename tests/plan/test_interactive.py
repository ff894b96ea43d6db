"""What becomes of each answer."""

import json
from pathlib import Path

import pytest
import yaml

from bide.errors import BadInput
from bide.plan import interactive
from bide.plan.service_file import read_question
from plan_inputs import LLAMA as LLAMA_CONFIG

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def save_trace(folder: Path, seconds: int = 150) -> Path:
    path = folder / "trace.csv"
    rows = [f"2023-11-16 18:{s // 60:02}:{s % 60:02}.5,{100 + s % 7},20\n" for s in range(seconds)]
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(rows), encoding="utf-8")
    return path


def test_the_defaults_make_a_file_that_reads_back(tmp_path: Path) -> None:
    work = interactive.lengths(interactive.PROMPT_TOKENS, interactive.OUTPUT_TOKENS)
    assert not work.knows_its_peak
    path = tmp_path / "service.yaml"
    limits = interactive.patience("ttft_p95=1s, tpot_p95=50ms", work)
    text = interactive.service_text(
        path, LLAMA, interactive.gpu_names("H100, l40s"), work, interactive.peak("10", work), limits
    )
    path.write_text(text, encoding="utf-8")
    question = read_question(path)
    assert [gpu.id for gpu in question.hardware.gpus] == ["h100-sxm", "l40s"]
    (service,) = question.services
    assert (service.name, service.traffic.peak_rps) == ("Llama-3.1-8B-Instruct", 10)
    assert [limit.measure.name for limit in service.patience] == ["ttft_p95", "tpot_p95"]


def test_paths_are_written_as_seen_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_trace(tmp_path)
    (tmp_path / "plans").mkdir()
    work = interactive.trace("trace.csv")
    assert work.knows_its_peak
    path = Path("plans/service.yaml")
    path.write_text(interactive.service_text(path, LLAMA, ["l40s"], work, "trace", {"e2e_p95": "5s"}), encoding="utf-8")
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["services"][0]["workload"] == {"trace": "../trace.csv"}
    assert read_question(path).services[0].traffic.peak_rps == 1


def test_a_short_trace_does_not_know_its_peak(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    rows = [f"2023-11-16 18:00:{n / 4:09.6f},100,20\n" for n in range(120)]
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(rows), encoding="utf-8")
    work = interactive.trace(str(path))
    assert not work.knows_its_peak
    with pytest.raises(BadInput, match=r"The trace spans only 29\.8 s"):
        interactive.peak("trace", work)


@pytest.mark.parametrize(
    ("answer", "found"),
    [("1000, 3500", {"p50": 1000, "p95": 3500}), ("800", {"mean": 800}), ("1k,8k", {"p50": "1k", "p95": "8k"})],
)
def test_lengths_are_two_figures_or_one(answer: str, found: dict[str, object]) -> None:
    assert interactive.figures(answer, "prompt") == found


@pytest.mark.parametrize("answer", ["", "many", "1,2,3", "4000, 100", "0", "-5", "1000,", "1e400"])
def test_lengths_that_cannot_be_are_refused(answer: str) -> None:
    with pytest.raises(BadInput, match="prompt"):
        interactive.figures(answer, "prompt")


@pytest.mark.parametrize("answer", ["", "0", "-1", "nan", "inf", "many", "trace", "observed", "12 rps"])
def test_peaks_that_cannot_be_are_refused(answer: str) -> None:
    with pytest.raises(BadInput, match="peak_rps"):
        interactive.peak(answer, interactive.lengths("1000", "100"))


@pytest.mark.parametrize(
    "answer", ["", "5s", "e2e_p95", "e2e_p95=0", "e2e_p101=5s", "e2e_p95=5s,", "e2e_p95=5s,e2e_p95=6s"]
)
def test_patience_that_cannot_be_is_refused(answer: str) -> None:
    with pytest.raises(BadInput, match="patience"):
        interactive.patience(answer, interactive.lengths("1000", "100"))


@pytest.mark.parametrize("answer", ["", ",", "h10"])
def test_gpus_that_cannot_be_are_refused(answer: str) -> None:
    with pytest.raises(BadInput, match="gpus"):
        interactive.gpu_names(answer)


@pytest.mark.parametrize("answer", ["", "lama-3-8", "./none.json"])
def test_models_that_cannot_be_are_refused(answer: str) -> None:
    with pytest.raises(BadInput):
        interactive.model_name(answer)


@pytest.mark.parametrize("answer", ["service", "service.txt", "nowhere/service.yaml", "", "."])
def test_names_that_no_file_can_have_are_refused(answer: str) -> None:
    with pytest.raises(BadInput, match="file"):
        interactive.file_path(answer)


@pytest.mark.parametrize("answer", ["~nobody-of-that-name/service.yaml", f"/{'x' * 300}/service.yaml"])
def test_paths_that_the_system_refuses_are_refused(answer: str) -> None:
    with pytest.raises(BadInput, match="file"):
        interactive.file_path(answer)
    with pytest.raises(BadInput, match="trace"):
        interactive.trace(answer)


def test_a_model_in_a_folder_gives_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my-llama-3.1-8b"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA_CONFIG), encoding="utf-8")
    monkeypatch.chdir(folder)
    work = interactive.lengths("1000", "100")
    for answer in (".", "config.json", str(folder)):
        path = folder / "service.yaml"
        text = interactive.service_text(path, interactive.model_name(answer), ["l40s"], work, 1, {"e2e_p95": "9s"})
        path.write_text(text, encoding="utf-8")
        assert read_question(path).services[0].name == "my-llama-3.1-8b"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "made.yaml").mkdir()
    with pytest.raises(BadInput, match="a regular file"):
        interactive.file_path(str(tmp_path / "made.yaml"))
