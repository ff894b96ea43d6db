"""What a plan says of a replica that was benchmarked."""

from __future__ import annotations

import re

import pytest

from bide.plan.answer import Plan
from bide.plan.as_dict import plan_dict
from bide.plan.search import plan
from bide.report.plan_markdown import plan_markdown
from bide.report.plan_text import plan_text
from made_measured import Make, question
from made_plans import ONE_CANDIDATE
from plan_inputs import write

__all__ = ["question", "write"]
_made: dict[str, Plan] = {}


@pytest.fixture
def made(question: Make) -> Plan:
    """Of the one candidate that was measured; made once."""
    if not _made:
        _made["plan"] = plan(question(deployment=ONE_CANDIDATE))
    return _made["plan"]


def said(made: Plan) -> str:
    return re.sub(r"\s+", " ", plan_text(made))


def test_the_answer_is_of_the_measured_rate(made: Plan) -> None:
    # TTFT p95 of 1 s is kept up to 5.5 requests/s (see tests/plan/test_measured_replica.py): 18 take 4
    chosen = made.services[0].chosen
    assert chosen is not None
    assert (chosen.gpus, chosen.gpus_surely) == (4, 4)
    assert "18 requests/s take 4 replicas: 4 GPUs." in said(made)


def test_it_says_what_was_measured_and_that_nothing_was_simulated(made: Plan) -> None:
    text = said(made)
    assert "Measured, not simulated: 3 loads, 2 to 8 requests/s (at-2.csv, at-4.csv and at-8.csv)." in text
    assert "It keeps the patience up to 5.4" in text
    assert "The fleet was not simulated whole" in text
    assert "The times of chat are measured, not predicted" in text
    assert "predictions of a model" not in text
    assert "What was measured is the only candidate: nothing was simulated." in text


def test_every_load_is_a_line_with_its_verdict(made: Plan) -> None:
    lines = [
        line for line in plan_text(made).splitlines() if re.match(r"\s+[248]\s+(yes|no)\s+\S+\s+\S+ m?s \(up to", line)
    ]
    assert [line.split()[:2] for line in lines] == [["2", "yes"], ["4", "yes"], ["8", "no"]]


def test_only_the_load_and_the_patience_move_what_was_measured(made: Plan) -> None:
    assert {swing.input for swing in made.services[0].swings} == {"load", "patience"}
    assert {line.way for line in made.services[0].doublings} == {"replicas"}


def test_json_and_markdown_have_it_too(made: Plan) -> None:
    option = plan_dict(made)["services"][0]["chosen"]
    assert option["measured"]["results"] == ["at-2.csv", "at-4.csv", "at-8.csv"]
    assert [round(load["requests_per_s"], 1) for load in option["measured"]["loads"]] == [2.0, 4.0, 8.0]
    assert "Measured, not simulated" in plan_markdown(made)
