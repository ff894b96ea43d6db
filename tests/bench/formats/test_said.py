"""What a result says is read rightly and used, and what it does not say is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bide.bench.formats.reading import read_runs
from bide.bench.formats.values import Asked
from bide.errors import BadInput
from read_results import VLLM, codes, only

OPEN = {**VLLM, "request_rate": 4.0, "max_concurrency": None, "mean_tpot_ms": 10.0, "mean_itl_ms": 9.7}


@pytest.mark.parametrize(("itl_ms", "believed"), [(9.7, True), (20.0, False)])
def test_a_summarys_itl_is_of_chunks_and_not_used_where_those_are_no_tokens(
    tmp_path: Path, itl_ms: float, believed: bool
) -> None:
    run = only(tmp_path / "v.json", {**OPEN, "mean_itl_ms": itl_ms})
    assert "itl_of_chunks" in codes(run)
    assert (run.trusted("itl") is not None) == believed


@pytest.mark.parametrize(("waited", "useless"), [({}, True), (40.0, True), (1.0, False)])
def test_a_limit_of_clients_beside_a_rate_counts_where_requests_waited_for_it(
    tmp_path: Path, waited: Any, useless: bool
) -> None:
    said = {"mean_client_queue_time_ms": waited} if waited else {}
    run = only(tmp_path / "v.json", {**OPEN, "max_concurrency": 16, **said})
    assert ("client_limit" in codes(run)) == bool(run.unusable) == useless


def _guidellm(strategy: dict[str, Any], late_s: float, iterations: int) -> dict[str, Any]:
    rows = []
    for number in range(30):
        due = 1000.0 + number / 4
        sent = due + late_s
        timings = {
            "targeted_start": due,
            "request_start": sent,
            "first_token_iteration": sent + 0.1,
            "last_token_iteration": sent + 0.1 + 0.3,
            "token_iterations": iterations,
        }
        rows.append({"info": {"timings": timings}, "prompt_tokens": 20, "output_tokens": 32})
    return {
        "metadata": {"guidellm_version": "0.8.1"},
        "benchmarks": [
            {
                "config": {"strategy": strategy},
                "metrics": {},
                "requests": {"successful": rows},
                "start_time": 1795964217.1,
            }
        ],
    }


def test_an_open_loop_of_guidellm_counts_from_when_requests_were_due(tmp_path: Path) -> None:
    found = _guidellm({"type_": "constant", "rate": 4.0}, late_s=0.02, iterations=32)
    run = only(tmp_path / "g.json", found)
    assert run.load == Asked("requests_per_s", 4.0, float("inf"))
    assert run.latency["ttft"].at(50) == pytest.approx(0.12)  # 20 ms late + 100 ms
    assert run.date == "2026-11-29T14:56:57+00:00"
    closed = only(tmp_path / "g.json", _guidellm({"type_": "concurrent", "streams": 2}, late_s=0.02, iterations=32))
    assert closed.latency["ttft"].at(50) == pytest.approx(0.1)


def test_several_tokens_an_iteration_of_guidellm_leave_the_divisor(tmp_path: Path) -> None:
    # 32 tokens in 8 pieces: the first holds 4, and 28 come in the 300 ms after it
    run = only(tmp_path / "g.json", _guidellm({"type_": "concurrent", "streams": 2}, late_s=0.0, iterations=8))
    assert run.latency["tpot"].at(50) == pytest.approx(0.3 / 28)


def _llmd(tool: str) -> dict[str, Any]:
    native = {"config": {"load": {"type": "constant"}}}
    aggregate = {
        "requests": {"total": 300, "failures": 0, "input_length": {"mean": 900.0}, "output_length": {"mean": 101.0}},
        "latency": {
            "time_to_first_token": {"units": "ms", "mean": 100.0},
            "time_per_output_token": {"units": "ms/token", "mean": 5.0},
            "inter_token_latency": {"units": "ms/token", "mean": 5.0},
            "request_latency": {"units": "s", "mean": 1.1},
        },
    }
    return {
        "version": "0.2.1",
        "run": {"time": {"start": "2025-11-05T18:00:42Z", "duration": "PT1M49.5S"}},
        "scenario": {"load": {"standardized": {"tool": tool, "rate_qps": 2.0}, "native": native}},
        "results": {"request_performance": {"aggregate": aggregate}},
    }


def test_an_llm_d_report_says_when_how_long_and_how_requests_came(tmp_path: Path) -> None:
    run = only(tmp_path / "r.json", _llmd("vllm-benchmark"))
    assert (run.date, run.duration_s) == ("2025-11-05T18:00:42Z", 109.5)
    assert run.load == Asked("requests_per_s", 2.0, float("inf"))
    assert run.latency["tpot"].mean_s == pytest.approx(0.005)


@pytest.mark.parametrize("tool", ["inference-perf", "guidellm"])
def test_where_a_tools_time_per_token_is_another_figure_tpot_comes_from_the_ends(tmp_path: Path, tool: str) -> None:
    run = only(tmp_path / "r.json", _llmd(tool))
    tpot = run.trusted("tpot")
    assert tpot is not None
    assert tpot.mean_s == pytest.approx(0.01)  # (1.1 - 0.1) s / 100


def test_a_report_of_inference_perf_without_its_scenario_has_the_load_beside_it(tmp_path: Path) -> None:
    stages = "load: {type: poisson, stages: [{rate: 5.0}, {rate: 10.0}]}\nserver: {model_name: m}\n"
    (tmp_path / "config.yaml").write_text(stages)
    found = {key: value for key, value in _llmd("").items() if key != "scenario"}
    found["run"]["uid"] = "inference-perf-stage-1-433bc5cc"
    run = only(tmp_path / "inference-perf.partial.stage_1.yaml", found)
    assert run.load == Asked("requests_per_s", 10.0)
    assert run.deployment == {"model": "m"}
    assert run.trusted("itl") is None
    assert run.latency["tpot"].mean_s == pytest.approx(0.01)  # (1.1 - 0.1) s / 100
    assert only(tmp_path / "inference-perf.partial.stage_7.yaml", found).load == Asked("unknown")


def test_rows_of_inferencex_as_its_web_page_has_them(tmp_path: Path) -> None:
    row = {
        "hardware": "b200",
        "framework": "sglang",
        "precision": "fp8",
        "model": "m",
        "spec_method": "mtp",
        "disagg": True,
        "decode_tp": 8,
        "decode_ep": 1,
        "num_decode_gpu": 8,
        "isl": 1000,
        "osl": 1000,
        "conc": 4,
        "metrics": {"median_ttft": 0.1, "median_tpot": 0.01, "output_tput_per_gpu": 40.0},
    }
    run = only(tmp_path / "i.json", [row])
    assert {"speculative", "apart"} <= codes(run)
    assert run.unusable
    assert run.output_tokens_per_s == 320.0
    assert (run.deployment["tp"], run.deployment["ep"]) == (8, 1)
    plain = only(tmp_path / "i.json", [{**row, "spec_method": "none", "disagg": False}])
    assert not {"speculative", "apart"} & codes(plain)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"mean_ttft_ms": 1e308}, "ttft_mean of 1e+305 s"),
        ({"mean_tpot_ms": -1.0}, "tpot_mean of -0.001 s"),
        ({"mean_tpot_ms": 1e-9}, "tpot_mean of 1e-12 s"),
        ({"p99_ttft_ms": 1e12}, "ttft_p99 of 1e+09 s"),
        ({"total_input_tokens": 1e30}, "prompt_tokens of 5e+27"),
        ({"request_rate": 1e9}, "a load of 1e+09"),
    ],
)
def test_figures_that_no_client_can_have_measured_are_refused(
    tmp_path: Path, changed: dict[str, float], said: str
) -> None:
    path = tmp_path / "v.json"
    path.write_text(json.dumps({**OPEN, **changed}))
    with pytest.raises(BadInput, match=re.escape(said)):
        read_runs(path)


def test_a_figure_of_zero_stands_for_none(tmp_path: Path) -> None:
    run = only(tmp_path / "v.json", {**OPEN, "mean_tpot_ms": 0.0, "p99_itl_ms": 1e-6})
    assert run.latency["tpot"].mean_s == 0.0
