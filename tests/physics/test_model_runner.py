"""Model Runner V2 by version and model, and what it changes in the pool."""

from __future__ import annotations

import pytest

import served_models as served
from bide.facts.deployment import Deployment
from bide.facts.models import load_model
from bide.physics.model_runner import graphs_in_pool_budget, second_runner
from bide.physics.overheads import overheads, per_layer_channels
from bide.physics.towers import tower_bytes
from bide.units import GIB


def deployment(model: object, version: str, gpu: str = "h100-sxm", **knobs: object) -> Deployment:
    return Deployment.resolve({"model": model, "gpu": gpu, "engine_version": version, **knobs})


@pytest.mark.parametrize(
    ("version", "model", "expected"),
    [
        # the log of Qwen3-8B on two T4 of vLLM 0.22 is by model_runner.py, that of Qwen3-Coder-30B by
        # gpu_model_runner.py (0.26)
        ("0.21.0", "qwen3-8b", False),
        ("0.22.0", "qwen3-8b", True),
        ("0.22.0", "llama-3.1-8b", False),
        ("0.23.0", "llama-3.1-8b", True),
        ("0.24.0", "qwen2.5-7b", False),
        ("0.25.0", "qwen2.5-7b", True),
        ("0.26.1", "qwen3-30b-a3b", False),
        ("0.28.0", "Qwen/Qwen3.8-27B", False),
        ("0.29.0", "qwen3-30b-a3b", True),
    ],
)
def test_the_runner_follows_version_and_model(version: str, model: str, expected: bool) -> None:
    assert second_runner(deployment(model, version)) is expected


def test_a_quantised_checkpoint_stays_on_the_first_runner_in_0_22() -> None:
    assert not second_runner(deployment("qwen3-8b", "0.22.0", weights="fp8"))
    assert second_runner(deployment("qwen3-8b", "0.24.0", weights="fp8"))


def test_the_second_runner_estimates_no_graphs_before_0_29() -> None:
    assert graphs_in_pool_budget(deployment(served.gpt_oss_20b(), "0.27.0"))
    assert not graphs_in_pool_budget(deployment(served.qwen_3_8b(), "0.27.0"))
    assert graphs_in_pool_budget(deployment(served.qwen_3_8b(), "0.29.0"))


def test_amd_cards_estimate_graphs_from_0_26() -> None:
    before, after = (graphs_in_pool_budget(deployment(served.gpt_oss_20b(), v, "mi300x")) for v in ("0.25.0", "0.26.0"))
    assert (before, after) == (False, True)


def test_the_second_runner_samples_leaner() -> None:
    # 1,024 x 151,936 logits: 14.8 B against 6.6 B each
    first, second = (overheads(deployment("qwen3-8b", v)).activation.size_bytes for v in ("0.21.0", "0.22.0"))
    assert first - second == pytest.approx((14.8 - 6.6) * 1024 * 151_936, rel=0.02)


def test_a_tower_is_profiled_with_the_largest_item() -> None:
    # Qwen3.5: 16,384 tokens of 4 patches, (2 x 4,304 + 4.3 x 1,152) channels of 2 B = 1.66 GiB; a batch of 2,048
    # tokens is smaller
    served_model = deployment("Qwen/Qwen3.5-35B-A3B", "0.24.0", max_num_batched_tokens=2048)
    assert tower_bytes(served_model, served_model.engine.memory) / GIB == pytest.approx(1.66, abs=0.01)
    assert tower_bytes(deployment("qwen3-8b", "0.24.0"), served_model.engine.memory) == 0


def test_embeddings_of_each_layer_are_held() -> None:
    # 35 layers x 256
    assert per_layer_channels(load_model("google/gemma-4-E2B-it")) == 8_960
    assert per_layer_channels(load_model("qwen3-8b")) == 0


def test_unified_memory_leaves_less_and_less_certain() -> None:
    knobs = {"gpu_memory_utilization": 0.6, "max_num_seqs": 256, "max_num_batched_tokens": 2048}
    shared, own = (overheads(deployment("qwen3-8b", "0.27.1", gpu, **knobs)).runtime for gpu in ("gb10", "h100-sxm"))
    assert shared.size_bytes - own.size_bytes == pytest.approx(2.3 * GIB)
    assert shared.sigma_bytes > 5 * own.sigma_bytes
