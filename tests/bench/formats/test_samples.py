"""Results that other clients really wrote (see data/README.md), whose truth is known: 10 ms between tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from bide.bench.formats.reading import read_runs
from bide.bench.formats.values import Asked, Run
from read_results import codes

DATA = Path(__file__).with_name("data")


def only(name: str) -> Run:
    (run,) = read_runs(DATA / name)
    return run


@pytest.mark.parametrize(
    ("name", "tool", "load", "table"),
    [
        ("vllm_summary.json", "vllm bench serve", Asked("concurrency", 4.0), False),
        ("vllm_detailed.json", "vllm bench serve", Asked("concurrency", 4.0), True),
        ("vllm_appended_with_errors.jsonl", "vllm bench serve", Asked("requests_per_s", 20.0), True),
        ("guidellm.json", "GuideLLM", Asked("concurrency", 4.0), True),
        ("profile_export_aiperf.err500_4.json", "AIPerf", Asked("concurrency", 4.0), False),
        ("profile_export.err500_4.jsonl", "AIPerf", Asked("concurrency", 4.0), True),
        ("stage_1_lifecycle_metrics.json", "inference-perf", Asked("requests_per_s", 10.0), False),
        ("inference_perf_requests.json", "inference-perf", Asked("unknown"), True),
    ],
)
def test_the_format_is_seen_and_the_truth_comes_out(name: str, tool: str, load: Asked, table: bool) -> None:
    run = only(name)
    assert (run.tool, run.load, run.table is not None) == (tool, load, table)
    tpot = run.trusted("tpot")
    assert tpot is not None
    assert tpot.middle_s == pytest.approx(10e-3, rel=0.02)
    assert run.output_tokens in (16.0, 32.0)


@pytest.mark.parametrize(
    ("name", "completed", "failed"),
    [
        ("vllm_appended_with_errors.jsonl", 12, 8),
        ("guidellm.json", 12, 4),
        ("profile_export_aiperf.err500_4.json", 12, 4),
        ("profile_export.err500_4.jsonl", 12, 4),
    ],
)
def test_failures_are_counted_and_make_a_run_useless(name: str, completed: int, failed: int) -> None:
    run = only(name)
    assert (run.completed, run.failed) == (completed, failed)
    assert {"failures"} <= codes(run)
    assert run.unusable


def test_a_chunk_that_only_names_the_role_is_not_the_first_token() -> None:
    # vllm's ttfts are of the first chunk, after which the first token comes in the same write: 3 us later
    run = only("vllm_detailed.json")
    assert "role_only_ttft" in codes(run)
    assert run.table is not None
    assert run.latency["ttft"].at(50) == pytest.approx(52e-3, rel=0.02)
    assert [len(times) for times in run.table.token_times_s or ()] == [32] * 20


def test_waiting_for_the_clients_own_limit_counts_in_an_open_loop() -> None:
    # 20 requests/s with at most 2 in flight that take 0.2 s each: E2E from when they were due is longer than 0.2 s
    run = only("vllm_appended_with_errors.jsonl")
    e2e = run.latency["e2e"].at(50)
    assert e2e is not None
    assert e2e > 0.3
    assert "client_late" in codes(run)


def test_the_half_itl_of_inference_perf_is_not_believed() -> None:
    run = only("stage_1_lifecycle_metrics.json")
    assert run.trusted("itl") is None
    # (E2E - TTFT) / 31 = (361.20 - 50.69) / 31 ms
    assert run.latency["tpot"].mean_s == pytest.approx(10.016e-3, rel=1e-3)


def test_times_to_first_token_of_guidellm_are_in_milliseconds_and_requests_in_seconds() -> None:
    run = only("guidellm.json")
    assert run.latency["ttft"].at(50) == pytest.approx(0.101, rel=0.02)
    assert run.latency["e2e"].at(50) == pytest.approx(0.411, rel=0.02)
