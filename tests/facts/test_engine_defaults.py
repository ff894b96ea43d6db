"""Defaults that depend on the version, the card and the model: batches and SGLang's share."""

from __future__ import annotations

import pytest

from bide.facts.deployment import Deployment


@pytest.mark.parametrize(
    ("version", "gpu", "tp", "share"),
    [
        ("0.4.3", "h100-sxm", 8, 0.81),
        ("0.4.3", "h100-sxm", 1, 0.88),
        # 81,559 MiB less (9.5 + 0.5) GiB
        ("0.4.9", "h100-sxm", 1, 0.874),
        # 512 + 1.5 x 8,192 + 2 x 256 + 128 = 13,440 MiB
        ("0.5.5", "h100-sxm", 1, 0.835),
        # 24,564 MiB less 512 + 1.5 x 2,048 + 2 x 24 + 128 = 3,760 MiB
        ("0.5.5", "rtx-4090", 1, 0.847),
    ],
)
def test_sglang_reserves_by_version(version: str, gpu: str, tp: int, share: float) -> None:
    raw = {"model": "qwen3-8b", "gpu": gpu, "tp": tp, "engine": "sglang", "engine_version": version}
    assert Deployment.resolve(raw).gpu_memory_utilization == pytest.approx(share, abs=0.0006)


def test_sglang_leaves_less_beside_a_vision_tower() -> None:
    # 0.95 x (1 - 0.1 x (27 x 1,152^2 / (24 x 1,024^2) - 1)) = 0.95 x 0.9576
    raw = {"gpu": "h100-sxm", "engine": "sglang", "engine_version": "0.5.5"}
    shares = (Deployment.resolve({"model": m, **raw}).gpu_memory_utilization for m in ("qwen3-8b", "gemma-3-27b-it"))
    plain, seeing = shares
    assert seeing / plain == pytest.approx(0.95 * 0.9576, rel=0.001)


def test_v0_divides_only_the_prompts_of_long_contexts() -> None:
    raw = {"model": "llama-3.1-8b", "gpu": "rtx-3090", "engine_version": "0.6.4"}
    whole, divided = (Deployment.resolve({**raw, "max_model_len": n}).max_num_batched_tokens for n in (29_000, 35_000))
    assert (whole, divided) == (29_000, 2048)


@pytest.mark.parametrize(
    ("gpu", "version", "kv_dtype", "tokens"),
    [
        ("h200-sxm", "0.33.0", "auto", 16),  # FlashAttention's MLA
        ("h200-sxm", "0.33.0", "fp8", 64),  # which takes no fp8 cache: FlashMLA
        ("b200-sxm", "0.33.0", "fp8", 32),  # FlashInfer's
        ("rtx-pro-6000", "0.33.0", "auto", 16),  # Triton's
        ("mi300x", "0.33.0", "auto", 16),
        ("h200-sxm", "0.11.0", "auto", 64),
        ("a100-80g-sxm", "0.11.0", "auto", 16),
    ],
)
def test_blocks_of_mla_are_those_of_the_kernels_on_the_card(gpu: str, version: str, kv_dtype: str, tokens: int) -> None:
    raw = {"model": "deepseek-v3", "gpu": gpu, "tp": 8, "engine_version": version, "kv_dtype": kv_dtype}
    assert Deployment.resolve(raw).block_size == tokens


def test_sparse_mla_has_blocks_of_64_everywhere() -> None:
    for gpu in ("h200-sxm", "b200-sxm"):
        assert Deployment.resolve({"model": "deepseek-v3.2", "gpu": gpu, "tp": 8}).block_size == 64


def test_longrope_starts_unstretched() -> None:
    # Phi-4-mini: original_max_position_embeddings 4,096 of 131,072
    def length(**raw: object) -> Deployment:
        return Deployment.resolve({"model": "phi-4-mini-instruct", "gpu": "h100-sxm", **raw})

    assert length().max_model_len == 4096
    assert any("longrope" in assumption.why for assumption in length().assumptions)
    assert length(max_model_len=131_072).warnings == ()
    assert length(engine_version="0.19.0").max_model_len == 131_072
    assert length(engine="sglang").max_model_len == 131_072
