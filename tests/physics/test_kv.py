"""Cache bytes a token and a request, worked by hand."""

from __future__ import annotations

import pytest

import served_models as served
from bide.errors import UnknownName
from bide.facts.deployment import Deployment
from bide.facts.kv_formats import canonical_kv_dtype, kv_dtype_names, kv_format
from bide.facts.layers import FullAttention
from bide.facts.model import Model
from bide.physics.kv import KvNeed, kv_need


def need(model: Model, **knobs: object) -> KvNeed:
    return kv_need(Deployment.resolve({"model": model, "pool_bytes_per_gpu": 1, **knobs}))


def test_llama_3_8b_takes_128_kib_a_token() -> None:
    # 2 x 8 heads x 128 x 2 B x 32 layers; 8k of it is 1 GiB
    cost = need(served.llama_3_8b()).model
    assert cost.growing_bytes_per_token == 131_072
    assert cost.request_bytes(8192) == 2**30


def test_a_60_layer_fp16_model_takes_245_760_bytes_a_token() -> None:
    # 2 x 8 x 128 x 2 B x 60; 2,000 tokens are 0.49 GB
    model = served.model((FullAttention(tuple(range(60)), 8, 128, 128),), 60, dtype="fp16")
    assert need(model).model.growing_bytes_per_token == 245_760
    assert need(model).model.request_bytes(2000) == 491_520_000


def test_latent_caches_are_on_every_rank() -> None:
    # (512 + 64) x 2 B x 61 = 70,272
    cost = need(served.deepseek_v3(), tp=8)
    assert cost.model.growing_bytes_per_token == cost.per_gpu.growing_bytes_per_token == 70_272


def test_pipeline_stages_share_the_layers() -> None:
    assert need(served.llama_3_8b(), tp=2, pp=4).per_gpu.growing_bytes_per_token == 131_072 / 2 / 4


def test_windows_stop_growing() -> None:
    # 52 local and 10 full layers, 8,192 B a token each
    cost = need(served.gemma_3_27b()).model
    assert cost.request_bytes(10_000) == 10 * 8192 * 10_000 + 52 * 8192 * 1024


def test_drafts_hold_a_cache_only_when_they_are_made() -> None:
    # one more full layer of 4 heads of 256: 4,096 B
    plain, drafting = (need(served.qwen_3_8_27b(), speculative_tokens=n).model for n in (0, 1))
    assert drafting.growing_bytes_per_token - plain.growing_bytes_per_token == 4096


@pytest.mark.parametrize(
    ("name", "bytes_per_token"),
    [
        ("auto", 131_072),
        ("fp8_e4m3", 65_536),
        ("int8", 65_536),
        ("fp8_per_token_head", 32 * 8 * 2 * (128 + 4)),  # one fp32 scale a head and side
        ("int4_per_token_head", 32 * 8 * 2 * (64 + 4)),
        ("nvfp4", 32 * 8 * 2 * (64 + 8)),  # half a byte, and a byte for 16
    ],
)
def test_kv_types(name: str, bytes_per_token: int) -> None:
    assert need(served.llama_3_8b(), kv_dtype=name).model.growing_bytes_per_token == bytes_per_token


def test_sparse_latents_are_packed_in_fp8() -> None:
    # 61 x (656 + 132) = 48,068; dense ones are plain: 61 x 576
    assert need(served.deepseek_v3(sparse=True), kv_dtype="fp8").model.growing_bytes_per_token == 48_068
    assert need(served.deepseek_v3(), kv_dtype="fp8").model.growing_bytes_per_token == 35_136


def test_every_name_means_one_type() -> None:
    for name in kv_dtype_names():
        assert canonical_kv_dtype(canonical_kv_dtype(name)) == canonical_kv_dtype(name)
        assert kv_format(name, served.llama_3_8b()).bytes_per_element > 0


def test_an_unknown_type_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="fp8_e4m3"):
        canonical_kv_dtype("fp8_e4m4")


@pytest.mark.parametrize(("tp", "dp", "parts"), [(8, 1, 8), (8, 8, 1), (8, 2, 4), (1, 8, 1)])
def test_data_parallel_attention_divides_heads_less(tp: int, dp: int, parts: int) -> None:
    raw = {"model": served.llama_3_8b(), "engine": "sglang", "tp": tp, "dp": dp, "pool_bytes_per_gpu": 1}
    assert Deployment.resolve(raw).attention_tp == parts
