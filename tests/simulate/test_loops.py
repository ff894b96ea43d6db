"""Steady states of replicas whose steps are round numbers."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.physics.steptime import StepTable, stacked
from bide.simulate.loops import States, batch_run, closed_loop, open_loop
from bide.simulate.pace import Replicas
from made_steps import table

# 10 ms a step and 100 us for each sequence in it; a prompt token 10 us
PLAIN = table(linear_s=10e-3, token_s=10e-6, sequence_s=90e-6)


def replicas(step: StepTable | list[StepTable] = PLAIN, **changes: float | list[float]) -> Replicas:
    """One replica a table, serving requests of 1,000 tokens that answer with 101, 50 at once."""
    tables = step if isinstance(step, list) else [step]
    values: dict[str, float | list[float]] = {
        "kv_bytes": 0.0,
        "prompt_tokens": 1000.0,
        "output_tokens": 101.0,
        "slots": 50.0,
        "batches": 1.0,
        "budget_tokens": 8192.0,
        "tokens_each": 1.0,
        "tokens_got": 1.0,
        "request_s": 0.0,
        "burst": 0.0,
        "bunching_scale": 1.0,
        "bunching_power": 2.0,
        **changes,
    }
    columns = {
        name: np.broadcast_to(np.asarray(value, dtype=np.float64), (len(tables),)) for name, value in values.items()
    }
    return Replicas(table=stacked(tables), **columns)


def closed(clients: float, **changes: float) -> States:
    return closed_loop(replicas(**changes), np.array([clients]))  # type: ignore[arg-type]


def opened(rate: float, **changes: float) -> States:
    return open_loop(replicas(**changes), np.array([rate]))  # type: ignore[arg-type]


def batch(count: float, **changes: float) -> States:
    return batch_run(replicas(**changes), np.array([count]))  # type: ignore[arg-type]


def test_one_client_meets_nobody() -> None:
    # a step that decodes one sequence: 10 ms + 10 us + 90 us = 10.1 ms; the prompt adds 1,000 x 10 us + 90 us
    found = closed(1)
    assert found.decode_s == pytest.approx(10.1e-3)
    assert found.tpot_s == pytest.approx(10.1e-3)
    assert found.ttft_s == pytest.approx(10.1e-3 + 10.09e-3)
    assert found.e2e_s == pytest.approx(20.19e-3 + 100 * 10.1e-3)
    assert found.requests_per_s == pytest.approx(1 / 1.03019)
    assert found.waiting == 0


def test_clients_slow_each_other_by_their_sequences_and_prompts() -> None:
    # 11 clients: of 101 steps each prefills in one, so 10.89 decode: 10 ms + 10.89 x 0.1 ms = 11.089 ms. Ten others'
    # prompts of 10.09 ms fall to 100 tokens: 1.009 ms more.
    found = closed(11)
    assert found.decode_s == pytest.approx(10e-3 + 11 * 100 / 101 * 1e-4)
    assert found.others_s == pytest.approx(10 * 10.09e-3 / 100)
    # a cycle: 11 x 10.09 ms + 101 x 11.089 ms = 1.231 s for 11 requests
    assert found.requests_per_s == pytest.approx(11 / (11 * 10.09e-3 + 101 * 11.0891e-3), rel=1e-4)


def test_littles_law_of_a_closed_loop() -> None:
    """clients = rate x time in system: at once for one, and within the step that was under way for more."""
    assert closed(1, request_s=0.02).requests_per_s * closed(1, request_s=0.02).e2e_s == pytest.approx(1.0)
    for clients in (2.0, 11.0, 50.0, 200.0):
        found = closed(clients, request_s=0.02)
        most_s = 0.5 * (float(found.decode_s[0]) + float(found.own_prefill_s[0]))
        in_system = found.requests_per_s * found.e2e_s
        assert clients <= in_system * (1 + 1e-9) <= (clients + most_s * found.requests_per_s) * (1 + 1e-6)
        assert found.running + found.waiting == pytest.approx(clients)


def test_clients_beyond_the_slots_wait_for_one() -> None:
    # 50 run as if alone; each of the 150 others waits 150 / rate
    full, crowded = closed(50), closed(200)
    assert (crowded.running, crowded.waiting) == (50, 150)
    for name in ("requests_per_s", "tpot_s", "decode_s", "own_prefill_s"):
        assert getattr(crowded, name) == getattr(full, name)
    assert crowded.ttft_s - full.ttft_s == pytest.approx(150 / full.requests_per_s)
    assert crowded.queue_s - full.queue_s == pytest.approx(150 / full.requests_per_s)


def test_prompts_fill_a_steps_budget_before_the_slots_do() -> None:
    """8 prompts of 1,000 go in a step of 8,192; answers of 2 tokens take 2 steps, so 16 run, and more prompts wait."""
    found = closed(40, output_tokens=2.0)
    places = 8.192 * 2
    assert found.running == pytest.approx(places)
    # each step holds 8,192 tokens of prompts and 8.192 decodes, and brings 8.192 requests to their end
    step_s = 10e-3 + 8192 * 10e-6 + 8.192 * (10e-6 + 90e-6) + 8.192 * 90e-6
    assert found.requests_per_s == pytest.approx(8.192 / step_s, rel=1e-6)
    # where prefills have steps of their own, the slots alone count
    apart = closed_loop(replicas(replace(PLAIN, separate_prefill=1.0), output_tokens=2.0), np.array([40.0]))
    assert apart.running == 40


def test_prompts_of_a_burst_delay_each_other_instead_of_decoding() -> None:
    # all in step: half of what ten others' prompts take moves from decoding to before the first token
    apart, together = closed(11), closed(11, burst=1.0)
    assert together.others_s == pytest.approx(apart.others_s / 2)
    assert together.ttft_s > apart.ttft_s
    assert together.requests_per_s == apart.requests_per_s


def test_an_open_loop_runs_what_littles_law_says() -> None:
    for rate in (0.1, 1.0, 5.0, 15.0):
        found = opened(rate)
        # time in system, the queue for prompts apart, is what the running requests take
        served_s = found.e2e_s - found.queue_s
        assert found.requests_per_s == pytest.approx(rate)
        assert found.running == pytest.approx(rate * served_s, rel=0.03)
        assert found.waiting < 1e-3


def test_one_place_is_a_queue_of_constant_service() -> None:
    # One place, held for S = running / rate: M/D/1 waits rho S / (2 (1 - rho)), rho = rate x S; before its own steps
    # begin a request waits as it does with room for all
    for rate in (0.2, 0.5, 0.7):
        found, roomy = opened(rate, slots=1.0), opened(rate)
        rho = float(found.running[0])
        wait_s = rho * (rho / rate) / (2 * (1 - rho))
        assert found.ttft_s - roomy.ttft_s == pytest.approx(wait_s, rel=0.02)
        assert found.waiting == pytest.approx(rate * wait_s)


def test_many_places_are_waited_for_only_when_nearly_full() -> None:
    highest = float(replicas().highest_rate[0])
    waits = [float(opened(share * highest).waiting[0]) for share in (0.5, 0.8, 0.95)]
    assert waits[0] < 0.01 < waits[1] < 1 < waits[2]


def test_an_idle_open_loop_is_as_fast_as_one_client() -> None:
    idle, alone = opened(1e-6), closed(1)
    for name in ("ttft_s", "tpot_s", "e2e_s"):
        assert getattr(idle, name) == pytest.approx(getattr(alone, name), rel=1e-4)


def test_the_highest_rate_is_that_of_a_full_replica() -> None:
    # a cycle of 50 prompts and 101 steps of 10 ms + 49.5 x 0.1 ms, and one prompt more: who arrives is the 51st
    cycle_s = 50 * 10.09e-3 + 101 * (10e-3 + 50 * 100 / 101 * 1e-4)
    highest = replicas().highest_rate
    assert highest == pytest.approx(50 / (cycle_s + 10.09e-3))
    assert opened(0.999 * float(highest[0])).running == pytest.approx(50, rel=0.01)


def test_beyond_it_the_queue_has_no_end() -> None:
    highest = float(replicas().highest_rate[0])
    found = opened(1.01 * highest)
    assert found.running == 50
    assert found.requests_per_s == pytest.approx(highest)
    assert np.isinf([found.ttft_s, found.e2e_s, found.queue_s, found.waiting]).all()
    assert np.isfinite(found.tpot_s)


def test_prompts_queue_as_at_one_server() -> None:
    """M/D/1: half the load is half the service more, counting what is left of the prompt under way."""
    # steps that cost nothing but 1 us a token, prompts of 100,000 that each fill one: 0.1 s
    bare = replicas(table(token_s=1e-6), prompt_tokens=1e5, budget_tokens=1e5, slots=1e6)
    for load in (0.2, 0.5, 0.8):
        found = open_loop(bare, np.array([load / 0.1]))
        assert found.queue_s == pytest.approx(load / (2 * (1 - load)) * 0.1, rel=0.02)


def test_a_batch_runs_in_waves() -> None:
    # 100 requests, 50 at once: two waves; the mean request ends after 1.5 of them
    one, two = batch(50), batch(100)
    wave_s = 50 * 10.09e-3 + 101 * (10e-3 + 50 * 100 / 101 * 1e-4)
    assert one.e2e_s == pytest.approx(wave_s)
    assert two.e2e_s == pytest.approx(1.5 * wave_s)
    assert one.requests_per_s == pytest.approx(50 / wave_s)
    assert two.requests_per_s == pytest.approx(50 / wave_s)
    assert (two.running, two.waiting) == (50, 50)
    assert two.ttft_s - one.ttft_s == pytest.approx(wave_s / 2)


def test_what_a_request_costs_outside_the_steps_is_paid_once_a_run() -> None:
    bare, paid = batch(100), batch(100, request_s=0.5)
    assert 100 / paid.requests_per_s - 100 / bare.requests_per_s == pytest.approx(0.5)
    assert paid.e2e_s - bare.e2e_s == pytest.approx(0.5)


def test_data_parallel_groups_and_pipeline_stages_share_the_requests() -> None:
    """Two batches of 25 take as long as one replica with 25 clients, and bring twice as much."""
    two, one = closed(50, batches=2.0), closed(25)
    assert two.decode_s == pytest.approx(one.decode_s)
    assert two.requests_per_s == pytest.approx(2 * one.requests_per_s)
    assert two.tpot_s == pytest.approx(one.tpot_s)
    alone = closed(1, batches=2.0)
    assert alone.requests_per_s == pytest.approx(closed(1).requests_per_s)


def test_drafts_save_steps() -> None:
    # 3 drafts are verified in a step of 4 tokens, of which 2.5 are kept: 40 steps of 10 ms + 4 x 10 us + 90 us
    found = closed(1, tokens_each=4.0, tokens_got=2.5)
    assert found.decode_s == pytest.approx(10.13e-3)
    assert found.tpot_s == pytest.approx(10.13e-3 / 2.5)
    assert found.requests_per_s == pytest.approx(1 / (10.09e-3 + 41 * 10.13e-3), rel=1e-6)


def test_an_answer_of_one_token_has_no_time_between_tokens_to_wait_for() -> None:
    found = closed(1, output_tokens=1.0)
    assert found.e2e_s == found.ttft_s


def test_a_long_prompt_shares_a_decode_step_for_each_chunk() -> None:
    # 4 chunks of 250: four steps of 10.1 ms beside what the 1,000 tokens add
    found = closed(1, budget_tokens=250.0)
    assert found.own_prefill_s == pytest.approx(4 * 10.1e-3 + 10.09e-3)


@given(
    st.lists(
        st.tuples(
            st.floats(1, 5000),
            st.floats(1, 2000),
            st.floats(1, 300),
            st.floats(1, 500),
            st.sampled_from([0.0, 1.0]),
            st.sampled_from([1.0, 2.0, 8.0]),
        ),
        min_size=2,
        max_size=5,
    )
)
def test_a_stack_is_its_replicas_one_by_one(rows: list[tuple[float, ...]]) -> None:
    prompt, output, slots, load, separate, batches = (list(column) for column in zip(*rows, strict=True))
    names = {"prompt_tokens": prompt, "output_tokens": output, "slots": slots, "batches": batches}
    tables = [replace(PLAIN, separate_prefill=kind) for kind in separate]
    stack = replicas(tables, **names)
    for solver, asked in ((closed_loop, load), (batch_run, load), (open_loop, [x / 100 for x in load])):
        whole = solver(stack, np.array(asked))
        for i, one in enumerate(tables):
            alone = solver(replicas([one], **{name: values[i] for name, values in names.items()}), np.array([asked[i]]))
            for field in fields(States):
                assert getattr(whole, field.name)[i] == pytest.approx(getattr(alone, field.name)[0], rel=1e-9)


def test_chosen_rows_are_those_of_the_stack() -> None:
    stack = replicas([PLAIN, PLAIN, PLAIN], slots=[10.0, 20.0, 30.0])
    assert stack.chosen(np.array([2, 0])).slots.tolist() == [30.0, 10.0]
    assert stack.chosen(np.array([1])).highest_rate == pytest.approx(stack.highest_rate[1:2])
