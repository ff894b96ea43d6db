"""Results made by hand: each format's units, older files, and input that is no result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bide.bench.formats.numbers import percent_of
from bide.bench.formats.reading import read_runs
from bide.bench.formats.values import Asked, Run
from bide.errors import BadInput
from bide.records import RequestTable
from made_runs import closed_table
from read_results import VLLM, codes


def read(path: Path, content: object) -> list[Run]:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_runs(path)


def test_a_summary_of_vllm(tmp_path: Path) -> None:
    (run,) = read(tmp_path / "v.json", VLLM)
    assert run.load == Asked("concurrency", 8.0)
    assert (run.prompt_tokens, run.output_tokens) == (1000.0, 200.0)
    assert run.latency["ttft"].mean_s == pytest.approx(0.1)
    assert run.latency["ttft"].percentiles == {99.0: pytest.approx(0.3)}
    assert not run.unusable


def test_one_impossible_level_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    wrong = {**VLLM, "max_concurrency": 16, "mean_ttft_ms": 1e305}
    good, bad = read(tmp_path / "v.jsonl", "\n".join(map(json.dumps, (VLLM, wrong))))
    assert not good.unusable
    assert bad.unusable == ("ttft_mean of 1e+302 s; is its unit what it should be?",)
    assert set(bad.latency) == {"tpot"}
    assert (bad.load, bad.requests_per_s) == (Asked("concurrency", 16.0), 4.0)


def test_a_file_of_impossible_levels_alone_is_refused_by_the_first(tmp_path: Path) -> None:
    wrong = {**VLLM, "request_rate": 1e9, "mean_tpot_ms": -1.0}
    said = r"(?i)not understood: 1e\+09 requests/s: a load of 1e\+09"
    with pytest.raises(BadInput, match=said):
        read(tmp_path / "v.json", wrong)
    both = "\n".join(map(json.dumps, (wrong, {**VLLM, "mean_tpot_ms": -1.0})))
    with pytest.raises(BadInput, match=said):
        read(tmp_path / "v.jsonl", both)


def test_an_older_file_of_vllm_tells_failures_by_what_is_missing(tmp_path: Path) -> None:
    old = {key: value for key, value in VLLM.items() if key not in ("failed", "max_output_tokens_per_s")}
    (run,) = read(tmp_path / "v.json", {**old, "completed": 180})
    assert run.tool == "vllm bench serve"
    assert run.failed == 20
    assert "failures" in codes(run)


def test_append_mode_has_one_run_a_line_and_a_cut_line_is_counted(tmp_path: Path) -> None:
    lines = [json.dumps({**VLLM, "max_concurrency": n}) for n in (1, 2, 4)]
    runs = read(tmp_path / "v.jsonl", "\n".join([*lines, lines[0][:40]]))
    assert [run.load.value for run in runs] == [1.0, 2.0, 4.0]
    assert all("broken_lines" in codes(run) for run in runs)


def test_objects_over_several_lines_in_a_row(tmp_path: Path) -> None:
    text = json.dumps(VLLM, indent=2) + "\n" + json.dumps({**VLLM, "request_rate": 3.0}, indent=2)
    assert [run.load.kind for run in read(tmp_path / "v.json", text)] == ["concurrency", "requests_per_s"]


def test_requests_that_fail_without_an_error_text_show_in_their_latency(tmp_path: Path) -> None:
    rows = 30
    detailed = {
        **VLLM,
        "input_lens": [10] * rows,
        "output_lens": [3] * rows,
        "ttfts": [0.1] * rows,
        "itls": [[0.01, 0.01]] * rows,
        "start_times": [n * 0.1 for n in range(rows)],
        "errors": [""] * rows,
        "latencies": [0.0] + [0.12] * (rows - 1),
    }
    (run,) = read(tmp_path / "v.json", detailed)
    assert run.failed == 1
    assert "silent_failures" in codes(run)


def test_several_tokens_a_chunk_are_spread_over_them(tmp_path: Path) -> None:
    # 8 tokens in 4 chunks 40 ms apart: 20 ms a token; the first chunk's 2 leave the divisor: 120 ms / 6
    rows = 30
    detailed = {
        **VLLM,
        "input_lens": [10] * rows,
        "output_lens": [8] * rows,
        "ttfts": [0.1] * rows,
        "itls": [[0.04, 0.04, 0.04]] * rows,
        "start_times": [n * 0.3 for n in range(rows)],
        "errors": [""] * rows,
    }
    (run,) = read(tmp_path / "v.json", detailed)
    assert run.latency["tpot"].mean_s == pytest.approx(0.02)
    assert "several_tokens_a_chunk" in codes(run)


def test_sglang_says_its_own_name_for_end_to_end(tmp_path: Path) -> None:
    found = {
        "backend": "sglang",
        "request_rate": "inf",
        "max_concurrency": 16,
        "completed": 160,
        "duration": 20.0,
        "total_input_tokens": 16_000,
        "total_output_tokens": 8_000,
        "request_throughput": 8.0,
        "output_throughput": 400.0,
        "concurrency": 15.6,
        "mean_e2e_latency_ms": 1950.0,
        "mean_ttft_ms": 100.0,
        "mean_tpot_ms": 37.8,
        "accept_length": 2.5,
    }
    (run,) = read(tmp_path / "s.jsonl", json.dumps(found) + "\n")
    assert run.tool == "sglang bench_serving"
    assert run.latency["e2e"].mean_s == pytest.approx(1.95)
    assert run.concurrency == 15.6
    assert "speculative" in codes(run)


def test_rows_of_inferencex_are_in_seconds_and_their_lengths_nominal(tmp_path: Path) -> None:
    row = {
        "hw": "h200",
        "framework": "vllm",
        "precision": "fp8",
        "model": "m",
        "tp": 8,
        "isl": 1000,
        "osl": 500,
        "conc": 16,
        "metrics": {"median_ttft": 0.2, "median_tpot": 0.012, "median_itl": 0.03},
    }
    (run,) = read(tmp_path / "i.json", [row])
    assert (run.prompt_tokens, run.output_tokens) == (900.0, 450.0)
    assert run.latency["tpot"].at(50) == 0.012
    assert run.trusted("itl") is None
    assert run.deployment == {"gpu": "h200", "model": "m", "engine": "vllm", "tp": 8, "weights": "fp8"}


def _report(version: str, aggregate: dict[str, Any], load: dict[str, Any]) -> dict[str, Any]:
    stack = [{"standardized": {"kind": "inference_engine", "tool": "vllm", "model": {"name": "m"}}}]
    return {
        "version": version,
        "scenario": {"stack": stack, "load": {"standardized": load}},
        "results": {"request_performance": {"aggregate": aggregate}},
    }


AGGREGATE = {
    "requests": {
        "total": 300,
        "failures": 0,
        "input_length": {"units": "count", "mean": 900.0},
        "output_length": {"units": "count", "mean": 100.0},
    },
    "latency": {
        "time_to_first_token": {"units": "ms", "mean": 80.0, "p99": 200.0, "p99p9": 250.0},
        "time_per_output_token": {"units": "s/token", "mean": 0.01},
        "request_latency": {"units": "s", "mean": 1.07},
    },
    "throughput": {"request_rate": {"units": "queries/s", "mean": 2.0}},
}


@pytest.mark.parametrize("version", ["0.2", "0.2.1"])
def test_an_llm_d_report_has_a_unit_for_each_figure(tmp_path: Path, version: str) -> None:
    load = {"tool": "vllm-benchmark", "rate_qps": 2.0, "concurrency": float("inf")}
    (run,) = read(tmp_path / "r.json", _report(version, AGGREGATE, load))
    assert run.load == Asked("requests_per_s", 2.0)
    assert run.latency["ttft"].percentiles == {99.0: pytest.approx(0.2), 99.9: pytest.approx(0.25)}
    assert run.latency["e2e"].mean_s == pytest.approx(1.07)
    assert not run.unusable


def test_shared_prefixes_and_wrong_units_make_an_llm_d_report_useless(tmp_path: Path) -> None:
    load = {"tool": "inference-perf", "rate_qps": 2.0, "prefix": {"num_groups": 3}}
    wrong = {**AGGREGATE, "latency": {"request_latency": {"units": "ms", "mean": 3.3}}}
    (run,) = read(tmp_path / "r.json", _report("0.2", wrong, load))
    assert {"prefix_hits", "units"} <= codes(run)


def test_an_old_llm_d_report_with_prefill_apart_is_not_one_deployment(tmp_path: Path) -> None:
    text = """
