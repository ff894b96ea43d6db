"""What would let more requests in."""

from __future__ import annotations

import pytest

from bide.facts.deployment import Deployment
from bide.physics.memory import memory_of
from bide.plan.levers import Lever, levers


def found(context: int = 8192, mean: int | None = None, **raw: object) -> dict[str, Lever]:
    memory = memory_of(Deployment.resolve(raw))
    return {lever.id: lever for lever in levers(raw, memory, context, mean)}


def test_an_fp8_cache_doubles_the_requests() -> None:
    assert found(model="llama-3.1-8b", gpu="h100-sxm")["kv_fp8"].factor == pytest.approx(2, rel=0.01)


def test_fp8_levers_follow_what_the_engine_runs_on_the_card() -> None:
    # vLLM 0.33: fp8 weights from 7.5 (fp8.py get_min_capability), an fp8 cache from 8.0 (flashinfer.py)
    fp8 = {"kv_fp8", "weights_fp8"}
    assert fp8 & set(found(model="qwen3-4b", gpu="v100-32g-sxm2")) == set()  # 7.0
    assert fp8 & set(found(model="qwen3-4b", gpu="t4")) == {"weights_fp8"}  # 7.5
    assert fp8 & set(found(model="qwen3-4b", gpu="rtx-3090")) == fp8  # 8.6


def test_a_second_card_more_than_doubles_because_the_weights_are_shared() -> None:
    lever = found(model="llama-3.1-8b", gpu="h100-sxm")["tp"]
    assert lever.gpus == 2
    assert lever.factor is not None
    assert lever.factor > 2


def test_grouped_heads_are_offered_instead_of_llama_2() -> None:
    # 128 KiB a token instead of 512: four times the requests for the same pool
    lever = found(model="llama-2-7b", pool_bytes_per_gpu=53 * 10**9)["model"]
    assert lever.name == "meta-llama/Llama-3.1-8B"
    assert lever.factor == pytest.approx(4, rel=0.02)


def test_paging_by_the_mean_gives_context_over_mean() -> None:
    lever = found(context=8192, mean=2048, model="llama-3.1-8b", gpu="h100-sxm")["paged"]
    assert lever.factor == pytest.approx(4, rel=0.01)


def test_what_would_not_fit_says_so() -> None:
    lever = found(model="llama-3.1-70b", gpu="h100-sxm")["kv_fp8"]
    assert lever.requests is None
    assert "would not fit" in lever.note


def test_a_given_pool_moves_by_what_the_weights_save() -> None:
    # bf16 15.0 GiB -> fp8 8.5 GiB: 6.5 GiB more than the 49.4 GiB given
    lever = found(model="llama-3.1-8b", gpu="h100-sxm", pool_bytes_per_gpu=53 * 10**9)["weights_fp8"]
    assert lever.factor == pytest.approx((49.4 + 6.5) / 49.4, rel=0.01)


def test_without_a_card_only_levers_of_the_cache_are_offered() -> None:
    assert set(found(model="llama-3.1-8b", pool_bytes_per_gpu=53 * 10**9)) == {"kv_fp8", "model", "paged"}
