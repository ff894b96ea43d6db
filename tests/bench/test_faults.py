"""The fifteen faults that load clients have had, each planted in the server and not to be found in the figures."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from bench_scene import QUICK, cell_of, loaded, quick, served, users
from bide import metrics
from bide.bench.agenda import PlannedAgenda
from bide.bench.asking import Ask
from bide.bench.client import Rules
from bide.bench.kept import load_result
from bide.bench.loads import Load, arrivals_s
from bide.bench.objectives import broken, parse_objectives
from bide.bench.session import bench, resume
from bide.bench.target import target_of
from bide.bench.words import Vocabulary, common_words


def test_01_an_error_inside_a_stream_is_a_failure() -> None:
    cell = cell_of(quick(error_in_stream_every=4))
    assert cell.summary.by_status == {"ok": 6, "stream_error": 2}
    assert cell.summary.errors == {"engine dead": 2}


@pytest.mark.parametrize(
    ("fault", "status"),
    [("cut_every", "disconnected"), ("silent_end_every", "truncated"), ("nothing_every", "empty")],
)
def test_01_what_does_not_end_well_is_a_failure(fault: str, status: str) -> None:
    cell = cell_of(quick(**{fault: 4}))
    assert cell.summary.by_status == {"ok": 6, status: 2}
    assert cell.summary.latency("e2e").count == 6  # type: ignore[union-attr]  # there is one


def test_01_a_stream_without_done_is_complete_by_its_finish_reason() -> None:
    assert cell_of(quick(done=False)).summary.by_status == {"ok": 8}


@pytest.mark.parametrize("role", ["early", "with"])
def test_02_a_chunk_that_only_says_who_speaks_is_no_token(role: str) -> None:
    cell = cell_of(quick(role=role, ttft_s=0.06, empty_deltas=True))
    assert metrics.ttft_s(cell.table).min() > 0.055
    assert {len(row.chunk_s) for row in cell.outcomes} == {8}
    if role == "early":
        assert min(row.first_byte_s - row.arrival_s for row in cell.outcomes if row.first_byte_s) < 0.055


def test_03_several_tokens_a_chunk_make_a_shorter_time_between_tokens() -> None:
    # 16 tokens in four chunks: the first chunk's tokens leave the divisor, so TPOT is 3 gaps / 12.
    cell = cell_of(quick(tokens_per_chunk=4, itl_s=0.01), answer="16")
    assert {tuple(row.chunk_tokens) for row in cell.outcomes} == {(4, 4, 4, 4)}
    expected = sorted((row.chunk_s[-1] - row.chunk_s[0]) / 12 for row in cell.outcomes)
    assert np.sort(metrics.tpot_s(cell.table)) == pytest.approx(expected)
    itl, gap = cell.summary.latency("itl"), cell.summary.latency("chunk_gap")
    assert itl is not None
    assert gap is not None
    # where a busy machine reads two chunks at once they are one, of eight tokens
    assert gap.count == sum(len(set(row.chunk_s)) - 1 for row in cell.outcomes)
    assert itl.count == sum(16 - 4 * row.chunk_s.count(row.chunk_s[0]) for row in cell.outcomes)
    assert gap.mean_s * gap.count == pytest.approx(itl.mean_s * itl.count)
    assert set(cell.table.first_chunk_tokens.tolist()) == {4}


def test_03_a_server_that_counts_as_it_streams_is_asked_to() -> None:
    with served(quick(tokens_per_chunk=3)) as scene:
        made = loaded(scene.url, users(1, 2), probe=True, answer="8")
    assert made.settings["probe"]["one_token_per_chunk"] is False
    assert [list(row.chunk_tokens) for row in made.cells[0].outcomes] == [[3, 3, 2]] * 2


def test_04_waiting_in_the_client_counts() -> None:
    # Ten requests due at once, one in flight at a time, 34 ms each: the last waits for nine.
    load = Load("open", rate=1000.0, requests=10)
    cell = cell_of(QUICK, load, rules=Rules(max_in_flight=1))
    waits = cell.table.sent_s - cell.table.arrival_s
    assert waits.max() > 9 * 0.03
    assert metrics.e2e_s(cell.table).max() > 0.3
    assert (metrics.ttft_s(cell.table) >= waits).all()
    assert cell.counts["most_waiting"] >= 8


def test_05_the_schedule_is_absolute_and_its_rate_is_the_one_asked() -> None:
    cell = cell_of(quick(itl_s=0.0), Load("open", rate=200.0, requests=200), answer="1")
    stood_still_s = cell.health.shifted_s  # on a busy machine the schedule moves as a whole, and that is said
    assert cell.table.arrival_s.max() - stood_still_s == pytest.approx(199.5 / 200, abs=1e-6)
    assert (cell.table.sent_s >= cell.table.arrival_s).all()
    assert arrivals_s(Load("open", rate=200.0, requests=200), 0)[-1] == pytest.approx(199.5 / 200)


def test_05_a_client_that_stood_still_sends_no_burst() -> None:
    agenda = PlannedAgenda([0, 1, 2, 3], [0, 10, 20, 30], 1000)
    assert agenda.pop() == (0, 1000)
    agenda.shift(500)  # a stall of 500 ns: what was planned keeps its distances
    assert [agenda.pop() for _number in range(3)] == [(1, 1510), (2, 1520), (3, 1530)]


def test_06_there_is_no_limit_of_connections_but_the_asked_one() -> None:
    cell = cell_of(quick(ttft_s=0.3), users(150, 150), answer="2")
    assert (cell.summary.flight.peak, cell.counts["most_in_flight"], cell.counts["connections"]) == (150, 150, 150)


def test_07_prompts_are_new_in_every_run_and_hits_are_shown() -> None:
    with served(quick(prefix_cache=True)) as scene:
        for _run in range(2):
            fresh = loaded(scene.url, users(2, 6), scrape_s=0.2)
            assert fresh.cells[0].server.hit_share == 0.0
        loaded(scene.url, users(2, 6), nonce=False)
        known = loaded(scene.url, users(2, 6), nonce=False, scrape_s=0.2).cells[0]
    assert known.server.hit_share == 1.0
    assert any("prefix cache" in text for text in known.warnings())


def test_07_what_the_answers_say_of_the_cache_is_shown_too() -> None:
    assert cell_of(quick(cached_share=0.5)).summary.cached_share == pytest.approx(0.5, abs=0.02)


def test_08_lengths_are_the_servers_and_differences_are_said() -> None:
    cell = cell_of(quick(most_tokens=5), answer="8")
    off = cell.summary.mismatch
    assert (off.output_off, off.output_asked, off.output_got) == (8, 64, 40)
    said = cell.warnings()
    assert "8 answers were not as long as asked: 40 tokens instead of 64." in said
    assert any(text.startswith("8 prompts were not as long as asked, by up to 9 tokens") for text in said)


@pytest.mark.parametrize(("per_word", "overhead"), [(1.0, 9), (1.5, 30)])
def test_08_prompts_have_exactly_the_tokens_asked_after_the_probe(per_word: float, overhead: int) -> None:
    with served(quick(tokens_per_word=per_word, overhead_tokens=overhead)) as scene:
        made = loaded(scene.url, users(2, 6), probe=True, prompt="300")
    assert made.settings["probe"]["prompt_tokens"] == {"overhead": overhead, "per_word": per_word, "verified": True}
    assert {row.prompt_tokens for row in made.cells[0].outcomes} == {300}


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_09_reasoning_is_output_and_content_comes_later(name: str) -> None:
    cell = cell_of(quick(reasoning_tokens=4, reasoning_field=name, itl_s=0.01))
    assert {len(row.chunk_s) for row in cell.outcomes} == {8}
    assert all(row.content_s == pytest.approx(row.chunk_s[4]) for row in cell.outcomes)
    assert cell.summary.latency("ttfc").at(50) > cell.summary.latency("ttft").at(50)  # type: ignore[union-attr]


def test_10_lines_and_prompts_of_any_length() -> None:
    cell = cell_of(quick(text="x" * 300_000), users(1, 2), answer="3", prompt="50000")
    assert cell.summary.by_status == {"ok": 2}
    assert {row.prompt_tokens for row in cell.outcomes} == {50_009}


def test_11_a_kept_connection_that_the_server_closed_is_no_failure() -> None:
    cell = cell_of(quick(close_kept_after_s=0.001), users(4, 60), answer="1")
    assert cell.summary.by_status == {"ok": 60}
    assert cell.counts["retried"] == 0


def test_11_it_is_sent_again_once_and_counted() -> None:
    from stale_server import stale_server

    with stale_server() as url:
        cell = loaded(url, users(1, 4), answer="1").cells[0]
    assert cell.summary.by_status == {"ok": 4}
    assert cell.counts["stale"] == 3


def test_11_a_connection_that_was_never_used_may_be_stale_too() -> None:
    from stale_server import stale_server

    with stale_server(before_the_first=True) as url:
        cell = loaded(url, users(1, 3), answer="1").cells[0]
    assert cell.summary.by_status == {"ok": 3}
    assert cell.counts["stale"] == 3


def test_12_failed_requests_have_no_percentiles_and_few_values_no_interval() -> None:
    cell = cell_of(quick(error_500_every=2), users(2, 12))
    assert cell.summary.by_status == {"ok": 6, "http_error": 6}
    assert cell.summary.errors == {"HTTP 500: overloaded": 6}
    for latency in cell.summary.latencies:
        if latency.metric in ("ttft", "e2e", "tpot"):
            assert latency.count == 6
            assert [(each.low, each.high) for each in latency.percentiles] == [(None, None)] * 4
    for row in cell.outcomes:
        assert row.arrival_s <= (row.sent_s or 0) <= (row.first_byte_s or 0) <= (row.end_s or 0)


_KILLED = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from bench_scene import loaded
from bide.bench.kept import load_result
from bide.bench.loads import Load
if __name__ == "__main__":
    loaded({url!r}, Load("open", rate=40.0, requests=120), Path({journal!r}), processes={processes})
"""


