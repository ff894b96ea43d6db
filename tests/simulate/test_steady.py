import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.metrics import LATENCIES, e2e_s, latency_s, summary, ttft_s
from bide.physics.steptime import StepTable
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
    table = StepTable(np.array([1.0, 2.0]), np.array([token_s, 2 * token_s]), kv_s, 0.0, 0.0, fixed_s)
    return Replica(table, work, 1.0, slots, slots, budget_tokens=10_000)


def test_nobody_waits_on_an_idle_replica() -> None:
    # no prefill; 11 tokens at 10 ms: the step under way half over (5 ms), the first step, ten more
    table = replica(workload(100, 11), fixed_s=0.01).requests(1e-3)
    assert table is not None
    assert ttft_s(table) == pytest.approx(0.015)
    assert e2e_s(table) == pytest.approx(0.115)


def test_littles_law_closes() -> None:
    # 100 steps of 10 ms (and half a one): 20 requests/s x 1.005 s = 20.1 running
    steady = replica(workload(100, 100), fixed_s=0.01).at(20.0)
    assert steady is not None
    assert steady.running_requests == pytest.approx(20.1, rel=0.01)
    assert steady.tpot_s == pytest.approx(0.01)


def test_the_highest_stable_rate_by_hand() -> None:
    # a full batch of 50 takes 10 ms + 50 x 1 ms = 60 ms a step; 50 / (100.5 steps x 60 ms) = 8.29 requests/s
    assert replica(workload(100, 100), fixed_s=0.01, kv_s=1e-3, slots=50).highest_stable_rate == pytest.approx(
        50 / (100.5 * 0.06), rel=1e-6
    )


def test_prefill_slows_decoding_by_its_share_of_the_time() -> None:
    # 1000 tokens x 0.1 ms = 0.1 s a prompt (less the one token that an empty step has); 5 requests/s: half the time
    steady = replica(workload(1000, 100), token_s=1e-4, fixed_s=0.01).at(5.0)
    assert steady is not None
    assert steady.prefill_share == pytest.approx(0.5, abs=0.01)
    assert steady.tpot_s == pytest.approx(2 * steady.decode_step_s, rel=0.02)


def test_the_prefill_queue_is_an_m_d_1_queue() -> None:
    # Pollaczek-Khinchine: mean wait = rho x service / (2 (1 - rho)); rho 0.5, service 0.1 s: 50 ms
    table = replica(workload(1000, 2), token_s=1e-4).requests(5.0)
    assert table is not None
    service = summary(ttft_s(table), 1)  # nobody ahead
    assert summary(ttft_s(table), None) - service == pytest.approx(0.05, rel=0.1)


def test_slots_make_a_queue_of_their_own() -> None:
    # 10 slots held 1.005 s each at 9 requests/s are 90 % busy: some wait; with 1000 slots nobody does
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


@given(st.floats(0.02, 0.97), st.floats(0.0, 0.5), st.integers(1, 3000), st.integers(1, 300), st.integers(1, 60))
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
        if latency != "tpot":
            assert (after >= before - 1e-9).all()
        assert np.isnan(before).all() or summary(after, 95) >= summary(before, 95) - 1e-9
