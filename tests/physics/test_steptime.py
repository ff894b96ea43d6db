from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.physics.steptime import FAST, LIKELY, SLOW, Efficiencies, StepTable, StepWork, assumed, chunk_count, roofline

IDEAL = Efficiencies(1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
# 8 GB of weights on a card of 1 TB/s and 100 TFLOPS: 8 ms to read, and 4e9 parameters x 2 / 100e12 = 80 us a token
DENSE = StepWork(8e9, 0.0, 0, 0, 8e9, 0.0, 0.0, 10, 0.0, 1e12, 100e12, 1e11)
# 1 GB always read, and 64 experts of 9 GB in all, of which a token takes 4
EXPERTS = replace(DENSE, dense_bytes=1e9, expert_bytes=9e9, experts=64, experts_per_token=4, flops_per_token=3e9)


def test_a_step_reads_the_weights_once_until_computing_takes_longer() -> None:
    table = roofline(DENSE, IDEAL, 8192)
    assert table.linear([1, 50, 100]) == pytest.approx([8e-3, 8e-3, 8e-3])
    assert table.linear([200, 1000, 40_000]) == pytest.approx([16e-3, 80e-3, 3.2])


def test_a_decode_step_by_hand() -> None:
    # 10 layers x 100 us + 8 ms / 0.8 + 4 x (1 GB / (0.8 TB/s) + 50 us) = 1 + 10 + 4 x (1.25 + 0.05) = 16.2 ms
    table = roofline(DENSE, Efficiencies(0.8, 1.0, 100e-6, 30e-6, 50e-6, 0.0), 8192)
    assert table.decode_s(4, 1e9) == pytest.approx(16.2e-3)


def test_a_prompt_that_fits_under_the_reading_costs_nothing_more() -> None:
    table = roofline(DENSE, IDEAL, 8192)
    assert table.prefill_s(50, 8192) == pytest.approx(0.0)
    # beside 60 decodes 50 tokens make 110, 10 above the 100 that reading hides: 10 x 80 us
    assert table.prefill_s(50, 8192, 60) == pytest.approx(800e-6)


def test_a_long_prompt_goes_in_chunks_and_attends_to_itself() -> None:
    table = StepTable(np.array([1.0, 2.0]), np.array([1e-3, 2e-3]), 0.0, 0.0, 1e-9, 0.0)
    assert chunk_count([1, 100, 101, 1000], 100).tolist() == [1, 1, 2, 10]
    # 1 ms a token: 1000 tokens in 10 chunks beside 5 decodes, and 1000^2 / 2 pairs of 1 ns
    assert table.prefill_s(1000, 100, 5.0) == pytest.approx(1.0 + 5e-4)


def test_a_small_batch_reads_few_experts() -> None:
    # 4 of 64 experts for a token: 1 + 9 x 4 / 64 = 1.5625 GB; two tokens 9 x (1 - (60/64)^2) = 1.090 GB
    assert EXPERTS.weight_bytes(1) == pytest.approx(1.5625e9)
    assert EXPERTS.weight_bytes(2) == pytest.approx(2.0898e9, rel=1e-4)
    assert EXPERTS.weight_bytes(10_000) == pytest.approx(10e9)


def test_tensor_parallelism_pays_for_its_sums() -> None:
    alone, shared = roofline(DENSE, LIKELY, 8192), roofline(replace(DENSE, link_bytes_per_token=1e6), LIKELY, 8192)
    assert shared.fixed_s - alone.fixed_s == pytest.approx(10 * LIKELY.parallel_layer_s)
    assert shared.linear(1000) - alone.linear(1000) == pytest.approx(1000 * 1e6 / 1e11)


@given(
    st.sampled_from([DENSE, EXPERTS]),
    st.floats(0, 2000),
    st.floats(0, 500),
    st.integers(1, 50_000),
    st.integers(0, 5_000),
)
def test_more_in_a_step_is_never_faster(work: StepWork, running: float, more: float, prompt: int, longer: int) -> None:
    table = roofline(work, LIKELY, 8192)
    assert table.decode_s(running + more, 1e8) >= table.decode_s(running, 1e8)
    assert table.prefill_s(prompt, 8192, running + more) >= table.prefill_s(prompt, 8192, running) * (1 - 1e-9)
    assert table.linear(prompt + longer) >= table.linear(prompt)


@given(st.sampled_from([DENSE, EXPERTS]), st.floats(0, 2000), st.integers(1, 50_000))
def test_the_fast_and_slow_ends_enclose_the_likely_table(work: StepWork, running: float, prompt: int) -> None:
    fast, likely, slow = (roofline(work, end, 8192) for end in (FAST, LIKELY, SLOW))
    assert fast.decode_s(running, 1e8) <= likely.decode_s(running, 1e8) <= slow.decode_s(running, 1e8)
    assert fast.linear(prompt) <= likely.linear(prompt) <= slow.linear(prompt)


# TPOT at batch 1 over weights / tp / bandwidth of Llama-3-8B in bf16, from public measurements (AccelMark, Argonne
# LLM-Inference-Bench, InferenceX): GPU's bandwidth, bf16 peak, tp, measured ratio.
MEASURED = [
    (300e9, 121e12, 1, 1.2),
    (1008e9, 165e12, 1, 1.35),
    (2039e9, 312e12, 1, 1.5),
    (3350e9, 989e12, 1, 1.75),
    (5300e9, 1307e12, 1, 2.0),
    (4800e9, 989e12, 1, 2.2),
    (3350e9, 989e12, 2, 2.7),
    (3350e9, 989e12, 4, 4.5),
]


@pytest.mark.parametrize(("bandwidth", "peak", "tp", "measured"), MEASURED)
def test_decode_of_an_8b_model_is_near_what_was_measured(
    bandwidth: float, peak: float, tp: int, measured: float
) -> None:
    # 32 layers of 218.1 M parameters and a head of 525.3 M are read; the weights are 16.06 GB
    linear, head = 32 * 218_112_000, 128_256 * 4096
    link = 2 * 32 * 4096 * 2 * 2 * (tp - 1) / tp
    work = StepWork(
        2 * (linear + head) / tp, 0, 0, 0, 2 * linear / tp, 2 * head / tp, 0, 32, link, bandwidth, peak, 450e9
    )
    fast, likely, slow = (
        float(roofline(work, end, 8192).decode_s(1, 0)) / (16.06e9 / tp / bandwidth) for end in (FAST, LIKELY, SLOW)
    )
    assert fast < measured < slow
    assert likely == pytest.approx(measured, rel=0.15)


def test_the_efficiencies_are_named_assumptions_with_their_range() -> None:
    said = {assumption.name: assumption.value for assumption in assumed()}
    assert said["memory bandwidth reached"] == "83% (70% to 92%)"
    assert said["overhead of a layer"] == "80 us (30 to 130)"
