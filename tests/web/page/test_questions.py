"""What the forms of the third and the fourth tab ask, without a browser."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bide.errors import BadInput
from bide.web.job_asks import CalibrateAsk, CompareAsk, MeasureAsk, PlanAsk
from bide.web.page import measured_answer, plan_answer, tab_measured, tab_plan
from bide.web.page.job_checks import identities
from bide.web.page.plan_form_parts import ticked
from bide.web.page.plan_question import plan_ask
from bide.web.page.state import State
from bide.web.page.uploading import number_of, put_away, take

ONE, OTHER = "a" * 22, "b" * 22


def values(tab: Any, **given: str) -> dict[str, str]:
    """What the form holds: its defaults, and what was set."""
    state = State(tab.KEYS)
    for key, text in given.items():
        state.set(key, text)
        assert state.error(key) == ""
    return dict(state.frozen())


def test_the_form_s_own_values_are_a_question() -> None:
    asked = plan_ask(values(tab_plan))
    PlanAsk.model_validate(asked)
    service = asked["services"][0]
    assert service["patience"] == {"e2e_p95": "5s"}
    assert service["traffic"] == {"peak_rps": 10.0, "margin": 1.5}
    assert service["workload"]["lengths"]["prompt"] == {"p50": 1000, "p95": 3500}
    assert asked["hardware"] == {"gpus": ["h100-sxm", "l40s"], "max_gpus": 64}


def test_what_is_ticked_is_what_the_plan_may_pick_from() -> None:
    asked = plan_ask(values(tab_plan, plan_tp="1,2", plan_weights="fp8", spare="1", profile=ONE))
    assert asked["services"][0]["deployment"] == {"engine": "vllm", "tp": [1, 2], "weights": ["fp8"]}
    assert asked["fleet"] == {"spare_replicas": 1}
    assert asked["profile"] == {"job": ONE}


@pytest.mark.parametrize(
    ("given", "workload"),
    [
        ({"work": "sample"}, {"trace": {"sample": "azure-conv-2023"}}),
        ({"work": "trace", "trace": ONE}, {"trace": {"upload": ONE}}),
    ],
)
def test_a_workload_is_a_sample_or_an_upload(given: dict[str, str], workload: dict[str, Any]) -> None:
    assert plan_ask(values(tab_plan, **given))["services"][0]["workload"] == workload


FRONTIER: dict[str, Any] = {
    "seconds": [1.0, 2.0, 5.0, 10.0],
    "places": [None, {"x": 2.0, "y": 9.0}, {"x": 5.0, "y": 5.0}, {"x": 10.0, "y": 4.0}],
    "asked": 2,
    "spec": {"layer": [], "datasets": {"d0": [], "h0": []}},
}


@pytest.mark.parametrize(("held", "place"), [("", 2), ("2", 1), ("9", 3), ("0.1", 1)])
def test_the_handle_is_at_the_limit_that_can_be_kept_and_is_nearest(held: str, place: int) -> None:
    assert plan_answer.held_place(FRONTIER, held) == place


def test_a_limit_that_was_asked_and_cannot_be_kept_is_not_held() -> None:
    assert plan_answer.held_place({**FRONTIER, "asked": 0}, "") == 1


def test_the_chart_with_the_handle_leaves_the_plan_s_own_alone() -> None:
    assert plan_answer.with_handle(FRONTIER, 3)["datasets"]["h0"] == [{"x": 10.0, "y": 4.0}]
    assert FRONTIER["spec"]["datasets"]["h0"] == []


def test_a_limit_of_the_frontier_is_set_by_the_control_of_its_measure() -> None:
    asked = values(tab_plan, limit_on="ttft", patience="1", limit_on_2="itl", patience_2="40")
    e2e, itl = ({**FRONTIER, "measure": measure, "seconds": [0.05]} for measure in ("e2e_p95", "itl_p95"))
    assert plan_answer.control_at(itl, 0, asked, 1) == ("patience_2", "50")
    assert plan_answer.control_at(e2e, 0, asked, 1) == ("", ""), "nobody asked for it"


def test_boxes_are_ticked_and_not() -> None:
    assert ticked("", "+fp8") == "fp8"
    assert ticked("fp8,int4", "-fp8") == "int4"
    assert ticked("fp8", "+fp8") == "fp8"


def test_measured_files_are_named_by_their_numbers() -> None:
    given = values(tab_measured, results=f"{ONE},{OTHER}", compared="1", log=ONE, gpu="l40s")
    measure, compare, calibrate = (
        ask(given) for ask in (measured_answer.measure_ask, measured_answer.compare_ask, measured_answer.calibrate_ask)
    )
    MeasureAsk.model_validate(measure), CompareAsk.model_validate(compare), CalibrateAsk.model_validate(calibrate)
    assert measure["results"] == [{"upload": ONE}, {"upload": OTHER}]
    assert compare["a"] == {"upload": OTHER}
    assert compare["deployment"] == {"model": "meta-llama/Llama-3.1-8B", "gpu": "l40s", "tp": 1}
    assert calibrate["log"] == {"upload": ONE}


def test_what_results_state_alike_is_offered_to_the_form() -> None:
    """A served name that the catalogue does not have, and what only one file says, are not."""
    one: dict[str, Any] = {"deployment": {"model": "fake", "gpu": "H100", "tp": 2, "weights": "fp8", "kv_dtype": "odd"}}
    other: dict[str, Any] = {"deployment": {"tp": 4, "weights": "fp8"}}
    assert measured_answer.stated([one]) == {"gpu": "h100-sxm", "tp": "2", "weights": "fp8"}
    assert measured_answer.stated([one, other]) == {"gpu": "h100-sxm", "weights": "fp8"}


@pytest.mark.parametrize("text", ["x", "../../etc/passwd", f"{ONE},{OTHER}", ONE + "a"])
def test_an_address_names_a_job_by_its_number_alone(text: str) -> None:
    with pytest.raises(BadInput, match="profile"):
        identities("profile", 1)(text)


def test_what_the_server_says_of_an_upload_is_its_number_or_why_not() -> None:
    assert number_of("a.csv", json.dumps({"upload": ONE})) == ONE
    with pytest.raises(BadInput, match="at most 5 bytes"):
        number_of("a.csv", json.dumps({"error": {"field": "file", "allowed": "at most 5 bytes"}}))
    with pytest.raises(BadInput, match=r"a\.csv"):
        number_of("a.csv", "<html>")
    with pytest.raises(BadInput, match="Nothing came back"):
        number_of("a.csv", "")


def test_files_are_put_away_and_a_profile_is_no_longer_used() -> None:
    state = State(tab_measured.KEYS)
    for number in (ONE, OTHER):
        take(state, "results", "a.json", json.dumps({"upload": number}), several=True)
    assert state["results"] == f"{ONE},{OTHER}"
    assert put_away(state, "drop-results", ONE)
    assert state["results"] == OTHER
    state.set("profile", ONE)
    assert put_away(state, "forget-profile", "")
    assert state["profile"] == ""
    assert not put_away(state, "compare", "")


def test_an_upload_that_failed_is_said_at_its_input() -> None:
    with pytest.raises(BadInput) as caught:
        take(State(tab_measured.KEYS), "log", "a.log", json.dumps({"error": {"allowed": "at most 5 bytes"}}))
    assert (caught.value.field, caught.value.allowed) == ("log", "at most 5 bytes")
