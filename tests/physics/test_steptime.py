"""Step times worked by hand, on a card of round numbers: it reads 1 TB/s and computes 100 TFLOPS in 16 bits."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.physics.steptime import (
    Amounts,
    StepTable,
    chosen_share,
    chunk_count,
    grid,
    overlap_shares,
    overlapped,
    rates,
    roofline,
    stacked,
)
from made_steps import AMOUNTS, EXPERTS, IDEAL, MOST_BANDWIDTH, table


def test_the_grid_is_dense_enough_and_holds_nothing_and_one() -> None:
    points = grid()
    assert points[:2].tolist() == [0.0, 1.0]
    assert points[-1] == 131_072
    assert points[2:] / points[1:-1] == pytest.approx(2 ** (1 / 3))
    with pytest.raises(ValueError, match="read-only"):
        points[0] = 1.0


def test_a_table_is_interpolated_and_goes_straight_on() -> None:
    # 1 ms and 2 us a token
    plain = table(token_s=2e-6, linear_s=1e-3)
    assert plain.linear([0, 1, 1.5, 1000, 131_072]) == pytest.approx([1e-3, 1.002e-3, 1.003e-3, 3e-3, 263.144e-3])
    assert plain.linear(200_000) == pytest.approx(401e-3)


def test_between_two_points_a_table_takes_their_line() -> None:
    # the points at 1 and 2^(1/3) = 1.26 tokens are 1 and 2 s: half way between them 1.5 s
    bent = replace(table(), linear_s=np.concatenate(([0.0, 1.0, 2.0], np.full(len(grid()) - 3, 2.0))))
    assert bent.linear((1 + 2 ** (1 / 3)) / 2) == pytest.approx(1.5)
    assert bent.linear([0.5, 5000]) == pytest.approx([0.5, 2.0])


def test_reading_and_computing_overlap_in_part() -> None:
    # (1^1.5 + 1^1.5)^(1/1.5) = 2^(2/3) = 1.587: between the longer and the sum
    assert overlapped(1.0, 1.0) == pytest.approx(1.5874, rel=1e-4)
    assert overlapped(1.0, 0.0) == 1.0
    # 1 and 4: 1 of 1 + 8 parts
    assert overlap_shares(1.0, 4.0) == pytest.approx(1 / 9)


@given(st.floats(1e-6, 10), st.floats(1e-6, 10))
def test_overlapped_times_lie_between_the_longer_and_the_sum(reading: float, computing: float) -> None:
    both = float(overlapped(reading, computing))
    assert max(reading, computing) <= both * (1 + 1e-12) <= (reading + computing) * (1 + 1e-9)


def test_a_step_reads_the_weights_once_for_the_whole_batch() -> None:
    # 8 GB at 1 TB/s: 8 ms, however many share the step; computing a token is 8 GFLOP / 100 TFLOPS = 80 us
    found = rates(AMOUNTS, IDEAL)
    assert AMOUNTS.dense_bytes * found.weight_byte_s == pytest.approx(8e-3)
    assert found.token_s == pytest.approx(80e-6)
    alone, many = roofline(AMOUNTS, IDEAL).linear([1, 16])
    # one token: (8^1.5 + 0.08^1.5)^(2/3) = 8.005 ms; sixteen: (8^1.5 + 1.28^1.5)^(2/3) = 8.337 ms
    assert (alone, many) == pytest.approx((8.0053e-3, 8.3369e-3), rel=1e-3)


def test_a_decode_step_by_hand() -> None:
    # 1 ms + 100 tokens x 10 us + 4 x (1 GB x 2 ps/B + 50 us), if each of 4 sequences has 25 tokens in the step
    step = table(linear_s=1e-3, token_s=10e-6, kv_byte_s=2e-12, sequence_s=50e-6)
    assert step.decode_s(4, 1e9, 25) == pytest.approx(2e-3 + 4 * 2.05e-3)
    assert step.decode_s(4, 1e9) == pytest.approx(1.04e-3 + 4 * 2.05e-3)


def test_there_is_a_sequence_in_every_step() -> None:
    step = table(linear_s=1e-3, sequence_s=50e-6)
    assert step.decode_s(0.2, 0) == pytest.approx(step.decode_s(1, 0)) == pytest.approx(1.05e-3)


def test_a_prompt_pays_for_what_it_adds_to_the_steps_that_it_shares() -> None:
    # 1,000 tokens x 2 us, 50 us for its sequence, 1,000^2 / 2 pairs x 1 ns, 3 ms more for a step with prefill
    step = table(linear_s=9e-3, token_s=2e-6, sequence_s=50e-6, area_s=1e-9, prefill_step_s=3e-3)
    assert step.prefill_s(1000, 8192, 7.0) == pytest.approx(2e-3 + 50e-6 + 0.5e-3 + 3e-3)


def test_a_long_prompt_goes_in_chunks() -> None:
    assert chunk_count([1, 100, 101, 1000], 100).tolist() == [1, 1, 2, 10]
    step = table(token_s=2e-6, prefill_step_s=3e-3)
    assert step.prefill_s(1000, 100) == pytest.approx(2e-3 + 10 * 3e-3)


def test_prompts_that_go_together_share_what_a_step_with_prefill_costs() -> None:
    step = table(token_s=2e-6, prefill_step_s=3e-3)
    assert step.prefill_s(1000, 8192, 0.0, 4.0) == pytest.approx(2e-3 + 3e-3 / 4)


def test_separate_prefill_pays_for_whole_steps() -> None:
    # 9 ms + 1,000 x 2 us + 1 ms of its own, whatever decodes meanwhile
    step = table(linear_s=9e-3, token_s=2e-6, fixed_s=1e-3, separate=1.0)
    assert step.prefill_s(1000, 8192, 500.0) == pytest.approx(12e-3)


def test_a_burst_takes_whole_steps_on_any_engine() -> None:
    # four prompts in a step of 9 ms + 4,000 x 2 us + 1 ms = 18 ms: 4.5 ms each
    step = table(linear_s=9e-3, token_s=2e-6, fixed_s=1e-3)
    assert step.burst_s(1000, 8192, 4.0) == pytest.approx(4.5e-3)


def test_slowed_slows_all_and_keeps_the_kind_of_prefill() -> None:
    step = table(linear_s=9e-3, token_s=2e-6, kv_byte_s=1e-12, fixed_s=1e-3, separate=1.0)
    slow = step.slowed(1.5)
    assert slow.decode_s(3, 1e9) == pytest.approx(1.5 * step.decode_s(3, 1e9))
    assert slow.prefill_s(1000, 100) == pytest.approx(1.5 * step.prefill_s(1000, 100))
    assert slow.separate_prefill == 1.0


def test_a_small_batch_reads_few_experts() -> None:
    # 4 of 64 experts a token: one 4 / 64; two 1 - (60 / 64)^2 = 0.1211; 64 tokens 1 - 0.9375^64 = 0.984
    assert chosen_share(4 / 64, np.array([1, 2, 64])) == pytest.approx([0.0625, 0.1211, 0.9839], rel=1e-3)
    assert EXPERTS.weight_bytes(1.0) == pytest.approx(1e9 + 9e9 / 16)
    # two groups of data parallelism choose twice as many for the same tokens each
    assert replace(EXPERTS, expert_groups=2.0).weight_bytes(1.0) == pytest.approx(1e9 + 9e9 * 0.12109375)


def test_experts_are_read_at_their_own_speed() -> None:
    # nothing to compute: 1 GB at 1 TB/s and 9 / 16 GB at half of it
    found = roofline(replace(EXPERTS, flops_16bit=0.0), replace(IDEAL, experts=0.5))
    assert found.linear(1) == pytest.approx(1e-3 + 2 * 0.5625e-3)


def test_bytes_are_never_read_faster_than_memory_gives_them() -> None:
    # an H100's copy kernels reach 92 to 94 %; a profile that says more is cut off
    found = rates(AMOUNTS, replace(IDEAL, bandwidth=2.0, kv=3.0))
    assert found.weight_byte_s == pytest.approx(1 / 1e12)
    assert found.kv_byte_s == pytest.approx(MOST_BANDWIDTH / 1e12)


def test_types_are_multiplied_at_their_own_peaks() -> None:
    # 8 GFLOP: 2 in 16 bits at 100, 4 in 8 bits at 200, 2 in 4 bits at 400 TFLOPS; compute reaches half
    mixed = replace(AMOUNTS, flops_16bit=2e9, flops_8bit=4e9, flops_4bit=2e9)
    found = rates(mixed, replace(IDEAL, compute=0.5))
    assert found.token_s == pytest.approx((2e9 / 100e12 + 4e9 / 200e12 + 2e9 / 400e12) / 0.5)
    widened = rates(mixed, replace(IDEAL, compute=0.5, compute_widened=0.5))
    assert widened.token_s == pytest.approx((2 * 2e9 / 100e12 + 4e9 / 200e12 + 2e9 / 400e12) / 0.5)
    # a share of the 8-bit peak cannot go above it
    assert rates(mixed, replace(IDEAL, compute_8bit=1.5)).token_s == pytest.approx(45e-6)


def test_an_all_reduce_sends_a_ring_and_waits_by_its_kind_of_link() -> None:
    # 4 ranks: 2 x 3 / 4 of 1 MB at 100 GB/s = 15 us a token; 20 all-reduces of log2(4) x 5 us = 200 us
    shared = replace(AMOUNTS, tp=4.0, sum_bytes=1e6, nvlink=1.0)
    found = rates(shared, replace(IDEAL, sum_s=5e-6))
    assert (found.sent_token_s, found.sums_s) == pytest.approx((15e-6, 200e-6))
    # over PCIe 3 hops instead of 2 doublings
    assert rates(replace(shared, nvlink=0.0), replace(IDEAL, sum_s=5e-6)).sums_s == pytest.approx(300e-6)
    alone = rates(AMOUNTS, replace(IDEAL, sum_s=5e-6))
    assert (alone.sent_token_s, alone.sums_s) == (0.0, 0.0)


def test_experts_of_several_groups_cost_an_exchange_a_layer() -> None:
    # 10 MoE layers, there and back: 20 x 5 us
    spread = replace(EXPERTS, exchange_ranks=8.0, exchange_bytes=1e6)
    found = rates(spread, replace(IDEAL, sum_s=5e-6, link=0.5))
    assert (found.sums_s, found.sent_token_s) == pytest.approx((100e-6, 20e-6))


def test_decoding_absorbed_latents_is_bound_by_their_operations() -> None:
    # 400 operations for a byte at 100 TFLOPS: 4 ps, where reading it takes 1
    found = rates(replace(AMOUNTS, kv_byte_flops=400.0), IDEAL)
    assert found.kv_byte_s == pytest.approx(4e-12)


def test_layers_and_sequences_cost_what_the_engine_takes() -> None:
    # 1 ms + 10 layers x 20 us, 10 MoE layers x 5 us more; eager, each layer its launches as in a prefill
    costs = replace(IDEAL, fixed_s=1e-3, layer_s=20e-6, moe_layer_s=5e-6, sequence_s=30e-6, prefill_layer_s=40e-6)
    graphs, eager = roofline(EXPERTS, costs), roofline(replace(EXPERTS, eager=1.0), costs)
    assert (graphs.fixed_s, graphs.prefill_step_s) == pytest.approx((1.25e-3, 400e-6))
    assert (eager.fixed_s, eager.prefill_step_s) == pytest.approx((1.65e-3, 0.0))
    # the head of 1 GFLOP takes 10 us a sequence
    assert graphs.per_sequence_s == pytest.approx(40e-6)


def test_prefill_attention_is_counted_in_pairs() -> None:
    # 1 MFLOP a pair at half of 100 TFLOPS
    assert roofline(AMOUNTS, replace(IDEAL, attention=0.5)).per_area_s == pytest.approx(20e-9)


def test_a_stack_is_its_tables_one_by_one() -> None:
    several = [AMOUNTS, EXPERTS, replace(AMOUNTS, tp=2.0, sum_bytes=1e5, dense_bytes=4e9)]
    found = [replace(IDEAL, fixed_s=1e-3 * n, separate_prefill=float(n % 2)) for n in range(3)]
    single = [roofline(amounts, reached) for amounts, reached in zip(several, found, strict=True)]
    together = roofline(_columns(several), _columns(found))
    for stack in (together, stacked(single)):
        for tokens in (0.0, 1.0, 3.3, 500.0, 300_000.0):
            asked = np.full(3, tokens)
            assert stack.linear(asked) == pytest.approx([float(one.linear(tokens)) for one in single])
            assert stack.decode_s(asked, 1e8) == pytest.approx([float(one.decode_s(tokens, 1e8)) for one in single])
            assert stack.prefill_s(asked + 1, 512, 9.0, 2.0) == pytest.approx(
                [float(one.prefill_s(tokens + 1, 512, 9.0, 2.0)) for one in single]
            )


def _columns(rows: list[Any]) -> Any:
    """One value of the same kind, with an array in each field."""
    return type(rows[0])(*(np.array([getattr(row, f.name) for row in rows]) for f in fields(rows[0])))


@given(
    st.sampled_from([AMOUNTS, EXPERTS]),
    st.floats(0, 2000),
    st.floats(0, 500),
    st.integers(1, 50_000),
    st.integers(0, 5_000),
)
def test_more_in_a_step_is_never_faster(work: Amounts, running: float, more: float, prompt: int, longer: int) -> None:
    made: StepTable = roofline(work, IDEAL)
    assert made.decode_s(running + more, 1e8) >= made.decode_s(running, 1e8) * (1 - 1e-12)
    assert made.linear(prompt + longer) >= made.linear(prompt) * (1 - 1e-12)
    assert made.prefill_s(prompt + longer, 8192, running) >= made.prefill_s(prompt, 8192, running) * (1 - 1e-9)
