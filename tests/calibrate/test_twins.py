"""The same requests in two files count once; repetitions of a level count each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bide.bench.formats.assembling import run_of_table
from bide.bench.formats.values import Asked, Figures, Metric, Run
from bide.calibrate.runs import sorted_out
from bide.calibrate.twins import twins
from bide.facts.deployment import Deployment
from bide.records import RequestTable
from made_runs import closed_table


def listed(source: str, users: int = 4, seed: int = 0) -> Run:
    return run_of_table(closed_table(users, 120, seed=seed), source, "some tool", Asked("concurrency", float(users)))


def summary_of(run: Run, source: str, **changes: Any) -> Run:
    return replace(run, source=source, table=None, **changes)


def test_a_summary_beside_its_requests_is_left_out_whatever_comes_first() -> None:
    one = listed("requests.jsonl")
    assert twins([summary_of(one, "summary.json"), one]) == {0: 1}
    assert twins([one, summary_of(one, "summary.json")]) == {1: 0}


def test_a_file_that_is_named_twice_counts_once() -> None:
    one = summary_of(listed("run.json"), "run.json", latency={"tpot": Figures(0.01)})
    assert twins([one, replace(one)]) == {1: 0}
    assert twins([one, replace(one, latency={"tpot": Figures(0.011)})]) == {}


def test_three_files_of_one_run_leave_one() -> None:
    one = listed("run.jsonl#0")
    again = replace(one, source="run.parquet#0")
    assert twins([summary_of(one, "run.json#0"), again, one]) == {0: 1, 2: 1}


def test_repetitions_of_a_level_are_no_twins() -> None:
    one, other = listed("a.jsonl", seed=1), listed("b.jsonl", seed=2)
    assert twins([one, other]) == {}
    assert twins([summary_of(one, "a.json"), summary_of(other, "b.json")]) == {}


def steady(seed: int, date: str = "") -> Run:
    """One user of a quiet server: 2.7 s an answer, give or take 0.1 ms."""
    stays_s = 2.7 + np.random.default_rng(seed).normal(0.0, 1e-4, 120)
    sent_s = np.cumsum(stays_s) - stays_s
    table = RequestTable.of(sent_s, sent_s + 0.2, sent_s + stays_s, np.full(120, 100), np.full(120, 16))
    return run_of_table(table, f"{seed}.jsonl", "some tool", Asked("concurrency", 1.0), date=date)


def test_a_quiet_server_that_repeats_itself_is_measured_as_often_as_it_was() -> None:
    one, two = steady(1, "2026-01-01"), steady(2, "2026-01-02")
    assert twins([one, two]) == {}
    assert twins([summary_of(one, "1.json"), summary_of(two, "2.json")]) == {}
    assert twins([steady(1), steady(2)]) == {}


def test_summaries_without_a_date_that_differ_in_first_tokens_alone_are_two_runs() -> None:
    one = summary_of(steady(1), "1.json")
    slower = replace(one.latency["ttft"], percentiles={50.0: 0.2, 90.0: 0.21, 99.0: 0.3})
    other = replace(one, source="2.json", latency={**one.latency, "ttft": slower})
    assert twins([one, other]) == {}
    assert twins([one, replace(one, source="2.json")]) == {1: 0}
    silent: dict[Metric, Figures] = {metric: figures for metric, figures in one.latency.items() if metric != "ttft"}
    assert twins([one, replace(one, source="2.json", latency=silent)]) == {1: 0}


def test_a_summary_that_takes_a_chunk_without_a_token_for_the_first_is_of_the_same_run_as_its_list() -> None:
    one = steady(1)
    early = {percent: value - 1e-3 for percent, value in one.latency["ttft"].percentiles.items()}
    latency = {**one.latency, "ttft": replace(one.latency["ttft"], percentiles=early)}
    assert twins([one, summary_of(one, "1.json", latency=latency)]) == {1: 0}


def test_times_that_were_rounded_are_those_of_the_same_run() -> None:
    one = listed("a.jsonl")
    assert one.table is not None
    rounded = replace(one.table, **{name: getattr(one.table, name).round(4) for name in ("sent_s", "last_token_s")})
    assert twins([one, replace(one, source="b.csv", table=rounded)]) == {1: 0}


def test_levels_of_one_file_and_other_loads_are_no_twins() -> None:
    one = listed("a.jsonl#0")
    assert twins([one, replace(one, source="a.jsonl#1")]) == {}
    assert twins([one, replace(one, source="b.jsonl", load=Asked("concurrency", 8.0))]) == {}
    assert twins([one, replace(one, source="b.jsonl", load=Asked("unknown"))]) == {}


def test_a_summary_of_means_alone_is_believed_to_be_another_run() -> None:
    one = summary_of(listed("a.jsonl"), "a.json", latency={})
    assert twins([one, replace(one, source="b.json")]) == {}


def test_the_second_is_named_among_what_is_not_used_even_by_force() -> None:
    one = listed("run.jsonl")
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    usable, left = sorted_out([one, summary_of(one, "run.json")], deployment, forced=True)
    assert [each.run.source for each in usable] == ["run.jsonl"]
    assert left[0].reasons == ("the same requests as in run.jsonl: they count once",)


def test_a_reason_that_is_found_twice_is_said_once() -> None:
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    run = run_of_table(closed_table(4, 120), "a.jsonl", "some tool", Asked("unknown"))
    _usable, left = sorted_out([run], deployment)
    assert left[0].reasons == ("the result does not say what load was asked for",)
