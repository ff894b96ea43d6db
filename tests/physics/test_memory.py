"""The memory question end to end, against figures that anyone can check by hand."""

from __future__ import annotations

import pytest

from bide.facts.deployment import Deployment
from bide.facts.kv_formats import kv_format
from bide.facts.layers import FullAttention, LatentAttention, total_cost
from bide.facts.model import Model, Tensor
from bide.facts.models import load_model
from bide.physics.cautions import cautions
from bide.physics.memory import memory_of
from bide.physics.memory_dict import memory_dict
from bide.units import GB, GIB

POOL = 53 * GB


def made_of_heads(layers: int, kv_heads: int, head_dim: int, parameters: int = 0) -> Model:
    """A decoder of plain attention; all its parameters in one matrix."""
    group = FullAttention(tuple(range(layers)), kv_heads, head_dim, head_dim)
    tensors = (Tensor("mlp", "model.all", parameters, 1, linear=False, dtype="fp8"),) if parameters else ()
    return Model("hand made", "llama", 4096, layers, 64, 32000, "fp16", (group,), tensors, max_context_tokens=131072)


def with_pool(model: str | Model, **knobs: object) -> Deployment:
    return Deployment.resolve({"model": model, "pool_bytes_per_gpu": POOL, "max_model_len": 131072, **knobs})


@pytest.mark.parametrize(
    ("name", "bytes_per_token"),
    [
        # 2 x 32 layers x 8 heads x 128 x 2 B
        ("llama-3-8b", 131_072),
        # 32 KV heads: four times that
        ("llama-2-7b", 524_288),
        # 61 layers x (512 + 64) x 2 B: one latent, not doubled
        ("deepseek-v3", 70_272),
    ],
)
def test_cache_bytes_per_token(name: str, bytes_per_token: int) -> None:
    model = load_model(name)
    assert total_cost(model.groups, kv_format("auto", model), 1).growing_bytes_per_token == bytes_per_token


def test_llama_3_8b_holds_a_gib_at_8k_and_16_gib_at_128k() -> None:
    memory = memory_of(with_pool("llama-3.1-8b"))
    assert memory.fit(8192).request_bytes == GIB
    assert memory.fit(131072).request_bytes == 16 * GIB


def test_sixty_layers_of_eight_heads_keep_half_a_gigabyte_for_2000_tokens() -> None:
    # 2 x 60 x 8 x 128 x 2 B = 245,760 B; x 2,000 = 491,520,000 B = 0.49 GB
    memory = memory_of(with_pool(made_of_heads(60, 8, 128)))
    assert memory.kv.model.growing_bytes_per_token == 245_760
    assert memory.fit(2000).request_bytes == 491_520_000  # 2,000 is 125 whole blocks


def test_at_batch_72_the_cache_of_2000_tokens_outweighs_35_gb_of_weights() -> None:
    # 35e9 parameters x 1 B = 35 GB; 35e9 / 491,520,000 = 71.2
    memory = memory_of(with_pool(made_of_heads(60, 8, 128, parameters=35 * 10**9)))
    weights_bytes = memory.weights.size_bytes
    each = memory.fit(2000).request_bytes
    assert weights_bytes == 35 * GB
    assert 71 * each < weights_bytes < 72 * each
    assert 100 * each == pytest.approx(49e9, rel=0.01)


def test_a_53_gb_pool_of_an_8b_holds_400k_tokens() -> None:
    # 53e9 / 131,072 = 404,358
    tokens = memory_of(with_pool("llama-3.1-8b")).pool.tokens
    assert tokens == pytest.approx(404_000, rel=0.01)
    assert memory_of(with_pool("llama-3.1-8b", kv_dtype="fp8")).pool.tokens == pytest.approx(808_000, rel=0.01)


@pytest.mark.parametrize(("context", "requests"), [(2048, 197), (8192, 49), (32768, 12), (131072, 3)])
def test_requests_at_once_in_a_53_gb_pool(context: int, requests: int) -> None:
    # 53e9 / 131,072 = 404,358 tokens; / 2,048 = 197.4, / 8,192 = 49.4, / 32,768 = 12.3, / 131,072 = 3.08
    assert int(memory_of(with_pool("llama-3.1-8b")).fit(context).requests) == requests


def test_multi_head_attention_holds_a_quarter_of_that() -> None:
    # 53e9 / (524,288 x 8,192) = 12.3
    assert int(memory_of(with_pool("llama-2-7b")).fit(8192).requests) == 12


def test_a_mean_of_1500_tokens_lets_about_270_requests_in() -> None:
    # 1,500 tokens are 94 blocks of 16: 53e9 / (94 x 16 x 131,072) = 268.9
    assert memory_of(with_pool("llama-3.1-8b")).fit(1500).requests == pytest.approx(270, rel=0.01)


@pytest.mark.parametrize("gpu", ["h100-sxm", "h200-sxm", "l40s", "mi300x", "rtx-4090"])
def test_the_ledger_sums_to_the_card(gpu: str) -> None:
    memory = memory_of(Deployment.resolve({"model": "qwen3-8b", "gpu": gpu}))
    ledger = memory.ledger.to_dict()
    total = ledger.pop("total_bytes")
    assert sum(ledger.values()) == total


def test_the_interval_holds_the_likely_pool() -> None:
    memory = memory_of(Deployment.resolve({"model": "qwen3-8b", "gpu": "h100-sxm"}))
    low, mid, high = (pool.tokens for pool in memory.pools)
    assert low < mid < high


def test_a_model_that_does_not_fit_has_no_pool() -> None:
    assert not memory_of(Deployment.resolve({"model": "llama-3.1-70b", "gpu": "h100-sxm"})).fits


def test_a_latent_cache_is_said_to_be_copied_over_tp() -> None:
    deployment = Deployment.resolve({"model": "deepseek-v3", "gpu": "h200-sxm", "tp": 8})
    assert any("copied to every tensor-parallel rank" in text for text in cautions(memory_of(deployment)))


def test_a_replica_holds_what_all_its_groups_hold() -> None:
    deployment = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm", "dp": 4})
    (found,) = memory_dict(memory_of(deployment), (8192,))["concurrency"]  # type: ignore[misc]
    assert found["replica_requests"] == 4 * found["requests"]


def test_windows_are_said_to_make_printed_tokens_no_capacity() -> None:
    deployment = Deployment.resolve({"model": "gemma-3-27b-it", "gpu": "h100-sxm"})
    assert any("not a capacity" in text for text in cautions(memory_of(deployment)))


def test_a_group_of_latents_is_not_divided_by_tp() -> None:
    group = LatentAttention((0,), 512, 64)
    kv = kv_format("bf16", load_model("deepseek-v3"))
    assert group.cost(kv, 8) == group.cost(kv, 1)
