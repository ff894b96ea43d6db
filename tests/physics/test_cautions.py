"""What an engine would refuse is said beside the arithmetic."""

from __future__ import annotations

import pytest

from bide.facts.deployment import Deployment
from bide.physics.cautions import cautions, speed_cautions
from bide.physics.memory import Memory, memory_of
from bide.units import GB


def memory(**raw: object) -> Memory:
    return memory_of(Deployment.resolve({"model": "llama-3.1-8b", "pool_bytes_per_gpu": 4 * GB, **raw}))


def test_a_longest_context_that_the_pool_cannot_hold_once_says_what_it_holds() -> None:
    # 4e9 / (16 x 131,072) = 1,907 blocks of 16 = 30,512 tokens
    (text,) = (text for text in cautions(memory()) if "will not start" in text)
    assert "16 GiB" in text
    assert "--max-model-len 30512" in text
    assert not any("will not start" in text for text in cautions(memory(max_model_len=30_512)))


def test_contexts_above_the_longest_are_arithmetic_alone() -> None:
    small = memory(max_model_len=8192)
    assert any("above max_model_len = 8,192" in text for text in cautions(small, (2048, 8193)))
    assert not any("above max_model_len" in text for text in cautions(small, (2048, 8192)))


def test_drafts_without_draft_layers_are_not_counted() -> None:
    assert any("draft model" in text for text in cautions(memory(speculative_tokens=3)))
    assert not any("draft model" in text for text in cautions(memory(model="deepseek-v3", speculative_tokens=1)))


@pytest.mark.parametrize("knobs", [{"kv_dtype": "fp8"}, {"weights": "fp8"}])
def test_fp8_on_a_card_without_it_is_said(knobs: dict[str, object]) -> None:
    volta = memory(gpu="v100-32g-sxm2", **knobs)
    assert any("no kernels for fp8" in text for text in cautions(volta))
    assert not any("no kernels for fp8" in text for text in cautions(memory(gpu="h100-sxm", **knobs)))


def test_fp8_of_the_checkpoint_itself_is_looked_at_too() -> None:
    assert said("no kernels for fp8", model="deepseek-v3", gpu="v100-32g-sxm2", tp=16)
    assert said("no kernels for fp8", gpu="mi250x", weights="fp8")  # CDNA 2 does not multiply fp8
    assert not said("no kernels for fp8", model="deepseek-v3", gpu="mi300x", tp=8)
    assert not said("no kernels for fp8", gpu="mi250x")


def test_a_given_pool_beside_weights_that_leave_no_room_for_it_is_said() -> None:
    crowded = memory(model="llama-3.1-70b", gpu="h100-sxm", pool_bytes_per_gpu=53 * GB)
    assert any("more than it holds" in text for text in cautions(crowded))


def said(text: str, **raw: object) -> bool:
    return any(text in caution for caution in cautions(memory(**raw)))


@pytest.mark.parametrize(
    "raw",
    [
        {"model": "mistral-7b", "tp": 2},  # all layers are windows: nothing grows, and each rank has 4 of 8 heads
        {"model": "deepseek-v3", "engine": "sglang", "tp": 8, "dp": 8},  # each rank has requests of its own
        {"model": "llama-3.1-8b", "tp": 8},
        {"model": "deepseek-v3", "tp": 1},
    ],
)
def test_a_cache_that_is_divided_is_not_called_copied(raw: dict[str, object]) -> None:
    assert not said("copied to every", **raw)
    assert not said("keep copies", **raw)


def test_more_ranks_than_kv_heads_keep_copies() -> None:
    # 4 KV heads: 8 ranks have one each, twice over
    assert said("tp 8 divides the cache by 4", model="qwen3-30b-a3b", tp=8)
    assert not said("keep copies", model="qwen3-30b-a3b", tp=4)
    # windows likewise: 8 heads over 16 ranks
    assert said("tp 16 divides the cache by 8", model="mistral-7b", tp=16)


def test_int8_activations_on_blackwell_are_refused() -> None:
    assert said("no kernels for int8", gpu="b200-sxm", weights="int8")
    assert not said("no kernels for int8", gpu="a100-80g-sxm", weights="int8")
    assert not said("no kernels for int8", gpu="b200-sxm", weights="int4")


def test_a_layer_over_more_gpus_than_a_link_joins_is_said_beside_its_times() -> None:
    def apart(**raw: object) -> bool:
        return any("of which 8 share a fast link" in text for text in speed_cautions(memory(gpu="h100-sxm", **raw)))

    assert apart(tp=16)
    assert apart(model="deepseek-v3", dp=16, ep=16)
    assert not apart(tp=8, pp=2)
    assert not apart(dp=16)  # dense replicas say nothing to each other
