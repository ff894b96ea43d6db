"""The closed loop: a server whose step time is known, measured by our client, must give its coefficients back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from bide import metrics
from planted_law import LAW, step_errors

if TYPE_CHECKING:
    from planted_loop import Loop


@pytest.mark.parametrize("name", ["fixed_s", "per_token_s", "per_kv_token_s", "per_sequence_s"])
def test_each_coefficient_comes_back_within_a_twentieth(loop: Loop, name: str) -> None:
    assert getattr(loop.law, name) == pytest.approx(getattr(LAW, name), rel=0.05)


def test_what_is_outside_the_steps_is_a_few_milliseconds_of_http(loop: Loop) -> None:
    assert 0 <= loop.law.request_s < LAW.fixed_s


def test_steps_of_an_unseen_load_are_predicted_within_a_twentieth(loop: Loop) -> None:
    errors = step_errors(loop.law, loop.steps)
    assert len(errors) > 100
    assert max(errors) < 0.05


def test_the_planned_load_keeps_the_patience_that_was_promised(loop: Loop) -> None:
    (limit,) = loop.option.candidate.service.patience
    measured = metrics.summary(metrics.latency_s(loop.cell.table, "e2e"), 95)
    promised = loop.option.reading.seconds[limit.measure]
    assert promised is not None
    assert promised.mid <= limit.seconds
    assert measured <= limit.seconds


def test_the_plan_does_not_buy_twice_what_is_needed(loop: Loop) -> None:
    """The patience is kept by promise, not by idling: the replica works for most of the time."""
    busy_s = sum(step["seconds"] for step in loop.steps)
    span_s = float(np.nanmax(loop.cell.table.last_token_s) - np.nanmin(loop.cell.table.arrival_s))
    assert busy_s > 0.5 * span_s
