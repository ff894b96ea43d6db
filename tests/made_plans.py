"""A plan that is made once, of one candidate, and stands in for every plan that a command makes."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from bide.plan.answer import Plan, ServicePlan
from bide.plan.question import Question
from bide.plan.search import plan
from bide.plan.service_file import read_question
from plan_inputs import FILE, LLAMA

ONE_CANDIDATE = {"tp": 1, "weights": "auto", "kv_dtype": "auto", "max_num_batched_tokens": 8192, "max_num_seqs": 256}


@cache
def made_plan() -> Plan:
    """Of the service file of `plan_inputs`, with everything about the deployment fixed."""
    content: dict[str, Any] = copy.deepcopy(FILE)
    content["services"][0]["deployment"] = ONE_CANDIDATE
    with TemporaryDirectory() as folder:
        (Path(folder) / "llama.json").write_text(json.dumps(LLAMA), encoding="utf-8")
        path = Path(folder) / "service.yaml"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return plan(read_question(path))


def answered(question: Question, _profile: Path | None = None) -> Plan:
    """That plan as the answer to `question`; none at all where the patience is below 10 ms."""
    known = made_plan()
    services = tuple(_service(known.services[0], asked) for asked in question.services)
    return replace(known, question=question, services=services)


def _service(known: ServicePlan, asked: Any) -> ServicePlan:
    if any(limit.seconds < 0.01 for limit in asked.patience):
        return ServicePlan(asked, None, (), (), ())
    return replace(known, service=asked)


@pytest.fixture
def quick_plans(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """Commands get `answered` as their plan; the questions that they ask are collected."""
    asked: list[Question] = []

    def made(question: Question, profile: Path | None, one_of_several: bool = False) -> Plan:
        asked.append(question)
        return answered(question, profile)

    monkeypatch.setattr("bide.cli.plan_making.made", made)
    return asked