version: '0.1'
scenario:
  host: {type: [prefill, decode], accelerator: [{model: H100, parallelism: {tp: 2}}]}
  platform: {engine: [{name: vllm, version: 0.9.0}]}
  model: {name: m}
  load: {name: inference-perf, args: {qps_values: 1.5}}
metrics:
  time: {duration: 20.0}
  requests: {total: 300, failures: 0, input_length: {mean: 100}, output_length: {mean: 50}}
  latency: {time_to_first_token: {units: s, mean: 0.1}, request_latency: {units: s, mean: 1.0}}
  throughput: {output_tokens_per_sec: 75.0, requests_per_sec: 1.5}
"""
    (run,) = read(tmp_path / "r.yaml", text)
    assert run.load == Asked("requests_per_s", 1.5)
    assert run.deployment == {"model": "m", "gpu": "H100", "engine": "vllm", "engine_version": "0.9.0", "tp": 2}
    assert "apart" in codes(run)


def _written(table: RequestTable, path: Path) -> Path:
    frame = table.to_polars()
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".csv":
        frame.drop("token_times_s").write_csv(path)
    else:
        frame.write_ndjson(path)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_a_table_of_requests_shows_how_many_clients_there_were(tmp_path: Path, suffix: str) -> None:
    table = closed_table(5, 120)
    (run,) = read_runs(_written(table, tmp_path / f"t{suffix}"))
    assert run.load == Asked("concurrency", 5.0)
    assert "load_seen" in codes(run)
    assert run.table is not None
    assert run.table.first_token_s == pytest.approx(table.first_token_s)
    assert (run.table.token_times_s is None) == (suffix == ".csv")


def test_requests_that_come_one_now_and_then_are_arrivals_and_no_clients(tmp_path: Path) -> None:
    # one a second that takes 0.2 s: nothing is in flight most of the time
    at_s = np.arange(30.0)
    table = RequestTable.of(at_s, at_s + 0.1, at_s + 0.2, np.full(30, 10), np.full(30, 5))
    (run,) = read_runs(_written(table, tmp_path / "t.parquet"))
    assert run.load.kind == "requests_per_s"
    assert run.load.value == pytest.approx(1.0)


def test_a_first_chunk_without_a_token_betrays_itself_in_a_table(tmp_path: Path) -> None:
    # the role after 2 ms, the first token after 100 ms, then 10 ms a token
    table = closed_table(1, 40)
    early = tuple(np.concatenate(([sent + 2e-3], sent + 0.1 + 0.01 * np.arange(9))) for sent in table.sent_s)
    made = RequestTable.of(
        table.sent_s,
        np.array([times[0] for times in early]),
        np.array([times[-1] for times in early]),
        table.prompt_tokens,
        np.full(len(table), 10),
        token_times_s=early,
    )
    (run,) = read_runs(_written(made, tmp_path / "t.parquet"))
    assert "role_only_ttft" in codes(run)
    assert run.trusted("ttft") is None


BENCH = {
    "schema": "bide.bench/1",
    "settings": {"model": "m", "date": "2026-11-30", "server": {"version": "0.19.0"}, "ask": {}},
    "cells": [
        {
            "load": {"kind": "closed", "concurrency": 8, "rate": None, "ramp_from": None, "think_s": 0.0},
            "window": {"start_s": 1.0, "end_s": 21.0},
            "status": {"ok": 150, "timeout": 1},
            "latency": {"tpot": {"count": 150, "mean_s": 0.01, "p50_s": {"value": 0.01, "low": 0.009, "high": 0.012}}},
            "rates": {"completed_per_s": 7.5, "prompt_tokens_per_s": 7500.0, "output_tokens_per_s": 750.0},
            "in_flight": {"mean": 8.0},
            "cached_share": 0.0,
            "client": {"kept_up": False},
            "server": None,
        }
    ],
}


def test_our_own_json_carries_intervals_and_what_the_client_confessed(tmp_path: Path) -> None:
    (run,) = read(tmp_path / "b.json", BENCH)
    assert (run.prompt_tokens, run.output_tokens, run.failed) == (1000.0, 100.0, 1)
    assert run.latency["tpot"].intervals == {50.0: (0.009, 0.012)}
    assert run.deployment == {"model": "m", "engine_version": "0.19.0"}
    assert "client_saturated" in codes(run)


@pytest.mark.parametrize("name", ["p01", "p001", "p99.9", "p999", "median", "p0"])
def test_percentiles_are_read_as_each_tool_spells_them(name: str) -> None:
    expected = {"p01": 1.0, "p001": 0.1, "p99.9": 99.9, "p999": 99.9, "median": 50.0, "p0": 0.0}
    assert percent_of(name) == expected[name]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "   \n",
        "hello",
        "[]",
        "{}",
        "null",
        "42",
        '{"benchmarks": []}',
        "[[[[]]]]",
        '{"schema": "bide.bench/1"}',
        '{"model_id": 1',
        '{"metadata": {"request_start_ns": 1}, "metrics": {}}',
        '{"isl": 1, "osl": 1, "conc": "x", "hw": 3}',
        '{"load_summary": 1, "successes": []}',
        '{"arrival_s": 1, "first_token_s": 2, "last_token_s": 1, "prompt_tokens": 1, "output_tokens": 1}',
        "\x00\x01",
        "[" * 5000,
    ],
)
def test_what_is_no_result_is_an_error_in_words_or_a_run_of_no_use(tmp_path: Path, content: str) -> None:
    for suffix in (".json", ".jsonl", ".yaml"):
        path = tmp_path / f"x{suffix}"
        path.write_text(content, encoding="utf-8")
        try:
            runs = read_runs(path)
        except BadInput as error:
            assert error.field == "results"
        else:
            assert all(run.unusable or run.load.kind == "unknown" for run in runs)


def test_what_is_not_there_and_what_is_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "no.json", tmp_path, tmp_path / "no.parquet"):
        with pytest.raises(BadInput, match="results"):
            read_runs(path)


@pytest.mark.parametrize("value", [None, "x", -1, 1e400, [], {}, True, "nan"])
def test_values_of_any_kind_are_borne(tmp_path: Path, value: object) -> None:
    """Each figure replaced by something else: an answer or an error in words, never a traceback."""
    for base in (VLLM, BENCH["cells"][0]):  # type: ignore[index]
        for key in base:
            changed = {**base, key: value}
            content = changed if base is VLLM else {**BENCH, "cells": [changed]}
            path = tmp_path / "x.json"
            path.write_text(json.dumps(content), encoding="utf-8")
            try:
                runs = read_runs(path)
            except BadInput:
                continue
            assert all(run.name for run in runs)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_times_that_no_clock_shows_are_refused_without_a_warning(tmp_path: Path, suffix: str) -> None:
    names = ("arrival_s", "first_token_s", "last_token_s", "prompt_tokens", "output_tokens")
    rows = [(float(place), 1e308, 1.5e308, 5, 5) for place in range(3)]
    path = tmp_path / f"table{suffix}"
    if suffix == ".csv":
        path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")
    else:
        path.write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows) + "\n")
    with pytest.raises(BadInput, match="is it in seconds"):
        read_runs(path)
