"""Clients that leave before they have their answer. Random cases of it are in `test_agreement`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from bide.simulate.scheduler.config import CacheGroup, SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.outcome import Outcome
from bide.simulate.scheduler.reference.run import Run
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate
from drawn_schedules import compare, draw

Play = Callable[[SchedulerConfig, StepCost, Requests, Sequence[tuple[float, int]]], Outcome]


def _reference(
    config: SchedulerConfig, cost: StepCost, requests: Requests, aborts: Sequence[tuple[float, int]]
) -> Outcome:
    return Run(config, cost, requests, aborts).outcome()


def _kernel(
    config: SchedulerConfig, cost: StepCost, requests: Requests, aborts: Sequence[tuple[float, int]]
) -> Outcome:
    return simulate(config, cost, requests, aborts=aborts)


def _one_seat(asynchronous: bool) -> SchedulerConfig:
    return SchedulerConfig(
        num_blocks=64,
        groups=(CacheGroup("full", 4),),
        max_model_len=64,
        max_num_seqs=1,
        max_num_batched_tokens=64,
        enable_prefix_caching=False,
        async_scheduling=asynchronous,
    )


_A_SECOND_A_STEP = StepCost.affine(1.0, 0.0, 0.0, 0.0, 64)


@pytest.mark.parametrize("play", [_reference, _kernel])
@pytest.mark.parametrize(("asynchronous", "b_ends_s"), [(False, 3.0), (True, 4.0)])
def test_who_leaves_frees_the_seat_and_the_token_under_way_is_lost(
    play: Play, asynchronous: bool, b_ends_s: float
) -> None:
    # One seat, a second a step. A (10 tokens) leaves at 1.5 s: the step of its second token ends at 2 s, and then it is
    # taken out. C leaves while it waits. B gets the seat at 2 s; with async scheduling a step of A's is under way
    # then, from 2 to 3 s, for nothing.
    requests = Requests.of([0.0, 0.0, 0.0], [4, 4, 4], [10, 1, 1])
    made = play(_one_seat(asynchronous), _A_SECOND_A_STEP, requests, [(1.5, 0), (0.5, 2)])
    assert made.output_tokens.tolist() == [2, 1, 0]
    assert made.finish_s[1] == b_ends_s
    assert np.isnan(made.finish_s[[0, 2]]).all()
    assert np.isnan(made.first_scheduled_s[2])


@pytest.mark.parametrize("play", [_reference, _kernel])
def test_who_has_the_answer_cannot_leave(play: Play) -> None:
    requests = Requests.of([0.0, 0.0], [4, 4], [1, 1])
    made = play(_one_seat(False), _A_SECOND_A_STEP, requests, [(1.5, 0), (5.0, 1)])
    assert made.finish_s.tolist() == [1.0, 2.0]


def test_nobody_leaves_before_they_came() -> None:
    with pytest.raises(ValueError, match="none before the request arrives"):
        simulate(_one_seat(False), _A_SECOND_A_STEP, Requests.of([0.0, 9.0], [4, 4], [1, 1]), aborts=[(2.0, 1)])


@pytest.mark.parametrize("play", [_reference, _kernel])
def test_a_first_token_that_was_under_way_never_came(play: Play) -> None:
    # Planned at 0 s together with the first, B's prompt runs from 1 to 2 s; its client leaves at 0.5 s, and B with the
    # plan made at 1 s.
    config = replace(_one_seat(True), max_num_seqs=2, max_num_batched_tokens=8, enable_chunked_prefill=True)
    made = play(config, _A_SECOND_A_STEP, Requests.of([0.0, 0.0], [8, 4], [5, 3]), [(0.5, 1)])
    assert np.isnan(made.first_token_s[1])
    assert made.output_tokens.tolist() == [5, 0]


def test_who_leaves_an_engine_where_nobody_can_go_on_lets_the_next_one_in() -> None:
    # The head of the queue does not fit beside what is held back, and nothing runs: until its client leaves at 0.203 s,
    # long after the last arrival, no step is planned; those behind it start then, not earlier.
    made = compare(draw(801762))
    assert made.difference is None
    assert min(record.start_s for record in made.records[16:]) >= 0.2027


def test_a_blocked_engine_wakes_when_a_client_leaves_and_not_only_at_the_next_arrival() -> None:
    # The head leaves at 0.464 s, the next arrival comes at 0.553 s: those that waited start at 0.464 s.
    made = compare(draw(6522))
    assert made.difference is None
    assert made.records[0].start_s == pytest.approx(0.464442, abs=1e-6)
