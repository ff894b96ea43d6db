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
