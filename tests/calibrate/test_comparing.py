"""Figures beside figures: what is paired, what lies beyond both intervals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bide.bench.formats.assembling import run_of_table
from bide.bench.formats.values import Asked, Fault, Figures, Run
from bide.calibrate.comparing import Row, compare
from bide.calibrate.sides import Value, measured_side
from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.records import RequestTable
from bide.report.compare_files import compare_csv, compare_markdown, compare_page
from bide.report.compare_text import interval, pair_table, sentences
from bide.simulate.curve import curve_of
from bide.simulate.curve_dict import curve_dict
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.operating import Load, Mix
from bide.simulate.replica_setup import setup_of
from bide.simulate.simulation import Ways, simulate_traffic
from bide.sourced import Source
from bide.workload.traffic import Traffic
from made_runs import closed_table


def run(name: str, clients: float, tpot_s: float, off_s: float | None = None, **more: object) -> Run:
    sure = {} if off_s is None else {50.0: (tpot_s - off_s, tpot_s + off_s)}
    figures = Figures(tpot_s, {50.0: tpot_s}, 400, 0.0 if off_s is None else off_s * 10, sure)
    said = {"completed": 400, "prompt_tokens": 1000.0, "output_tokens": 200.0, **more}
    return Run(name, "made", Asked("concurrency", clients), latency={"tpot": figures}, **said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (Value(1.0, 0.9, 1.1), Value(1.15, 1.05, 1.25), "same"),
        (Value(1.0, 0.9, 1.1), Value(1.3, 1.2, 1.4), "beyond"),
        (Value(1.0), Value(1.3, 1.2, 1.4), "beyond"),
        (Value(1.25), Value(1.3, 1.2, 1.4), "same"),
        (Value(1.0), Value(1.3), "unknown"),
        (Value(1.0, few=True), Value(1.3, 1.2, 1.4), "unknown"),
    ],
)
def test_a_difference_counts_where_the_intervals_do_not_meet(a: Value, b: Value, verdict: str) -> None:
    assert Row("tpot", 50.0, a, b).verdict == verdict


def test_the_ratio_reaches_from_end_to_end() -> None:
    # 1.2 / 1.1 to 1.4 / 0.9
    row = Row("tpot", 50.0, Value(1.0, 0.9, 1.1), Value(1.3, 1.2, 1.4))
    assert row.ratio == pytest.approx(1.3)
    assert row.ratio_ends is not None
    assert list(row.ratio_ends) == pytest.approx([1.2 / 1.1, 1.4 / 0.9])


def test_levels_of_a_sweep_are_paired_by_load_and_the_others_named() -> None:
    before = [run("a", n, 0.01 * n) for n in (1, 2, 4)]
    after = [run("b", n, 0.011 * n) for n in (4, 1, 8)]
    made = compare(before, after)
    assert [(pair.a.level, pair.b.level) for pair in made.pairs] == [(1, 1), (4, 4)]
    assert len(made.alone) == 2
    assert all(row.ratio == pytest.approx(1.1) for row in made.rows)


def test_single_results_are_compared_whatever_their_loads_and_that_is_said() -> None:
    (pair,) = compare(run("a", 4, 0.01), run("b", 8, 0.02, output_tokens=400.0)).pairs
    assert any("loads differ" in note for note in pair.notes)
    assert any("differ in length" in note for note in pair.notes)


def test_nothing_that_goes_together_is_an_error() -> None:
    with pytest.raises(BadInput, match="load"):
        compare([run("a", 1, 0.01), run("a", 2, 0.01)], [run("b", 3, 0.01), run("b", 5, 0.01)])


def test_figures_that_a_fault_spoils_are_not_compared() -> None:
    spoilt = run("a", 4, 0.01, faults=(Fault("half_itl", "half", "distrust", ("tpot",)),))
    assert compare(spoilt, run("b", 4, 0.01)).rows == ()


def test_a_deployment_is_predicted_under_the_measured_load() -> None:
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    point = curve_of(deployment, Mix(1000, 200), [Load("concurrency", 8)]).points[0]
    assert point.tpot_s is not None
    (pair,) = compare(run("a", 8, point.tpot_s), deployment).pairs
    (row,) = pair.rows
    assert (row.metric, row.percent, row.verdict) == ("tpot", None, "same")
    assert row.ratio == pytest.approx(1.0)


def test_a_percentile_of_too_few_requests_is_not_exact() -> None:
    # 60 requests: 6 are beyond the 90th percentile, none beyond the 99th
    table = closed_table(2, 60)
    side = measured_side(run_of_table(table, "a.jsonl", "made", Asked("concurrency", 2.0)))
    assert side.figures[("e2e", 99.0)].few
    assert not side.figures[("e2e", 50.0)].few
    assert not measured_side(run("a", 8, 0.01)).figures[("tpot", 50.0)].few  # a summary that never says


def test_what_was_measured_otherwise_than_is_predicted_is_said() -> None:
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    measured = run(
        "a", 8, 0.01, deployment={"gpu": "NVIDIA A100-SXM4-80GB", "tp": 2}, faults=(Fault("speculative", "drafts"),)
    )
    notes = " ".join(compare(measured, deployment).pairs[0].notes)
    for words in ("measured on a100-80g-sxm", "tp 2, not 1", "--speculative-tokens"):
        assert words in notes
    assert compare(run("a", 8, 0.01), deployment).pairs[0].notes == ()


@pytest.fixture(scope="module")
def h100() -> Deployment:
    return Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})


def served(deployment: Deployment, rate: float | None, users: int | None) -> Run:
    """300 requests of 200 to 800 + 30 to 90 tokens, measured of a server that is as the deployment is predicted."""
    draw = np.random.default_rng(7)
    arrival_s = np.cumsum(draw.exponential(1 / (rate or 1.0), 300))
    lengths = (draw.integers(200, 800, 300), draw.integers(30, 90, 300))
    traffic = Traffic(arrival_s - arrival_s[0], *lengths, Source("made"))
    made = simulate_traffic(setup_of(deployment), traffic, FleetRules(users=users), Ways(step_error=False))
    kind, level = ("requests_per_s", rate) if rate else ("concurrency", users)
    return run_of_table(made.table, "run", "made", Asked(kind, level))  # type: ignore[arg-type]  # one of the kinds


@pytest.mark.parametrize(("rate", "users"), [(6.0, None), (None, 12)])
def test_listed_requests_are_simulated_and_so_have_percentiles(
    h100: Deployment, rate: float | None, users: int | None
) -> None:
    (pair,) = compare(served(h100, rate, users), h100).pairs
    assert pair.b.what == "simulation"
    judged = {(row.metric, row.percent): row for row in pair.rows}
    for metric in ("ttft", "tpot", "e2e"):
        for percent in (None, 50.0, 95.0):
            row = judged[(metric, percent)]
            assert row.ratio == pytest.approx(1.0, rel=0.03)
            assert row.verdict == "same"
            assert row.b.low is not None


def test_the_rate_of_an_open_loop_is_given_and_judged_where_the_server_falls_behind(h100: Deployment) -> None:
    made = compare(served(h100, 6.0, None), h100)
    verdicts = {row.metric: row.verdict for row in made.rows if row.metric.endswith("per_s")}
    assert verdicts == {"requests_per_s": "given", "output_tokens_per_s": "given"}
    assert "given" in pair_table(made.pairs[0])[1][-1]
    behind = replace(served(h100, 6.0, None), load=Asked("requests_per_s", 9.0))
    assert all(row.verdict != "given" for row in compare(behind, h100).rows)


def test_a_run_without_lengths_cannot_be_predicted() -> None:
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    with pytest.raises(BadInput, match="how long prompts"):
        compare(run("a", 8, 0.01, prompt_tokens=None), deployment)


def test_a_curve_in_json_is_a_side(tmp_path: Path) -> None:
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    curve = curve_of(deployment, Mix(1000, 200), [Load("concurrency", 4), Load("concurrency", 8)])
    path = tmp_path / "curve.json"
    path.write_text(json.dumps({"schema": "bide.curve/1", "curves": [{"name": "c", **curve_dict(curve)}]}))
    made = compare([run("a", 8, 0.01)], path)
    (pair,) = made.pairs
    assert pair.b.what == "curve"
    assert pair.rows[0].b.value == pytest.approx(curve.points[1].tpot_s)
    assert pair.rows[0].b.low is not None


def test_a_simulation_in_json_has_the_wider_of_its_intervals(tmp_path: Path) -> None:
    said = {"value": 0.01, "low": 0.0095, "high": 0.0105, "step_low": 0.008, "step_high": 0.0103}
    content = {
        "schema": "bide.simulate/1",
        "workload": {"requests_per_s": 2.0},
        "latency": {"tpot": {"count": 9, "mean_s": 0.01, "p50_s": said}},
        "rates": {"completed_per_s": 2.0},
    }
    path = tmp_path / "simulation.json"
    path.write_text(json.dumps(content))
    made = compare(run("a", 8, 0.01), path)
    row = next(row for row in made.rows if row.percent == 50.0)
    assert (row.b.low, row.b.high) == (0.008, 0.0105)


def test_an_interval_says_its_unit_once_where_both_ends_have_it() -> None:
    assert interval("ttft", Value(0.2, 0.103, 0.299)) == "103 - 299 ms"
    assert interval("ttft", Value(0.2, 0.103, 2.0)) == "103 ms - 2 s"
    assert interval("requests_per_s", Value(6.0, 5.5, 6.5)) == "5.5 - 6.5"


def test_reports_say_the_same_in_each_form() -> None:
    made = compare([run("a", n, 0.01 * n, 1e-4) for n in (1, 2)], [run("b", n, 0.02 * n, 1e-4) for n in (1, 2)])
    assert next(sentences(made)).startswith("4 of 4 figures differ")
    headers, rows = pair_table(made.pairs[0])
    assert all(len(row) == len(headers) for row in rows)
    assert compare_markdown(made).count("2.00") >= 4
    assert len(compare_csv(made).splitlines()) == 1 + len(made.rows)
    page = compare_page(made)
    assert "bide compare" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    "content", ["{}", '{"schema": "bide.curve/1"}', '{"schema": "bide.simulate/1", "latency": []}', "x"]
)
def test_what_is_no_side_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(BadInput):
        compare(run("a", 8, 0.01), path)


def test_two_runs_of_a_server_whose_requests_wait_together_do_not_differ() -> None:
    """Standard errors as of independent requests call their means apart; blocks of time do not."""
    sides = []
    for seed in (7, 8):
        draw = np.random.default_rng(seed)
        slow = np.repeat(draw.exponential(1.0, 100), 10)  # 100 moods of a server, 10 requests in each
        sent = np.arange(1000.0)
        table = RequestTable.of(sent, sent + slow, sent + slow + 0.1, np.full(1000, 10), np.full(1000, 5))
        sides.append(run_of_table(table, f"{seed}.json", "made", Asked("requests_per_s", 1.0)))
    (row,) = [row for row in compare(*sides).rows if (row.metric, row.percent) == ("ttft", None)]
    assert row.ratio is not None
    assert row.verdict == "same"
    alone = [replace(side, latency={"ttft": replace(side.latency["ttft"], mean_ends_s=None)}) for side in sides]
    (narrow,) = [row for row in compare(*alone).rows if (row.metric, row.percent) == ("ttft", None)]
    assert narrow.verdict == "beyond"


@pytest.mark.parametrize(("completed", "verdict"), [(100, "given"), (10_000, "unknown")])
def test_as_few_requests_as_fall_short_by_chance_are_no_server_that_is_behind(completed: int, verdict: str) -> None:
    # 9 of 10 requests/s: 10 % short, and a hundred requests fall short by 2 / sqrt(100) = 20 % now and then
    sides = [
        Run(name, "made", Asked("requests_per_s", 10.0), completed=completed, requests_per_s=9.0) for name in ("a", "b")
    ]
    (row,) = compare(*sides).rows
    assert row.verdict == verdict


def test_levels_without_a_partner_are_named_once_each() -> None:
    made = compare([run("a.json", 8, 0.01), run("a.json", 16, 0.01)], [run("b.json", 8, 0.01), run("b.json", 32, 0.01)])
    assert made.alone == ("a.json (c=16)", "b.json (c=32)")
