"""How sure a run's answer is, and whether it says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench_scene import QUICK, cell_of, loaded, quick, served, users
from bide.bench.asking import Ask
from bide.bench.health import Health
from bide.bench.loads import Load
from bide.bench.objectives import broken, parse_objectives, unsure
from bide.bench.outcome import Outcome
from bide.bench.result import Bench, Cell
from bide.bench.selftest import Line, Selftest
from bide.bench.session import bench
from bide.bench.target import target_of
from bide.errors import BadInput
from bide.report.bench_facts import facts
from bide.report.bench_selftest import selftest_notes, selftest_sentences
from bide.report.bench_text import latency_table, level_table, sentences, shown_cell

CALM = Health(cpu_s=0.1, wall_s=10.0)


def made_cell(number: int, users_: int, stay_s: float, count: int = 240, health: Health = CALM, **more: object) -> Cell:
    """Requests of two tokens, one user after another; every tenth stays twice as long."""
    rows = []
    for row in range(count):
        start = row * stay_s / users_
        end = start + stay_s * (2 if row % 10 == 0 else 1)
        rows.append(
            Outcome(row, start, start, start, start, end, "ok", output_tokens=2, prompt_tokens=4, counted_by="server")
        )
        rows[-1].chunk_s.extend((start + stay_s / 2, end))
        rows[-1].chunk_tokens.extend((1, 1))
    load = Load("closed", concurrency=users_, requests=count)
    return Cell(number, load, rows, health, asked_requests=count, **more)  # type: ignore[arg-type]  # fields of a cell


SETTINGS = {"model": "m", "url": "http://x", "probe": None}


def searched(best: Cell, worst: Cell, slo: str) -> Bench:
    found = {"highest": best.load.level, "highest_cell": 0, "first_broken": worst.load.level, "reasons": ["why"]}
    return Bench(SETTINGS, (best, worst), {"slo": {"objectives": slo, **found}})


def test_a_level_that_meets_its_objective_by_chance_says_so() -> None:
    few, many = made_cell(0, 4, 0.2, count=60), made_cell(0, 4, 0.2)
    assert unsure(few, parse_objectives("e2e_p95=1s")) == ["too few requests to say how sure e2e_p95 is"]
    assert unsure(many, parse_objectives("e2e_p90=1s,ttft_mean=1s")) == []
    (near,) = unsure(many, parse_objectives("e2e_p50=200ms"))
    assert near.startswith("e2e_p50 lies between 200 ms and 20")


def test_a_figure_that_the_summary_says_once_can_be_an_objective_by_either_name() -> None:
    cell = made_cell(0, 4, 0.2)  # TTFT 100 ms, no reasoning; a gap of 100 ms, or 300 in every tenth
    assert [latency.metric for latency in cell.summary.latencies] == ["ttft", "tpot", "itl", "e2e"]
    assert broken(cell, parse_objectives("ttfc_p50=110ms,chunk_gap_p50=110ms")) == []
    assert broken(cell, parse_objectives("ttfc_p50=90ms,chunk_gap_p50=90ms")) == [
        "ttfc_p50 100 ms > 90 ms",
        "chunk_gap_p50 100 ms > 90 ms",
    ]


def test_the_mean_of_gaps_has_ends_too_and_answers_of_one_token_have_none() -> None:
    cell = made_cell(0, 4, 0.2)
    assert unsure(cell, parse_objectives("itl_mean=1s,ttfc_mean=1s")) == []
    short = replace(cell, outcomes=[])
    assert unsure(short, parse_objectives("itl_mean=1s")) == []


def test_the_answer_of_a_search_says_how_sure_it_is_and_whose_fault_its_end_was() -> None:
    late = replace(CALM, lag_p99_s=1.0, lag_p50_s=1.0)
    said = list(sentences(searched(made_cell(0, 4, 0.2, count=60), made_cell(1, 8, 0.2, health=late), "e2e_p95=1s")))
    assert said[0] == "The highest load that meets e2e_p95=1s is 4 users; 8 does not: why."
    assert said[1].startswith("That level may as well break them: too few requests to say how sure e2e_p95 is.")
    assert said[2].startswith("At 8 users the client itself did not keep up")
    sure = list(sentences(searched(made_cell(0, 4, 0.2), made_cell(1, 8, 0.2), "e2e_p90=1s")))
    assert not any("as well break" in text or "did not keep up" in text for text in sure)


def test_an_objective_that_is_broken_is_said_in_units_people_use() -> None:
    cell = made_cell(0, 4, 0.2)
    assert broken(cell, parse_objectives("e2e_p50=50ms")) == ["e2e_p50 200 ms > 50 ms"]
    nothing = replace(cell, outcomes=[replace(row, status="timeout") for row in cell.outcomes])
    assert broken(nothing, parse_objectives("e2e_p50=1s"))[0] == "e2e_p50 is not known: no request succeeded"


def test_a_knee_at_the_highest_level_is_not_called_one() -> None:
    cells = tuple(made_cell(place, users_, 0.2) for place, users_ in enumerate((1, 2, 4)))
    made = Bench(SETTINGS, cells, {"knee": {"cell": 2, "level": 4.0}})
    assert next(sentences(made)) == (
        "The highest level, 4 users, still did most for its delay: the knee is there or beyond."
    )
    inner = Bench(SETTINGS, cells, {"knee": {"cell": 1, "level": 2.0}})
    assert next(sentences(inner)).startswith("The knee is at 2 users:")


def test_a_knee_whose_client_was_too_slow_is_marked_as_both() -> None:
    slow = made_cell(0, 1, 0.2, health=replace(CALM, lag_p99_s=1.0))
    cells = (slow, made_cell(1, 2, 0.2), made_cell(2, 4, 0.2))
    _headers, rows = level_table(Bench(SETTINGS, cells, {"knee": {"cell": 0, "level": 1.0}}))
    assert [row[-1] for row in rows] == ["<- knee, client too slow", "", ""]


def test_an_interrupted_level_hides_none_that_is_whole() -> None:
    whole, cut = made_cell(0, 1, 0.2), made_cell(1, 2, 0.2, interrupted=True)
    made = Bench(SETTINGS, (whole, cut))
    assert shown_cell(made).number == 0
    assert list(sentences(made))[-1] == "The run was interrupted: this is what had been measured until then."
    assert shown_cell(Bench(SETTINGS, (cut,))).number == 1


@pytest.mark.parametrize(
    ("shifted_s", "processes", "kept_up"),
    [(0.06, 1, True), (0.2, 1, False), (0.2, 4, True)],  # of four in 10 s, each stood still for 0.05 s
)
def test_standing_still_for_more_than_a_hundredth_of_a_run_spoils_it(
    shifted_s: float, processes: int, kept_up: bool
) -> None:
    cell = made_cell(0, 4, 0.2, health=replace(CALM, stalls=1, shifted_s=shifted_s, processes=processes))
    assert cell.client_kept_up == kept_up
    assert any("stood still 1 time" in text for text in cell.warnings())


@pytest.mark.parametrize(
    ("wall_s", "longest_s", "kept_up"),
    [(24.0, 2.5, False), (10.0, 0.2, True), (600.0, 5.0, True)],  # seen: 2.5 of 24 s make E2E a tenth longer
)
def test_a_closed_loop_that_was_stopped_for_long_says_so(wall_s: float, longest_s: float, kept_up: bool) -> None:
    cell = made_cell(0, 4, 0.2, health=replace(CALM, wall_s=wall_s, lag_max_s=longest_s))
    assert cell.client_kept_up == kept_up
    assert any("stood still for 2.5 s" in text for text in cell.warnings()) != kept_up


@pytest.mark.parametrize(
    ("p50_s", "p99_s", "kept_up", "said"),
    [
        (0.0, 9e-3, True, ""),  # under a tenth of TTFT's 100 ms, and of ITL p99 (300 ms)
        (0.0, 11e-3, False, "median TTFT"),
        (11e-3, 9e-3, False, "median ITL"),
    ],
)
def test_which_lags_spoil_what(p50_s: float, p99_s: float, kept_up: bool, said: str) -> None:
    cell = made_cell(0, 4, 0.2, health=replace(CALM, lag_p50_s=p50_s, lag_p99_s=p99_s))
    assert cell.client_kept_up == kept_up
    assert said in " ".join(cell.warnings())
    assert not cell.tail_is_the_clients


def test_one_process_is_one() -> None:
    text = dict(facts(made_cell(0, 1, 0.2)))["client"]
    assert "1 process with 1% of a core;" in text


def test_prompts_longer_than_the_server_takes_are_refused_before_the_load() -> None:
    with served(quick(max_model_len=1000)) as scene:
        ask = Ask((users(1, 2),), prompt="900", answer="200", scrape_s=0.0)
        with pytest.raises(BadInput, match=r"prompt: got '900'.*at most 1,000 tokens.*shortest request has 1,100"):
            bench(target_of(scene.url), ask)


def test_a_second_interruption_still_says_where_the_journal_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bide.cli import bench as command
    from bide.cli.main import main

    def impatient(_made: Bench) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_print", impatient)
    journal = tmp_path / "run.jsonl"
    with served(QUICK) as scene:
        args = ["bench", scene.url, "--concurrency", "2", "--requests", "4", "--prompt", "40", "--answer", "4"]
        assert main([*args, "--journal", str(journal)]) == 130
    assert f"wrote {journal}" in capsys.readouterr().err


def test_every_mean_and_percentile_is_shown_with_its_interval() -> None:
    headers, rows = latency_table(made_cell(0, 4, 0.2))  # 240 requests: fewer than five values lie beyond p99
    assert headers[-3:] == ["percentile", "value", "95 % of runs"]
    e2e = rows[[row[0] for row in rows].index("E2E") :]
    assert [row[2] for row in e2e] == ["mean", "p50", "p90", "p95", "p99"]
    assert [row[4] == "too few" for row in e2e] == [False, False, False, False, True]
    assert e2e[1][3:] == ["200 ms", "200 ms to 200 ms"]


def test_means_of_requests_have_ends_in_the_json() -> None:
    cell = cell_of(QUICK, users(2, 60))
    latency = cell.summary.latency("tpot")
    assert latency is not None
    assert latency.mean_ends_s is not None
    low, high = latency.mean_ends_s
    assert 0.5 * latency.mean_s < low < latency.mean_s < high < 2 * latency.mean_s
    with served() as scene:
        made = loaded(scene.url, users(2, 60)).to_dict()
    found = made["cells"][0]
    assert found["latency"]["e2e"]["mean_low_s"] <= found["latency"]["e2e"]["mean_s"]
    assert found["tokens"]["mean_output"] == 8.0


def line(name: str, level: float, right: bool, late_s: float) -> Line:
    return Line(name, level, 0.01, 0.0, 0.02, 1e-3, 30.0, late_s, right)


def test_a_selftest_says_up_to_where_and_what_is_beyond() -> None:
    lines = (line("closed", 16, True, 1e-4), line("closed", 64, False, 1e-4), line("open", 120, False, 1e-4))
    said = list(selftest_sentences(Selftest(lines)))
    assert said == [
        "This machine measures up to 16 streams at once right.",
        "Not at 64 streams, 120 requests/s: there a result would be of this machine as much as of the server.",
    ]


def test_the_instant_server_is_late_by_nature_and_blames_no_other_program() -> None:
    lines = (line("closed", 16, True, 1e-4), line("instant", 2000, True, 2.7))
    assert len(list(selftest_sentences(Selftest(lines)))) == 1
    busy = (line("closed", 16, True, 0.05), line("instant", 2000, True, 2.7))
    assert list(selftest_sentences(Selftest(busy)))[-1].startswith("The truth server itself was late by 50 ms")


def test_the_columns_of_a_selftest_are_explained_with_its_own_limits() -> None:
    notes = " ".join(selftest_notes())
    assert "within 2%, ITL p99 within 10%" in notes
    assert "within 5 ms of being due" in notes
