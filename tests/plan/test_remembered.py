"""What was simulated once is not simulated again in this process, whoever asks; and only where it is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bide.plan import capacity, trial
from bide.plan.as_dict import plan_dict
from bide.plan.remembered import forget
from bide.plan.search import plan
from bide.plan.service_file import read_question
from made_plans import ONE_CANDIDATE


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    forget()
    yield
    forget()


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The rates of all runs of one replica."""
    rates: list[float] = []
    watch = trial.watch

    def counted(*args: Any) -> Any:
        rates.append(args[3])
        return watch(*args)

    monkeypatch.setattr(capacity, "watch", counted)
    return rates


def fixed(content: dict[str, Any]) -> None:
    content["services"][0]["deployment"] = ONE_CANDIDATE


def test_the_same_question_is_answered_alike_with_runs_of_what_ifs_alone(
    write: Callable[..., Path], simulated: list[float]
) -> None:
    first = plan(read_question(write(fixed)))
    made = len(simulated)
    assert len(set(simulated)) > 5
    again = plan(read_question(write(fixed)))
    assert len(simulated) - made < made / 4  # replicas with faster steps or a larger pool are not kept
    one, other = plan_dict(first), plan_dict(again)
    for answer in (one, other):
        for service in answer["services"]:
            service["tried"].pop("seconds")
    assert one == other


def test_another_patience_asks_only_what_was_not_asked(write: Callable[..., Path], simulated: list[float]) -> None:
    question = read_question(write(fixed))
    plan(question)
    alone = len(simulated)
    service = question.services[0]
    limits = tuple(replace(limit, seconds=limit.seconds * 0.9) for limit in service.patience)
    tighter = replace(question, services=(replace(service, patience=limits),))
    plan(tighter)
    both = len(simulated)
    forget()
    plan(tighter)
    assert both - alone < 0.7 * (len(simulated) - both)


def test_another_deployment_or_workload_is_not_the_same(write: Callable[..., Path], simulated: list[float]) -> None:
    def changed(content: dict[str, Any]) -> None:
        fixed(content)
        content["services"][0]["workload"]["lengths"]["output"]["p50"] = 151

    def fewer_at_once(content: dict[str, Any]) -> None:
        content["services"][0]["deployment"] = {**ONE_CANDIDATE, "max_num_seqs": 64}

    for change in (fixed, changed, fewer_at_once):
        before = len(simulated)
        plan(read_question(write(change)))
        assert len(simulated) > before
