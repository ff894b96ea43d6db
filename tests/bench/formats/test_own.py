"""Our own results: journal and JSON say the same, and what was not measured is not claimed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench_scene import loaded, quick, served, users
from bide.bench.formats.reading import read_runs
from bide.bench.health import Health
from bide.bench.journal import Closing, read_journal
from bide.calibrate.sides import measured_side
from read_results import codes, only


def test_journal_and_json_of_one_run_say_the_same(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with served(quick(tokens_per_chunk=3)) as scene:
        made = loaded(scene.url, users(4, 40), journal, prompt="p50=40,p95=80", answer="p50=9,p95=30", warm_up_s=None)
    written, listed = (only(tmp_path / "b.json", {"schema": "bide.bench/1", **made.to_dict()}), read_runs(journal)[0])
    assert written.prompt_tokens == pytest.approx(listed.prompt_tokens)
    assert written.output_tokens == pytest.approx(listed.output_tokens)
    for metric, figures in listed.latency.items():
        assert written.latency[metric].count == figures.count, metric
        assert written.latency[metric].mean_s == pytest.approx(figures.mean_s, abs=2e-6)
        assert dict(written.latency[metric].percentiles) == pytest.approx(dict(figures.percentiles), abs=2e-6)
    ends = listed.latency["tpot"].mean_ends_s
    assert ends is not None
    assert written.latency["tpot"].mean_ends_s == pytest.approx(ends, abs=1e-5)


def test_a_run_that_was_killed_does_not_say_how_its_client_was(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with served() as scene:
        loaded(scene.url, users(2, 30), journal)
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:24]))
    (run,) = read_runs(journal)
    assert run.client_kept_up is None
    assert {"client_unknown", "cut_short"} <= codes(run)
    assert any("8 requests are missing" in fault.text for fault in run.faults)


def test_what_the_server_says_of_itself_is_stated(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with served() as scene:
        loaded(scene.url, users(1, 20), journal, scrape_s=0.2)
    lines = journal.read_text().splitlines()
    head = json.loads(lines[0])
    head["settings"]["server"] = {"version": "0.5.1", "tp_size": 2, "dp_size": 1, "speculative_algorithm": "EAGLE"}
    journal.write_text("\n".join([json.dumps(head), *lines[1:]]) + "\n")
    (run,) = read_runs(journal)
    stated = {"model": "truth", "engine": "vllm", "engine_version": "0.5.1", "tp": 2, "dp": 1}
    assert run.deployment == stated
    assert "speculative" in codes(run)


def test_a_tail_that_is_the_clients_is_said_and_no_mean_is_lost(tmp_path: Path) -> None:
    # lags that are seldom (p50 0, p99 9 ms) beside gaps of 2 ms and a TTFT of 100 ms
    assert Health(lag_p99_s=5e-3).spoils_tail(4.9e-2)
    assert not Health(lag_p99_s=5e-3).spoils_tail(5e-2)
    journal = tmp_path / "run.jsonl"
    with served(quick(ttft_s=0.1)) as scene:
        loaded(scene.url, users(2, 30), journal)
    lines = journal.read_text().splitlines()
    kept = read_journal(journal).cells[0].closing
    assert kept is not None
    lagging = replace(kept, health=Health(lag_p99_s=9e-3, cpu_s=0.1, wall_s=2.0))
    lines[-1] = json.dumps({"kind": "cell_end", "cell": 0, **lagging.to_dict()})
    journal.write_text("\n".join(lines) + "\n")
    (run,) = read_runs(journal)
    assert run.client_kept_up
    assert not run.unusable
    assert [fault.grave for fault in run.faults if fault.code == "client_tail"] == ["distrust"]
    assert run.trusted("tpot") is not None
    itl = run.trusted("itl")
    assert itl is not None
    assert itl.mean_s is not None
    assert set(itl.percentiles) == {50.0}
    figures = measured_side(run).figures
    assert ("itl", 50.0) in figures
    assert ("itl", 99.0) not in figures
    assert ("ttft", 99.0) in figures


def test_a_closing_without_health_is_not_known() -> None:
    assert not Closing().health.known
    assert Health(wall_s=1.0).known


def test_a_run_whose_prompts_were_known_is_not_learned_from(tmp_path: Path) -> None:
    with served(quick(prefix_cache=True)) as scene:
        for name in ("first", "second"):
            loaded(scene.url, users(2, 24), tmp_path / f"{name}.jsonl", nonce=False, scrape_s=0.2)
    (first,), (second,) = (read_runs(tmp_path / f"{name}.jsonl") for name in ("first", "second"))
    assert "prefix_hits" not in codes(first)
    assert second.cached_share == 1.0
    assert any("came from the prefix cache" in text for text in second.unusable)


def test_a_journal_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "run.jsonl"
    with served() as scene:
        loaded(scene.url, users(1, 4), journal)

    def never(*_args: object) -> None:
        raise AssertionError("parsed as foreign JSON")

    monkeypatch.setattr("bide.bench.formats.reading.read_raw", never)
    assert read_runs(journal)[0].completed == 4
