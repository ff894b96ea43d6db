"""The pool as a ledger: laws over random deployments, and what engines printed at start-up."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import served_models as served
from bide.facts.deployment import Deployment
from bide.facts.gpus import all_gpus
from bide.facts.model import Model
from bide.physics.overheads import capture_sizes, feed_forward_width
from bide.physics.pool import no_room, stage_pools
from bide.physics.pool_rules import Ledger, PoolSize, size_pool
from bide.units import GIB

Make = Callable[[], Model]
SWEEP = {"max_num_seqs": 1024, "max_num_batched_tokens": 8192, "gpu_memory_utilization": 0.95}


def sized(
    make: Make, weights_gib: float, total_gib: float, version: str, gpu: str = "h100-sxm", **knobs: object
) -> PoolSize:
    raw = {"model": make(), "gpu": gpu, "engine_version": version, **knobs}
    return size_pool(Deployment.resolve(raw), round(weights_gib * GIB), round(total_gib * GIB))


def parts_of(ledger: Ledger) -> int:
    return sum(ledger.to_dict().values()) - ledger.total_bytes


ENGINES = [
    ("vllm", "0.7.0"),
    ("vllm", "0.10.2"),
    ("vllm", "0.19.0"),
    ("vllm", "0.33.0"),
    ("sglang", None),
    ("trtllm", None),
]
KNOBS = st.fixed_dictionaries(
    {
        "gpu": st.sampled_from([gpu.id for gpu in all_gpus()]),
        "enforce_eager": st.booleans(),
        "tp": st.sampled_from([1, 2, 4]),
    }
)


@given(make=st.sampled_from(served.ALL), engine=st.sampled_from(ENGINES), knobs=KNOBS, weights_gib=st.floats(0.1, 300))
def test_the_ledger_sums_to_the_card(
    make: Make, engine: tuple[str, str | None], knobs: dict[str, object], weights_gib: float
) -> None:
    raw = {"model": make(), "engine": engine[0], "engine_version": engine[1], **knobs}
    deployment = Deployment.resolve(raw)
    assert deployment.gpu is not None
    size = size_pool(deployment, round(weights_gib * GIB), deployment.gpu.usable_bytes)
    assert parts_of(size.ledger) == size.ledger.total_bytes == deployment.gpu.usable_bytes
    assert size.interval_bytes.low <= size.pool_bytes <= size.interval_bytes.high
    assert all(
        value >= 0 for name, value in size.ledger.to_dict().items() if name not in ("pool_bytes", "unused_bytes")
    )


@given(lighter=st.floats(1, 60), heavier=st.floats(0, 10))
def test_heavier_weights_leave_as_much_less(lighter: float, heavier: float) -> None:
    light, heavy = (sized(served.qwen_3_8b, w, 79.19, "0.19.0") for w in (lighter, lighter + heavier))
    assert light.pool_bytes - heavy.pool_bytes == heavy.ledger.weights_bytes - light.ledger.weights_bytes


# Logs that print the terms: weights, card, activation peak, non-torch, KV in GiB. llm-d-planner's vLLM 0.19.0
# sweep on H100, but for the last: gpt-oss-20b on vLLM 0.11.0.
LOGS = [
    (served.qwen_3_8b, "0.19.0", {**SWEEP}, 15.27, 2.21, 0.25, 57.5),
    (served.gpt_oss_20b, "0.19.0", {**SWEEP, "tp": 2, "weights": "mxfp4"}, 7.01, 2.87, 2.07, 63.28),
    (served.gpt_oss_20b, "0.11.0", {"gpu_memory_utilization": 0.9, "weights": "mxfp4"}, 13.47, 7.38, 0.13, 50.28),
]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log[0].__name__}-{log[1]}")
def test_the_terms_are_those_of_the_logs(
    log: tuple[Make, str, dict[str, object], float, float, float, float],
) -> None:
    make, version, knobs, weights, activation, runtime, pool = log
    size = sized(make, weights, 79.19, version, **knobs)
    assert size.ledger.activation_bytes / GIB == pytest.approx(activation, abs=0.05)
    assert size.ledger.runtime_bytes / GIB == pytest.approx(runtime, abs=0.02)
    assert size.pool_bytes / GIB == pytest.approx(pool, rel=0.002)
    assert size.interval_bytes.low <= pool * GIB <= size.interval_bytes.high


def test_graphs_leave_the_pool_from_0_20() -> None:
    before, after = (sized(served.qwen_3_8b, 15, 79.19, v, gpu_memory_utilization=0.9) for v in ("0.19.0", "0.20.0"))
    assert before.ledger.unused_bytes + before.ledger.graph_bytes == pytest.approx(0.1 * 79.19 * GIB, rel=1e-6)
    assert before.pool_bytes - after.pool_bytes == after.ledger.graph_bytes > 0
    assert sized(served.qwen_3_8b, 15, 79.19, "0.20.0", enforce_eager=True).ledger.graph_bytes == 0


def test_stages_before_the_last_compute_no_logits() -> None:
    # 8,192 x (3 x 12,288 + 4.3 x 4,096) x 2 B = 0.83 GiB against 2.2 GiB with sampling
    deployment = Deployment.resolve(
        {"model": served.qwen_3_8b(), "gpu": "h100-sxm", "engine_version": "0.19.0", "pp": 2}
    )
    first, last = (size_pool(deployment, GIB, 79 * GIB, samples=samples) for samples in (False, True))
    assert first.ledger.activation_bytes / GIB == pytest.approx(0.83, abs=0.01)
    assert last.ledger.activation_bytes > 2 * first.ledger.activation_bytes


def test_sglang_shares_the_card_between_weights_and_pool() -> None:
    size = sized(served.qwen_3_8b, 15, 80, None, engine="sglang", gpu_memory_utilization=0.8)  # type: ignore[arg-type]
    free = 80 * GIB - size.ledger.runtime_bytes
    assert size.pool_bytes + size.ledger.weights_bytes == round(0.8 * free)


def test_tensorrt_llm_takes_a_share_of_what_is_free() -> None:
    size = sized(served.qwen_3_8b, 15, 80, None, engine="trtllm", gpu_memory_utilization=0.5)  # type: ignore[arg-type]
    assert size.pool_bytes == pytest.approx(size.ledger.unused_bytes, abs=1)


def test_capture_sizes_follow_the_batch() -> None:
    # 1, 2, 4, 8, 16, ... 128: 3 + 16
    assert capture_sizes(64) == 19


def test_more_sizes_are_captured_on_blackwell() -> None:
    # 1, 2, 4, 8 to 248 by 8, 256 to 1,024 by 16: 3 + 31 + 49 against 51 to 512
    graphs = {gpu: sized(served.qwen_3_8b, 15, 150, "0.33.0", gpu=gpu).terms.graphs for gpu in ("b200-sxm", "h200-sxm")}  # type: ignore[arg-type]
    assert "x 83 / 51" in graphs["b200-sxm"].how
    assert "x 51 / 51" in graphs["h200-sxm"].how


def test_a_routed_token_passes_its_own_experts() -> None:
    # 4 experts x (gate, up and their product of 14,336)
    assert feed_forward_width(served.gpt_oss_20b()) == 4 * 3 * 14_336
    assert feed_forward_width(served.llama_3_8b()) == 3 * 14_336


def test_a_given_pool_replaces_the_predicted_one() -> None:
    raw = {"model": served.qwen_3_8b(), "gpu": "h100-sxm", "pool_bytes_per_gpu": 53 * 10**9}
    size = stage_pools(Deployment.resolve(raw)).worst
    assert size.pool_bytes == size.interval_bytes.low == size.interval_bytes.high == 53 * 10**9
    assert parts_of(size.ledger) == size.ledger.total_bytes


def test_what_does_not_fit_says_what_is_missing_and_what_would() -> None:
    deployment = Deployment.resolve({"model": served.llama_3_8b(), "gpu": "t4", "gpu_memory_utilization": 0.4})
    pools = stage_pools(deployment)
    assert not pools.fits
    assert re.search(r"does not fit: .* of weights .* --tp \d+ would leave room", no_room(deployment, pools))
