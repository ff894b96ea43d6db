"""Amounts, speeds and step tables of round numbers, so that tests do not depend on what was calibrated."""

from __future__ import annotations

from dataclasses import replace

from bide.physics.reached import ROLES, Reached
from bide.physics.steptime import Amounts, StepTable, grid

MOST_BANDWIDTH = 0.95
"""The share of the bandwidth that no profile gets beyond."""

AMOUNTS = Amounts(
    dense_bytes=8e9,
    expert_bytes=0.0,
    expert_share=0.0,
    expert_groups=1.0,
    flops_16bit=8e9,
    flops_8bit=0.0,
    flops_4bit=0.0,
    head_flops=1e9,
    pair_flops=1e6,
    kv_byte_flops=0.0,
    layers=10.0,
    moe_layers=0.0,
    sum_bytes=0.0,
    exchange_bytes=0.0,
    tp=1.0,
    exchange_ranks=1.0,
    nvlink=1.0,
    eager=0.0,
    peak_16bit=100e12,
    peak_8bit=200e12,
    peak_4bit=400e12,
    bandwidth_bytes_per_s=1e12 / MOST_BANDWIDTH,
    link_bytes_per_s=100e9,
)
"""8 GB of weights and 8 GFLOP a token on a card of 100 TFLOPS that reads 1 TB/s at most."""

EXPERTS = replace(AMOUNTS, dense_bytes=1e9, expert_bytes=9e9, expert_share=4 / 64, flops_16bit=3e9, moe_layers=10.0)
"""1 GB that every step reads, and 64 experts of 9 GB in all, of which a token takes 4."""

_NOTHING = ("burst", "separate_prefill")
IDEAL = Reached(
    **{name: 0.0 if name.endswith("_s") or name in _NOTHING else 1.0 for name in ROLES} | {"bandwidth": MOST_BANDWIDTH}
)
"""All of the peaks is reached, and nothing else takes time."""


def table(
    *,
    linear_s: float = 0.0,
    token_s: float = 0.0,
    kv_byte_s: float = 0.0,
    sequence_s: float = 0.0,
    area_s: float = 0.0,
    fixed_s: float = 0.0,
    prefill_step_s: float = 0.0,
    separate: float = 0.0,
) -> StepTable:
    """`linear_s` for every step's linear layers and `token_s` for each token in it."""
    return StepTable(
        linear_s=linear_s + token_s * grid(),
        per_kv_byte_s=kv_byte_s,
        per_sequence_s=sequence_s,
        per_area_s=area_s,
        fixed_s=fixed_s,
        prefill_step_s=prefill_step_s,
        separate_prefill=separate,
    )
