"""What an engine would refuse is said beside the arithmetic."""

from __future__ import annotations

import pytest

from bide.facts.deployment import Deployment
from bide.physics.cautions import cautions
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


def test_a_given_pool_beside_weights_that_leave_no_room_for_it_is_said() -> None:
    crowded = memory(model="llama-3.1-70b", gpu="h100-sxm", pool_bytes_per_gpu=53 * GB)
    assert any("more than it holds" in text for text in cautions(crowded))
