from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bide.metrics import LATENCIES, e2e_s, latency_s, summary, ttft_s
from bide.physics.steptime import StepTable, grid, stacked
from bide.simulate.loops import Replicas, open_loop
from bide.simulate.steady import Replica
from bide.sourced import Source
from bide.workload.arrivals import poisson_gaps
from bide.workload.requests import Workload


def workload(prompt: int, output: int, count: int = 20_000) -> Workload:
    gaps = poisson_gaps(count)
    return Workload(np.full(count, prompt), np.full(count, output), gaps, Source("by hand", kind="given"))


def replica(
    work: Workload, *, token_s: float = 0.0, fixed_s: float = 0.0, kv_s: float = 0.0, slots: int = 1000
) -> Replica:
    """`token_s` a scheduled token, `fixed_s` a step, `kv_s` a running request and step."""
    table = StepTable(grid() * token_s, kv_s, 0.0, 0.0, fixed_s)
    return Replica(table, work, 1.0, slots, slots, budget_tokens=10_000)


def alike(one: Replica) -> Replicas:
    """The same for the closed forms, its requests being all alike."""
    work = one.workload
    names = ("kv_bytes", "slots", "batches", "budget_tokens", "request_s")
    column = {name: np.array([float(getattr(one, name))]) for name in names}
    column |= {name: np.array([float(getattr(work, name)[0])]) for name in ("prompt_tokens", "output_tokens")}
    column |= {name: np.ones(1) for name in ("tokens_each", "tokens_got", "bunching_scale", "bunching_power", "burst")}
    return Replicas(table=stacked([one.table]), **column)


def test_nobody_waits_on_an_idle_replica() -> None:
    # no prefill, no step under way; 11 tokens at 10 ms
    table = replica(workload(100, 11), fixed_s=0.01).requests(1e-3)
    assert table is not None
    assert ttft_s(table) == pytest.approx(0.01, rel=1e-3)
    assert e2e_s(table) == pytest.approx(0.11, rel=1e-3)


def test_littles_law_closes() -> None:
    # 100 steps of 10 ms: 20 requests/s x 1 s = 20 running
    steady = replica(workload(100, 100), fixed_s=0.01).at(20.0)
    assert steady is not None
    assert steady.running_requests == pytest.approx(20.0, rel=0.01)
    assert steady.tpot_s == pytest.approx(0.01)


def test_the_highest_stable_rate_by_hand() -> None:
    # of a full batch of 50 one in 100 prefills: 10 ms + 49.5 x 1 ms a step; 50 / (100 x 59.5 ms) = 8.40 requests/s
    assert replica(workload(100, 100), fixed_s=0.01, kv_s=1e-3, slots=50).highest_stable_rate == pytest.approx(
        50 / (100 * 0.0595), rel=1e-6
    )


def test_prefill_slows_decoding_by_its_share_of_the_time() -> None:
    # 1000 tokens x 0.1 ms = 0.1 s a prompt; 5 requests/s: half the time
    steady = replica(workload(1000, 100), token_s=1e-4, fixed_s=0.01).at(5.0)
    assert steady is not None
    assert steady.prefill_share == pytest.approx(0.5, rel=1e-6)
    assert steady.tpot_s == pytest.approx(2 * steady.decode_step_s, rel=0.02)


def test_the_prefill_queue_is_an_m_d_1_queue() -> None:
    # Pollaczek-Khinchine: mean wait = rho x service / (2 (1 - rho)); rho 0.5, service 0.1 s: 50 ms
    table = replica(workload(1000, 2), token_s=1e-4).requests(5.0)
    assert table is not None
    service = summary(ttft_s(table), 1)  # nobody ahead
    assert summary(ttft_s(table), None) - service == pytest.approx(0.05, rel=0.1)


def test_slots_make_a_queue_of_their_own() -> None:
    # 10 slots held 1 s each at 9 requests/s are 90 % busy: some wait; with 1000 slots nobody does
    few, many = (replica(workload(1, 100), fixed_s=0.01, slots=slots).requests(9.0) for slots in (10, 1000))
    assert few is not None
    assert many is not None
    assert summary(e2e_s(many), 99) == pytest.approx(1.005, rel=0.01)
    assert summary(e2e_s(few), 95) > 1.2


def test_an_unstable_load_has_no_times() -> None:
    full = replica(workload(100, 100), fixed_s=0.01, kv_s=1e-3, slots=50)
    assert full.at(full.highest_stable_rate) is None
    assert full.requests(2 * full.highest_stable_rate) is None
    assert full.at(0.99 * full.highest_stable_rate) is not None


