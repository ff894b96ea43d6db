"""`bide calibrate` and `bide compare` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bide.cli.main import main
from bide.facts.deployment import Deployment
from bide.simulate.curve import points
from bide.simulate.operating import Load, Mix

LOG = """Initializing a V1 LLM engine (v0.19.0) with config: model='meta-llama/Llama-3.1-8B', max_seq_len=131072
Model loading took 14.99 GiB memory and 9.1 seconds
Available KV cache memory: 53.87 GiB
GPU KV cache size: 441,328 tokens
"""


def result(path: Path, clients: int, tpot_s: float, ttft_s: float) -> str:
    rate = clients / (ttft_s + 199 * tpot_s)
    count = max(100, clients * 10)
    found: dict[str, Any] = {
        "backend": "vllm",
        "model_id": "meta-llama/Llama-3.1-8B",
        "num_prompts": count,
        "request_rate": "inf",
        "max_concurrency": clients,
        "duration": count / rate,
        "completed": count,
        "failed": 0,
        "total_input_tokens": count * 1000,
        "total_output_tokens": count * 200,
        "request_throughput": rate,
        "output_throughput": rate * 200,
        "mean_ttft_ms": ttft_s * 1e3,
        "mean_tpot_ms": tpot_s * 1e3,
        "std_tpot_ms": 0.2,
    }
    path.write_text(json.dumps(found))
    return str(path)


@pytest.fixture
def results(tmp_path: Path) -> list[str]:
    """Three levels, 1.25 times as slow as the shipped profile says."""
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    levels = (1, 8, 32)
    found = points([(deployment, Mix(1000, 200), Load("concurrency", n)) for n in levels])
    return [
        result(tmp_path / f"c{n}.json", n, (each.tpot_s or 0) * 1.25, (each.ttft_s or 0) * 1.25)
        for n, each in zip(levels, found, strict=True)
    ]


def out_of(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert main(args) == code
    said = capsys.readouterr()
    return said.out if code == 0 else said.err


def test_results_make_a_profile_that_other_commands_take(
    results: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model is in the results; the GPU must be said."""
    profile = str(tmp_path / "mine.json")
    said = out_of(capsys, "calibrate", *results, "--gpu", "h100-sxm", "--save", profile)
    assert "TPOT from 20.0% to" in said  # 1 - 1 / 1.25
    curve = ("curve", "llama-3.1-8b", "--gpu", "h100-sxm", "--prompt", "1000", "--output", "200", "--concurrency", "8")
    shipped, mine = (
        json.loads(out_of(capsys, *curve, "--json", *more))["curves"][0]["points"][0]
        for more in ((), ("--profile", profile))
    )
    assert mine["tpot_s"] == pytest.approx(1.25 * shipped["tpot_s"], rel=0.02)
    low, high = mine["interval"]["tpot_s"]
    assert high / low < 1.1


def test_json_names_runs_terms_and_the_interval(results: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(out_of(capsys, "calibrate", *results, "--gpu", "h100-sxm", "--json"))
    assert made["schema"] == "bide.calibrate/1"
    assert [run["load"] for run in made["runs"]] == [{"concurrency": 1.0}, {"concurrency": 8.0}, {"concurrency": 32.0}]
    assert made["errors"]["after"]["tpot_s"] < made["errors"]["before"]["tpot_s"]
    assert set(made["interval"]) == {"ttft_s", "tpot_s", "output_tokens_per_s"}  # E2E is not in these results
    assert made["unused"] == []


@pytest.mark.parametrize("suffix", [".html", ".md", ".csv", ".json"])
def test_reports_are_written_by_suffix(
    results: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    file = tmp_path / f"report{suffix}"
    out_of(capsys, "calibrate", *results, "--gpu", "h100-sxm", "-o", str(file))
    assert "TPOT" in file.read_text() or "tpot" in file.read_text()
    other = tmp_path / f"compared{suffix}"
    out_of(capsys, "compare", results[0], results[0], "-o", str(other))
    assert other.stat().st_size > 100


def test_a_log_is_laid_beside_the_prediction_and_its_pool_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, profile = tmp_path / "vllm.log", str(tmp_path / "p.json")
    log.write_text(LOG)
    said = out_of(capsys, "calibrate", "--log", str(log), "--gpu", "h100-sxm", "--save", profile)
    assert "53.9 GiB" in said or "53.87" in said
    memory = ("memory", "llama-3.1-8b", "--gpu", "h100-sxm", "--engine-version", "0.19.0", "--json")
    with_log = json.loads(out_of(capsys, *memory, "--profile", profile))
    assert with_log["pool"]["bytes_per_gpu"] == round(53.87 * 2**30)
    assert json.loads(out_of(capsys, *memory))["pool"]["bytes_per_gpu"] != with_log["pool"]["bytes_per_gpu"]


def test_a_batch_takes_the_pool_of_the_profile_too_unless_a_line_has_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, profile, batch = tmp_path / "vllm.log", str(tmp_path / "p.json"), tmp_path / "lines.jsonl"
    log.write_text(LOG)
    out_of(capsys, "calibrate", "--log", str(log), "--gpu", "h100-sxm", "--save", profile)
    same = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "engine_version": "0.19.0"}
    lines = [
        {"deployment": same},
        {"deployment": {**same, "max_num_seqs": 8}},
        {"deployment": same, "pool_bytes_per_gpu": 10**9},
    ]
    batch.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answers = map(json.loads, out_of(capsys, "memory", "--batch", str(batch), "--profile", profile).splitlines())
    of_log = round(53.87 * 2**30)
    first, other, given = (answer["pool"]["bytes_per_gpu"] for answer in answers)
    assert (first, given) == (of_log, 10**9)
    assert other != of_log


def test_compare_lays_a_prediction_beside_a_result(results: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    args = ("compare", results[1], "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--json")
    rows = json.loads(out_of(capsys, *args))["pairs"][0]["rows"]
    tpot = next(row for row in rows if row["metric"] == "tpot")
    assert tpot["ratio"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("calibrate",), "results"),
        (("calibrate", "nowhere.json", "--gpu", "h100-sxm"), "results"),
        (("calibrate", "{c}", "--model", "no-such-model", "--gpu", "h100-sxm"), "model"),
        (("calibrate", "{c}"), "gpu"),
        (("calibrate", "{c}", "--gpu", "h100-sxm", "--log", "nowhere.log"), "log"),
        (("calibrate", "{c}", "--gpu", "unlisted"), "pool_bytes_per_gpu"),
        (("calibrate", "{c}", "--gpu", "h100-sxm", "-o", "x.pdf"), "output"),
        (("compare", "{c}"), "b: missing"),
        (("compare", "nowhere.json", "{c}"), "a: got"),
        (("compare", "{c}", "{c}", "--model", "llama-3.1-8b"), "b: got"),
        (("compare", "{c}", "--model", "llama-3.1-8b"), "gpu"),
    ],
)
def test_bad_input_is_one_line(
    results: list[str], capsys: pytest.CaptureFixture[str], args: tuple[str, ...], said: str
) -> None:
    error = out_of(capsys, *(arg.format(c=results[0]) for arg in args), code=2)
    assert said in error
    assert "Traceback" not in error


def test_no_run_of_use_is_an_answer_and_not_an_input_error(
    results: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    error = out_of(capsys, "calibrate", results[0], "--model", "qwen3-8b", "--gpu", "h100-sxm", code=1)
    assert "measured with" in error
    assert "--force" in error