def _run_aside(url: str, journal: Path, processes: int = 1) -> subprocess.Popen[bytes]:
    tests = str(Path(__file__).parents[1])
    code = _KILLED.format(tests=tests, url=url, journal=str(journal), processes=processes)
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)


def _wait_for_lines(journal: Path, count: int) -> None:
    for _try in range(600):
        if journal.exists() and journal.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.02)
    raise AssertionError("nothing was written")


def test_13_a_killed_run_loses_a_second_at_most_and_is_completed(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with served() as scene:
        process = _run_aside(scene.url, journal)
        _wait_for_lines(journal, 22)
        answered = sum(each.ok for each in scene.truth.log.requests)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = load_result(journal).cells[0]
        assert len(kept.outcomes) >= answered - 40  # at 40 requests/s: one second
        assert kept.missing == 120 - len(kept.outcomes) > 0
        assert any("are missing" in text for text in kept.warnings())
        with journal.open("a") as file:
            file.write('{"kind":"request","cell":0,"numb')  # cut off in the middle of a line
        whole = resume(target_of(scene.url), journal)
    cell = whole.cells[0]
    assert sorted(row.number for row in cell.outcomes) == list(range(120))
    assert (cell.missing, len(cell.gap_s)) == (0, 1)
    again = load_result(journal).cells[0].summary
    assert again.by_status == cell.summary.by_status
    assert again.window.end_s == pytest.approx(cell.summary.window.end_s, abs=2e-6)  # written to the microsecond


@pytest.mark.parametrize("processes", [1, 2])
def test_13_an_interrupted_run_keeps_everything_measured(tmp_path: Path, processes: int) -> None:
    journal = tmp_path / "run.jsonl"
    with served(quick(ttft_s=0.05)) as scene:
        process = _run_aside(scene.url, journal, processes)
        _wait_for_lines(journal, 12)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    cell = load_result(journal).cells[0]
    assert cell.interrupted
    assert cell.summary.by_status["ok"] >= 10
    assert {row.status for row in cell.outcomes} <= {"ok", "cancelled"}


def test_13_a_wall_clock_that_jumps_moves_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with served() as scene:
        jumps = iter(range(10**9, 0, -(10**6)))
        monkeypatch.setattr(time, "time", lambda: next(jumps))
        monkeypatch.setattr(time, "time_ns", lambda: next(jumps) * 10**9)
        cell = loaded(scene.url, users(2, 8)).cells[0]
    assert cell.summary.by_status == {"ok": 8}
    assert 0.018 < metrics.ttft_s(cell.table).min() <= metrics.e2e_s(cell.table).max() < 10


def test_13_words_are_tokenised_once_and_before_the_event_loop_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    loops = []

    def tokenised(_name: str) -> Vocabulary:
        loops.append(asyncio._get_running_loop())
        return common_words()

    monkeypatch.setattr("bide.bench.asking.tokenizer_words", tokenised)
    with served() as scene:
        cell = loaded(scene.url, users(2, 8), tokenizer="any").cells[0]
    assert cell.summary.by_status == {"ok": 8}
    assert loops == [None]


def test_14_the_peak_in_flight_is_exact() -> None:
    # Requests of 30 ms, two users, many in each second: never more than two at once.
    assert cell_of(QUICK, users(2, 30)).summary.flight.peak == 2


def test_15_ramp_and_drain_are_left_out_or_named() -> None:
    long = cell_of(QUICK, users(2, 60), warm_up_s=None).summary
    assert not long.window.whole
    assert 0 < long.window.start_s <= 0.2 * long.window.end_s
    assert long.requests < 60
    short = cell_of(QUICK, users(4, 4))
    assert short.summary.window.whole
    assert any("Short run" in text for text in short.warnings())


def test_a_client_that_lags_says_so() -> None:
    def busy(*_args: object) -> None:
        time.sleep(0.05)

    with served(quick(itl_s=0.01)) as scene:
        load = Load("open", rate=20.0, duration_s=2.0)
        ask = Ask((load,), prompt="40", answer="20", model="truth", probe=False, scrape_s=0.0, warm_up_s=0.0)
        cell = bench(target_of(scene.url), ask, None, busy).cells[0]
    assert not cell.client_kept_up
    assert "The client lagged" in cell.warnings()[0]


def test_times_of_hanging_answers_are_bounded_and_they_failed() -> None:
    cell = cell_of(quick(hang_every=3), users(3, 6), rules=Rules(timeout_s=0.4))
    assert cell.summary.by_status == {"ok": 4, "timeout": 2}


def test_failures_break_an_objective() -> None:
    cell = cell_of(quick(error_500_every=2))
    assert broken(cell, parse_objectives("ttft_p95=10s")) == ["4 of 8 requests failed"]


def test_threads_end() -> None:
    before = set(threading.enumerate())
    assert cell_of(QUICK, users(2, 4)).summary.by_status == {"ok": 4}
    assert set(threading.enumerate()) <= before