def test_a_pool_that_holds_nothing_serves_nothing() -> None:
    empty = Replica(replica(workload(1, 2)).table, workload(1, 2), 1.0, 0.4, 1000, 10_000)
    assert empty.slots == 0
    assert empty.highest_stable_rate == 0
    assert empty.requests(1e-9) is None


def test_requests_that_are_alike_have_the_means_of_the_closed_form() -> None:
    one = replica(workload(1000, 100), token_s=2e-5, fixed_s=5e-3, kv_s=2e-4, slots=64)
    assert one.highest_stable_rate == pytest.approx(float(alike(one).highest_rate[0]), rel=1e-9)
    for share in (0.1, 0.5, 0.9):
        rate = share * one.highest_stable_rate
        steady, means = one.at(rate), open_loop(alike(one), np.array([rate]))
        assert steady is not None
        assert steady.running_requests == pytest.approx(float(means.running[0]), rel=0.02)
        assert steady.tpot_s == pytest.approx(float(means.tpot_s[0]), rel=0.03)


def test_a_step_holds_no_more_prompts_than_its_budget() -> None:
    # prompts of 10,000 tokens go one a step of 50 ms and computing costs nothing: steps make the queue
    one = replica(workload(10_000, 2), fixed_s=0.05, slots=1000)
    assert one.highest_stable_rate == pytest.approx(20.0, rel=0.05)
    few, many = (one.requests(share * one.highest_stable_rate) for share in (0.5, 0.95))
    assert few is not None
    assert many is not None
    # an M/D/1 queue with a service of 50 ms: 25 ms at half the load, half a second at 95 %
    assert summary(ttft_s(few), None) == pytest.approx(0.05 + 0.025 + 0.025, rel=0.2)
    assert summary(ttft_s(many), None) > 0.3


def test_two_groups_carry_twice_as_much_at_the_same_pace() -> None:
    # each has half of the running requests and half of the prompts: nothing changes but the rate
    one = replica(workload(1000, 100), token_s=2e-5, fixed_s=5e-3, kv_s=2e-4, slots=64)
    two = replace(one, batches=2, pool_requests=128, most_requests=128)
    assert two.highest_stable_rate == pytest.approx(2 * one.highest_stable_rate, rel=1e-6)
    alone, both = one.at(2.0), two.at(4.0)
    assert alone is not None
    assert both is not None
    assert both.running_requests == pytest.approx(2 * alone.running_requests, rel=0.02)
    assert both.tpot_s == pytest.approx(alone.tpot_s, rel=0.02)
    table = two.requests(1e-3)
    assert table is not None
    # nobody else is there: the step that 1,000 tokens of 20 us go with
    step_s = 5e-3 + 2e-4 + 2e-5
    assert summary(ttft_s(table), None) == pytest.approx(step_s + 1000 * 2e-5, rel=0.01)


def test_prompts_with_steps_of_their_own_hold_up_everybody() -> None:
    # a prompt of 1,000 tokens: a step of 10 ms and 1,000 x 20 us = 30 ms, none of it shared with a decode step
    shared = replica(workload(1000, 11), token_s=2e-5, fixed_s=0.01)
    own = replace(shared, table=replace(shared.table, separate_prefill=1.0))
    table = own.requests(1e-3)
    assert table is not None
    step_s = 0.01 + 2e-5
    assert summary(ttft_s(table), None) == pytest.approx(0.03, rel=0.01)
    assert summary(e2e_s(table), None) == pytest.approx(0.03 + 10 * step_s, rel=0.01)


@given(st.floats(0.02, 0.97), st.floats(0.0, 0.5), st.integers(1, 3000), st.integers(1, 300), st.integers(1, 60))
@example(0.96875, 0.5, 1365, 3, 26)
def test_more_load_is_never_faster_for_anyone(share: float, more: float, prompt: int, output: int, slots: int) -> None:
    rng = np.random.default_rng(prompt)
    work = workload(prompt, output, 300)
    spread = Workload(rng.integers(1, prompt + 1, 300), rng.integers(1, output + 1, 300), work.gaps, work.source)
    one = replica(spread, token_s=2e-5, fixed_s=5e-3, kv_s=2e-4, slots=slots)
    slow = one.requests(share * one.highest_stable_rate)
    fast = one.requests(min(share + more, 0.98) * one.highest_stable_rate)
    assert slow is not None
    assert fast is not None
    for latency in LATENCIES:
        before, after = latency_s(slow, latency), latency_s(fast, latency)
        if latency != "tpot":  # but for the last ones, whose ends lie beyond the traffic that is played
            assert (after >= before - 1e-9).mean() >= 0.999
        assert np.isnan(before).all() or summary(after, 95) >= summary(before, 95) - 1e-9
