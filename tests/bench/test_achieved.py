"""What was asked beside what was achieved, by hand: windows, tokens in them, peaks, users, rates."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from bench_scene import QUICK, cell_of, loaded, quick, served, users
from bide.bench.asking import Ask
from bide.bench.client import Rules
from bide.bench.health import Health
from bide.bench.loads import Load
from bide.bench.measure import Going
from bide.bench.outcome import Outcome
from bide.bench.result import Cell
from bide.bench.session import bench
from bide.bench.summary import summarise
from bide.bench.table import table_of
from bide.bench.target import target_of
from bide.report.bench_charts import _tokens


def row(number: int, arrival_s: float, chunk_s: Sequence[float], tokens: Sequence[int] | None = None) -> Outcome:
    """A request that went well, sent when it was due."""
    counts = array("i", tokens or [1] * len(chunk_s))
    made = Outcome(number, arrival_s, arrival_s, chunk_s[0], chunk_s[0], chunk_s[-1], "ok", output_tokens=sum(counts))
    made.chunk_s, made.chunk_tokens = array("d", chunk_s), counts
    return made


def test_tokens_count_by_when_they_came() -> None:
    # Window from 1 s (warm-up) to the last arrival at 3 s. Of the first request, which was due before it, the tokens
    # at 1.5 and 2.5 s count; of the last one none, for they come after it: 2 + 1 tokens in 2 s.
    rows = [row(0, 0.0, [0.5, 1.5, 2.5]), row(1, 2.0, [2.2]), row(2, 3.0, [3.2, 3.4])]
    found = summarise(rows, table_of(rows), 1.0)
    assert (found.window.start_s, found.window.end_s, found.window.whole) == (1.0, 3.0, False)
    assert found.requests == 2
    assert found.output_tokens_per_s == pytest.approx(3 / 2)


def test_the_best_second_counts_tokens_and_any_second() -> None:
    # Chunks of 4 tokens at 0.9, 1.1 and 1.8 s lie within one second, and in no whole one: 12 tokens, not 8 or 3.
    rows = [row(0, 0.0, [0.9, 1.1, 1.8], [4, 4, 4]), row(1, 4.0, [4.1])]
    found = summarise(rows, table_of(rows), 0.0)
    assert found.peak_output_tokens_per_s == 12


def test_users_that_were_not_all_in_flight_are_said() -> None:
    # One user of the four asked sends; each request takes all of the time to the next.
    rows = [row(number, float(number), [number + 0.5, number + 1.0]) for number in range(20)]
    cell = Cell(0, users(4, 20), rows, Health())
    assert any("1 requests were in flight on average of 4 asked" in text for text in cell.warnings())
    kept = Cell(0, users(1, 20), rows, Health())
    assert not any("in flight on average" in text for text in kept.warnings())


def test_a_rate_that_was_not_reached_and_requests_that_were_late_are_said() -> None:
    rows = [replace(row(number, number / 10, [number / 10 + 0.2]), sent_s=number / 10) for number in range(100)]
    asked = Cell(0, Load("open", rate=20.0, requests=100), rows, Health(sent_p99_s=0.02))
    text = " ".join(asked.warnings())
    assert "10.11 requests/s were sent of 20 asked" in text
    assert "Requests were written up to 20 ms (p99) after they were due" in text
    right = Cell(0, Load("open", rate=10.0, requests=100), rows, Health(sent_p99_s=0.004))
    assert not any("were sent of" in text or "were written up to" in text for text in right.warnings())


def test_a_client_that_stood_still_in_mid_run_sends_no_burst_and_says_so() -> None:
    # 100 a second, one stop of 0.4 s: 40 would be due at once. What a lag of 50 ms lets through is 5, beside 10 due.
    stops = iter([0.4])

    def stand(_number: int, _load: Load, _going: Going) -> None:
        time.sleep(next(stops, 0.0))

    load = Load("open", rate=100.0, requests=150, burstiness=float("inf"))
    with served(quick(itl_s=0.0)) as scene:
        ask = Ask((load,), prompt="40", answer="1", model="truth", probe=False, scrape_s=0.0, warm_up_s=0.0)
        cell = bench(target_of(scene.url), ask, None, stand).cells[0]
    sent = np.sort(cell.table.sent_s)
    most = max(np.searchsorted(sent, sent + 0.1) - np.arange(len(sent)))
    assert most <= 20
    assert cell.health.stalls >= 1
    assert cell.health.shifted_s > 0.3
    assert any("stood still" in text for text in cell.warnings())


def test_a_limit_of_requests_in_flight_is_for_all_processes_together() -> None:
    with served(quick(ttft_s=0.05)) as scene:
        load = Load("open", rate=500.0, requests=20)
        cell = loaded(scene.url, load, processes=2, rules=Rules(max_in_flight=3)).cells[0]
        assert scene.truth.log.most_active <= 3
        assert (cell.health.processes, cell.summary.by_status) == (2, {"ok": 20})
        one = loaded(scene.url, load, processes=2, rules=Rules(max_in_flight=1)).cells[0]
    assert one.health.processes == 1


@pytest.mark.parametrize("count", [1, 3])
def test_requests_are_dealt_to_processes_by_users(count: int) -> None:
    with served() as scene:
        cell = loaded(scene.url, users(count, 12), processes=2).cells[0]
        assert scene.truth.log.most_active <= count
    assert sorted(row.number for row in cell.outcomes) == list(range(12))
    assert cell.health.processes == min(2, count)


def test_what_is_in_flight_is_told_of_several_processes_too() -> None:
    seen = []

    def watch(_number: int, _load: Load, going: Going) -> None:
        seen.append(going.in_flight)

    with served(quick(ttft_s=0.2, itl_s=0.05)) as scene:
        plain = Ask((users(4, 16),), prompt="40", answer="8", model="truth", probe=False, scrape_s=0.0, processes=2)
        bench(target_of(scene.url), plain, None, watch)
    assert 3 <= max(seen) <= 4


def test_a_level_ends_with_its_time_or_its_requests() -> None:
    timed = cell_of(QUICK, Load("closed", concurrency=2, requests=10_000, duration_s=0.3, spread_s=0.0))
    assert 0 < len(timed.outcomes) < 1000
    assert timed.missing == 0
    assert not any("missing" in text for text in timed.warnings())
    opened = cell_of(QUICK, Load("open", rate=50.0, requests=1000, duration_s=0.4))
    assert len(opened.outcomes) == 20


def test_warm_up_and_other_levels_have_other_prompts() -> None:
    with served(quick(prefix_cache=True)) as scene:
        plain = Ask((users(2, 6), users(4, 6)), prompt="40", answer="2", model="truth", probe=False, scrape_s=0.2)
        made = bench(target_of(scene.url), replace(plain, warm_up_requests=3))
        assert [cell.server.hit_share for cell in made.cells] == [0.0, 0.0]
        fixed = bench(target_of(scene.url), replace(plain, loads=plain.loads[:1], warm_up_requests=3, nonce=False))
    assert fixed.cells[0].server.hit_share == 0.0


def test_tokens_over_time_are_a_line_even_of_a_short_run_and_add_up() -> None:
    rows = [row(0, 0.0, [0.1, 0.2, 0.9]), row(1, 0.1, [0.3, 1.4])]
    times_s, per_s = _tokens(Cell(0, users(2, 2), rows, Health()))
    assert len(times_s) >= 10
    assert sum(per_s) * (times_s[1] - times_s[0]) == pytest.approx(5)


@pytest.mark.parametrize(("cpu_s", "kept_up"), [(9.1, False), (8.9, True)])
def test_a_client_without_cpu_left_says_so(cpu_s: float, kept_up: bool) -> None:
    rows = [row(number, number / 2, [number / 2 + 0.2, number / 2 + 0.4]) for number in range(20)]
    cell = Cell(0, users(1, 20), rows, Health(cpu_s=cpu_s, wall_s=10.0))
    assert cell.client_kept_up is kept_up
    assert any("The client used 91% of its CPU: try --processes." in text for text in cell.warnings()) is not kept_up
