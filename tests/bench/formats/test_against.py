"""What results tell against themselves: drafts, cached prefixes, limits of clients, several engines, rising loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bide.bench.formats.reading import read_runs
from bide.bench.formats.values import Asked
from read_results import VLLM, codes, only

ROWS = 30
DETAILS: dict[str, Any] = {
    "input_lens": [10] * ROWS,
    "output_lens": [3] * ROWS,
    "ttfts": [0.1] * ROWS,
    "itls": [[0.01, 0.01]] * ROWS,
    "start_times": [number * 0.1 for number in range(ROWS)],
    "errors": [""] * ROWS,
}
SGLANG: dict[str, Any] = {
    "backend": "sglang",
    "request_rate": 4.0,
    "max_concurrency": None,
    "completed": 160,
    "duration": 40.0,
    "total_input_tokens": 16_000,
    "total_output_tokens": 8_000,
    "concurrency": 9.0,
    "mean_e2e_latency_ms": 1950.0,
    "mean_ttft_ms": 100.0,
    "std_ttft_ms": 20.0,
    "mean_tpot_ms": 37.8,
}


@pytest.mark.parametrize("details", [{}, DETAILS])
def test_a_rate_that_rises_on_the_way_is_no_one_load(tmp_path: Path, details: dict[str, Any]) -> None:
    ramp = {"max_concurrency": None, "ramp_up_strategy": "linear", "ramp_up_start_rps": 1, "ramp_up_end_rps": 20}
    run = only(tmp_path / "v.json", {**VLLM, **details, **ramp})
    assert run.load == Asked("unknown")
    assert run.unusable


@pytest.mark.parametrize("details", [{}, DETAILS])
@pytest.mark.parametrize(("accepted", "drafted"), [({}, False), (2.4, True)])
def test_drafts_that_vllms_client_counted_are_seen(
    tmp_path: Path, details: dict[str, Any], accepted: Any, drafted: bool
) -> None:
    said = {"spec_decode_acceptance_length": accepted} if accepted else {}
    run = only(tmp_path / "v.json", {**VLLM, **details, **said})
    assert ("speculative" in codes(run)) == drafted


def test_an_older_list_without_start_times_says_so(tmp_path: Path) -> None:
    old = {key: value for key, value in DETAILS.items() if key != "start_times"}
    assert "no_start_times" in codes(only(tmp_path / "v.json", {**VLLM, **old}))


def test_the_cache_report_of_sglang_tells_of_prefix_hits(tmp_path: Path) -> None:
    report = {"total_prompt_tokens": 16_000, "total_cached_tokens": 4_000, "cache_hit_rate_pct": 25.0}
    run = only(tmp_path / "s.jsonl", {**SGLANG, "cache_report": report})
    assert run.cached_share == 0.25
    assert "prefix_hits" in codes(run)
    assert not only(tmp_path / "s.jsonl", SGLANG).unusable


def test_a_recording_that_sglang_replays_is_no_batch(tmp_path: Path) -> None:
    assert only(tmp_path / "s.jsonl", {**SGLANG, "request_rate": "trace"}).load == Asked("unknown")


def test_the_spread_of_sglangs_figures_is_kept(tmp_path: Path) -> None:
    assert only(tmp_path / "s.jsonl", SGLANG).latency["ttft"].std_s == pytest.approx(0.02)


AIPERF: dict[str, Any] = {
    "aiperf_version": "0.13.0",
    "request_count": {"unit": "requests", "avg": 200.0},
    "effective_concurrency": {"unit": "requests", "avg": 9.0},
    "time_to_first_token": {"unit": "ms", "avg": 100.0},
    "inter_token_latency": {"unit": "ms", "avg": 10.0},
    "usage_prompt_tokens": {"unit": "tokens", "avg": 1000.0, "sum": 200_000.0},
    "output_sequence_length": {"unit": "tokens", "avg": 100.0},
}


def aiperf(phase: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**AIPERF, "input_config": {"phases": [{"kind": "profiling", **phase}]}, **more}


@pytest.mark.parametrize(("limit", "held_back"), [(None, False), (10, True), (17, True), (20, False)])
def test_a_limit_of_clients_that_poisson_arrivals_reach_held_them_back(
    tmp_path: Path, limit: int | None, held_back: bool
) -> None:
    # 9 in flight on average, and 9 + 3 sqrt(9) = 18 now and then
    sglang = only(tmp_path / "s.jsonl", {**SGLANG, "max_concurrency": limit})
    phase = {"type": "poisson", "rate": 4.0, **({"concurrency": limit} if limit else {})}
    for run in (sglang, only(tmp_path / "a.json", aiperf(phase))):
        assert run.load == Asked("requests_per_s", 4.0)
        assert ("client_limit" in codes(run)) == held_back


@pytest.mark.parametrize("name", ["usage_prompt_cache_read_tokens", "usage_prompt_cached_tokens"])
def test_cached_tokens_that_the_server_told_aiperf_count(tmp_path: Path, name: str) -> None:
    run = only(tmp_path / "a.json", aiperf({"concurrency": 9}, **{name: {"unit": "tokens", "sum": 50_000.0}}))
    assert run.cached_share == 0.25
    assert "prefix_hits" in codes(run)
    metrics = {
        "time_to_first_token": {"value": 100.0, "unit": "ms"},
        "request_latency": {"value": 190.0, "unit": "ms"},
        "usage_prompt_tokens": {"value": 400, "unit": "tokens"},
        "usage_completion_tokens": {"value": 10, "unit": "tokens"},
        name: {"value": 100, "unit": "tokens"},
    }
    rows = [{"metadata": {"request_start_ns": n * 10**9}, "metrics": metrics} for n in range(1, 31)]
    (listed,) = _lines(tmp_path / "profile_export.jsonl", rows)
    assert listed.cached_share == 0.25


def _lines(path: Path, rows: list[dict[str, Any]]) -> Any:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return read_runs(path)


STAGE: dict[str, Any] = {
    "load_summary": {
        "count": 200,
        "schedule_delay": {"p90": 30.0},
        "requested_rate": 200.0,
        "concurrency": 8,
    },
    "successes": {
        "count": 200,
        "latency": {"request_latency": {"mean": 2.0}, "time_to_first_token": {"mean": 0.1}},
        "prompt_tokens": {"mean": 100.0},
        "output_tokens": {"mean": 20.0},
    },
    "failures": {"count": 0},
}


def test_requests_that_wait_for_a_client_of_a_closed_loop_are_not_late(tmp_path: Path) -> None:
    """inference-perf has all of a concurrent stage due within its first second."""
    run = only(tmp_path / "stage_0_lifecycle_metrics.json", STAGE)
    assert run.load == Asked("concurrency", 8.0)
    assert not run.unusable
    about = {key: value for key, value in STAGE["load_summary"].items() if key != "concurrency"}
    assert "client_late" in codes(only(tmp_path / "stage_0_lifecycle_metrics.json", {**STAGE, "load_summary": about}))


def test_prompts_of_inference_perf_that_share_their_beginnings_are_of_no_use(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("data: {type: shared_prefix}\nserver: {model_name: m}\n")
    run = only(tmp_path / "stage_0_lifecycle_metrics.json", STAGE)
    assert run.deployment == {"model": "m"}
    assert "prefix_hits" in codes(run)


def engine(role: str, replicas: int) -> dict[str, Any]:
    return {"standardized": {"kind": "inference_engine", "tool": "vllm", "role": role, "replicas": replicas}}


@pytest.mark.parametrize(
    ("stack", "code"),
    [
        ([engine("decode", 1), engine("prefill", 1)], "apart"),
        ([engine("decode", 2)], "replicas"),
        ([engine("aggregate", 1), engine("aggregate", 1)], "replicas"),
        ([engine("aggregate", 1), {"standardized": {"kind": "generic", "tool": "router"}}], ""),
    ],
)
def test_a_load_that_several_engines_shared_is_not_of_one_deployment(
    tmp_path: Path, stack: list[Any], code: str
) -> None:
    aggregate = {
        "requests": {"total": 300, "failures": 0, "input_length": {"mean": 900.0}, "output_length": {"mean": 100.0}},
        "latency": {"time_per_output_token": {"units": "ms/token", "mean": 5.0}},
    }
    run = only(
        tmp_path / "r.json",
        {
            "version": "0.2",
            "scenario": {"stack": stack, "load": {"standardized": {"tool": "vllm", "rate_qps": 2.0}}},
            "results": {"request_performance": {"aggregate": aggregate}},
        },
    )
    assert {"apart", "replicas"} & codes(run) == ({code} if code else set())
    assert bool(run.unusable) == bool(code)
