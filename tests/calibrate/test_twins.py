"""The same requests in two files count once; repetitions of a level count each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bide.bench.formats.assembling import run_of_table
from bide.bench.formats.values import Asked, Run
from bide.calibrate.runs import sorted_out
from bide.calibrate.twins import twins
from bide.facts.deployment import Deployment
from made_runs import closed_table


def listed(source: str, users: int = 4, seed: int = 0) -> Run:
    return run_of_table(closed_table(users, 120, seed=seed), source, "some tool", Asked("concurrency", float(users)))


def summary_of(run: Run, source: str, **changes: Any) -> Run:
    return replace(run, source=source, table=None, **changes)


def test_a_summary_beside_its_requests_is_left_out_whatever_comes_first() -> None:
    one = listed("requests.jsonl")
    assert twins([summary_of(one, "summary.json"), one]) == {0: 1}
    assert twins([one, summary_of(one, "summary.json")]) == {1: 0}


def test_three_files_of_one_run_leave_one() -> None:
    one = listed("run.jsonl#0")
    again = replace(one, source="run.parquet#0")
    assert twins([summary_of(one, "run.json#0"), again, one]) == {0: 1, 2: 1}


def test_repetitions_of_a_level_are_no_twins() -> None:
    one, other = listed("a.jsonl", seed=1), listed("b.jsonl", seed=2)
    assert twins([one, other]) == {}
    assert twins([summary_of(one, "a.json"), summary_of(other, "b.json")]) == {}


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
