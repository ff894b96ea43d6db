"""A service whose replica was benchmarked: the plan takes what was measured in place of a simulation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bide.errors import BadInput
from bide.plan.asks import asks_of
from bide.plan.candidate import Candidate, candidates
from bide.plan.capacity import FULLEST
from bide.plan.measured.capacity import MeasuredCapacity
from bide.plan.question import Question
from bide.plan.reading import capacity_of, read_replica
from bide.plan.service_file import read_question
from made_measured import Make, question, table
from made_profile import profile
from plan_inputs import Write

__all__ = ["question"]


def trial_of(question: Question) -> MeasuredCapacity:
    """The one of the candidates that was measured."""
    service, hardware = question.services[0], question.hardware
    found = [capacity_of(each) for each in candidates(service, hardware, profile()) if isinstance(each, Candidate)]
    measured = [trial for trial in found if isinstance(trial, MeasuredCapacity)]
    assert len(measured) == 1
    return measured[0]


def test_the_deployment_that_was_measured_is_one_of_the_candidates_and_no_other(question: Make) -> None:
    trial = trial_of(question())
    assert (trial.candidate.gpus, trial.candidate.setting.get("max_num_batched_tokens")) == (1, None)
    assert trial.runs == 0


def test_between_two_levels_latencies_lie_on_the_line_between_them(question: Make) -> None:
    # TTFT 0.4 s at 4 requests/s and 2.0 s at 8: 1.2 s at 6; TPOT 20 and 30 ms: 25 ms
    reading = read_replica(trial_of(question()), 6.0)
    seconds = {measure.name: interval.mid for measure, interval in reading.seconds.items() if interval}
    assert seconds["ttft_p95"] == pytest.approx(1.2, rel=1e-3)
    assert seconds["tpot_p95"] == pytest.approx(0.025, rel=1e-3)


def test_below_the_lowest_level_it_is_as_slow_as_there(question: Make) -> None:
    reading = read_replica(trial_of(question()), 0.5)
    assert [
        interval.mid for measure, interval in reading.seconds.items() if interval and measure.latency == "ttft"
    ] == [pytest.approx(0.2)]


def test_beyond_the_highest_level_nothing_is_promised(question: Make) -> None:
    assert not read_replica(trial_of(question()), 8.1).stable


def test_the_highest_rate_is_where_the_line_meets_the_limit(question: Make) -> None:
    # TTFT p95 at most 1 s: 4 + 4 x (1 - 0.4) / (2 - 0.4) = 5.5 requests/s; the grid below it is 1 % and less away
    highest = trial_of(question()).highest_rate() or 0.0
    assert 5.5 * 0.98 < highest <= 5.5


def test_a_fleet_has_as_many_replicas_as_the_measured_rate_takes(question: Make) -> None:
    asked = question()
    trial, asks = trial_of(asked), asks_of(asked.services[0])
    # 5.5 (less a step of the grid) each: 16.2 requests/s take 3, the planned 12 x 1.5 = 18 take 4
    assert [trial.fewest(rps, 64, asks) for rps in (16.2, 18.0)] == [3, 4]
    assert trial.fewest(18.0, 64, asks, "slow") == 4  # what was measured has no slow end


def test_a_limit_that_holds_at_every_level_is_promised_up_to_the_highest(question: Make) -> None:
    trial = trial_of(question(patience={"ttft_p95": "3s"}))
    assert 8 * 0.98 < (trial.highest_rate() or 0.0) <= 8
    assert trial.saturated_rps() == pytest.approx(8 / FULLEST, rel=1e-3)


def test_more_load_is_never_faster(question: Make) -> None:
    # the level at 4 was measured faster than the one at 2: by chance, so it counts as slow as that
    trial = trial_of(question({2.0: (0.5, 0.02), 4.0: (0.3, 0.02)}))
    reading = read_replica(trial, 3.9)
    assert {m.name: i.mid for m, i in reading.seconds.items() if i}["ttft_p95"] == pytest.approx(0.5)


def test_a_load_that_was_not_borne_promises_nothing_and_is_said(question: Make, tmp_path: Path) -> None:
    path = tmp_path / "slow.json"
    slow = {"backend": "vllm", "completed": 300, "request_throughput": 5.0, "request_rate": 10.0, "duration": 60.0}
    slow |= {"total_input_tokens": 420_000, "total_output_tokens": 60_000, "num_prompts": 300, "model_id": "any"}
    path.write_text(json.dumps(slow | {"mean_ttft_ms": 9000.0, "mean_tpot_ms": 50.0, "output_throughput": 1000.0}))
    good = table(tmp_path / "good.csv", 2.0, 0.2, 0.01)
    asked = question(measured=[good, "slow.json"])
    assert trial_of(asked).highest_measured_rps == pytest.approx(2.0, rel=1e-3)
    said = [str(each) for each in asked.assumptions if "measured loads" in each.name]
    # a stay is 9 + 199 x 0.05 s: 300 / (60 - 18.95) a second
    assert said == ["measured loads of chat = without 10 requests/s (7.31 of 10 requests a second were answered)"]


def test_results_of_other_requests_are_refused(question: Make, tmp_path: Path) -> None:
    other = table(tmp_path / "other.csv", 2.0, 0.2, 0.01, prompt=300)
    with pytest.raises(BadInput, match="300 prompt tokens on average, the workload has 1,399"):
        question(measured=other)


def test_results_that_do_not_say_what_is_asked_are_refused(question: Make, tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    found = {"backend": "vllm", "completed": 300, "request_throughput": 2.0, "request_rate": 2.0, "duration": 150.0}
    found |= {"total_input_tokens": 420_000, "total_output_tokens": 60_000, "num_prompts": 300, "model_id": "any"}
    path.write_text(json.dumps(found | {"mean_ttft_ms": 200.0, "p99_ttft_ms": 300.0, "mean_e2el_ms": 2000.0}))
    with pytest.raises(BadInput, match="ttft_p95"):
        question(measured="summary.json")


def test_on_the_kind_of_gpu_that_was_measured_nothing_else_is_tried(question: Make, tmp_path: Path) -> None:
    name = table(tmp_path / "at.csv", 2.0, 0.2, 0.01)
    asked = question(measured={"results": name, "deployment": {"gpu_memory_utilization": 0.5, "max_num_seqs": 77}})
    found = list(candidates(asked.services[0], asked.hardware, profile()))
    assert [type(each) for each in found] == [Candidate]
    deployment = trial_of(asked).candidate.deployment
    assert (deployment.gpu_memory_utilization, deployment.max_num_seqs) == (0.5, 77)


def test_a_measured_replica_is_to_fit_the_hardware(question: Make, tmp_path: Path) -> None:
    name = table(tmp_path / "at.csv", 2.0, 0.2, 0.01)
    with pytest.raises(BadInput, match="takes 128"):
        question(measured={"results": name, "deployment": {"tp": 8, "pp": 16}})


def test_loads_above_one_that_was_not_borne_are_left_out(question: Make, tmp_path: Path) -> None:
    low, high = (table(tmp_path / f"{rate:g}.csv", rate, 0.2, 0.01) for rate in (2.0, 8.0))
    summary = {"backend": "vllm", "completed": 300, "request_throughput": 1.0, "request_rate": 4.0, "duration": 300.0}
    summary |= {"total_input_tokens": 420_000, "total_output_tokens": 60_000, "num_prompts": 300, "model_id": "any"}
    (tmp_path / "4.json").write_text(json.dumps(summary | {"mean_ttft_ms": 9000.0, "mean_tpot_ms": 50.0}))
    asked = question(measured=[low, "4.json", high])
    assert trial_of(asked).highest_measured_rps == pytest.approx(2.0, rel=1e-3)
    assert sum("above a load that was not borne" in str(each) for each in asked.assumptions) == 1


def test_a_summary_is_not_blamed_for_the_time_that_its_last_answers_took(question: Make, tmp_path: Path) -> None:
    # 100 requests at 10 a second come in 10 s; each takes 20 s, so that the run takes 30 s: 3.3 answers a second
    summary = {"backend": "vllm", "completed": 100, "request_throughput": 3.33, "request_rate": 10.0, "duration": 30.0}
    summary |= {"total_input_tokens": 140_000, "total_output_tokens": 20_000, "num_prompts": 100, "model_id": "any"}
    times = {"mean_ttft_ms": 100.0, "p95_ttft_ms": 200.0, "mean_tpot_ms": 100.0, "mean_e2el_ms": 20_000.0}
    (tmp_path / "10.json").write_text(json.dumps(summary | times))
    asked = question(measured="10.json", patience={"ttft_p95": "1s"})
    assert trial_of(asked).highest_measured_rps == pytest.approx(10.0)


@pytest.mark.parametrize("given", [5, None, [], ["at.csv", "at.csv"], {"gpu": "h100-sxm"}])
def test_what_is_no_list_of_files_is_refused(question: Make, tmp_path: Path, given: object) -> None:
    table(tmp_path / "at.csv", 2.0, 0.2, 0.01)
    with pytest.raises(BadInput, match="measured"):
        question(measured={"results": given} if given is None else given)


def test_with_several_kinds_of_gpu_the_results_must_say_theirs(question: Make, write: Write, tmp_path: Path) -> None:
    name = table(tmp_path / "at.csv", 2.0, 0.2, 0.01)

    def change(content: dict[str, Any]) -> None:
        content["services"][0]["measured"] = name
        content["hardware"]["gpus"] = ["h100-sxm", "l40s"]

    with pytest.raises(BadInput, match="the gpu that they were measured on: h100-sxm, l40s"):
        read_question(write(change))


def test_a_load_with_few_requests_is_said(question: Make, tmp_path: Path) -> None:
    name = table(tmp_path / "few.csv", 2.0, 0.2, 0.01, count=40)
    said = [str(each) for each in question(measured=name).assumptions]
    assert any("40 requests at" in text and "(few: a p95 wants 100 requests or more)" in text for text in said)


def test_results_that_state_another_deployment_are_refused(question: Make, tmp_path: Path) -> None:
    found = {"backend": "vllm", "completed": 300, "request_throughput": 2.0, "request_rate": 2.0, "duration": 150.0}
    found |= {"total_input_tokens": 420_000, "total_output_tokens": 60_000, "num_prompts": 300}
    times = {"mean_ttft_ms": 200.0, "p95_ttft_ms": 300.0, "mean_tpot_ms": 20.0, "mean_e2el_ms": 4000.0}
    (tmp_path / "one.json").write_text(json.dumps(found | times | {"model_id": "meta-llama/Llama-3.1-70B"}))
    with pytest.raises(BadInput, match=r"measured with .*70B"):
        question(measured="one.json", patience={"ttft_p95": "1s"})
