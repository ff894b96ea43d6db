"""Blocks as vLLM computes and prints them: its own code's results, start-up logs, and laws."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import served_models as served
from bide.facts.deployment import Deployment
from bide.facts.layers import RecurrentState
from bide.facts.model import Model
from bide.physics.blocks import BlockPool, FlatPool, block_tables, size_blocks
from bide.physics.kv import kv_need
from bide.physics.shards import stage_layers
from bide.units import GIB

every_model = pytest.mark.parametrize("make", served.ALL, ids=lambda make: make.__name__)
Make = Callable[[], Model]


def sized(model: Model, pool_bytes: int, version: str = "0.32.0", **knobs: object) -> BlockPool:
    knobs = {"max_num_batched_tokens": 8192, "max_num_seqs": 1024, "engine_version": version, **knobs}
    pool = size_blocks(Deployment.resolve({"model": model, "pool_bytes_per_gpu": pool_bytes, **knobs}), pool_bytes)
    assert isinstance(pool, BlockPool)
    return pool


def test_one_kind_of_layer_is_the_pool_over_the_page() -> None:
    # a block: 16 tokens x 2 x 8 heads x 128 x 2 B x 32 layers = 2 MiB; 40 GiB / 2 MiB = 20,480 blocks;
    # 8,192 tokens are 512 blocks, so 40 requests; 20,480 x 16 = 327,680 tokens
    pool = sized(served.llama_3_8b(), 40 * GIB)
    assert (pool.num_blocks, pool.tokens, pool.requests(8192)) == (20_480, 327_680, 40.0)


@pytest.mark.parametrize("tp", [8, 16])
def test_kv_heads_are_copied_where_tp_exceeds_them(tp: int) -> None:
    # one head a rank on both: 16 x 2 x 128 x 2 B x 32 = 256 KiB a block
    assert sized(served.llama_3_8b(), 40 * GIB, tp=tp).num_blocks == 163_840


# What vLLM 0.32.0's own planning code gave for 40 GiB (max_num_batched_tokens 8,192): blocks, tokens, requests.
VLLM_032 = [
    (served.qwen_3_8b, {}, 18_204, 291_264, 7.1109375),
    (served.gemma_3_27b, {}, 32_768, 291_658, 2.22517995382317),
    (served.gemma_3_27b, {"max_model_len": 8192}, 32_768, 74_773, 9.12757660167131),
    (served.gemma_3_27b, {"max_model_len": 32_768, "async_scheduling": False}, 32_768, 194_871, 5.947005444646098),
    (
        served.gemma_3_27b,
        {"max_model_len": 32_768, "disable_hybrid_kv_cache_manager": True},
        5285,
        84_560,
        2.58056640625,
    ),
    (served.gemma_3_27b, {"max_model_len": 32_768, "kv_dtype": "fp8"}, 65_536, 250_231, 7.6364483803309255),
    (served.deepseek_v3, {"tp": 8, "block_size": 16}, 38_199, 611_184, 3.73037109375),
    (lambda: served.deepseek_v3(sparse=True), {"tp": 8}, 8568, 548_352, 3.346875),
    (lambda: served.deepseek_v3(sparse=True), {"tp": 8, "kv_dtype": "fp8_ds_mla"}, 13_961, 893_504, 5.453515625),
    (served.qwen_3_next, {"tp": 4}, 12_850, 3_472_732, 13.24742268041237),
    (served.qwen_3_next, {"tp": 4, "enable_prefix_caching": False}, 12_850, 3_483_506, 13.28852119958635),
    (served.nemotron_h_8b, {}, 2520, 793_993, 96.92307692307692),
    (served.nemotron_h_8b, {"enable_prefix_caching": False}, 2520, 1_474_560, 180.0),
]


@pytest.mark.parametrize(("make", "knobs", "blocks", "tokens", "requests"), VLLM_032)
def test_vllm_032_planning(make: Make, knobs: dict[str, object], blocks: int, tokens: int, requests: float) -> None:
    pool = sized(make(), 40 * GIB, **knobs)
    assert (pool.num_blocks, pool.tokens) == (blocks, tokens)
    assert pool.requests(pool.max_model_len) == requests


# Start-up logs: version, knobs, KV GiB as printed (rounded), tokens, requests as printed.
LOGS = [
    # llm-d-planner's vLLM 0.19.0 sweep on H100
    ("0.19.0", served.gemma_3_27b, {"max_model_len": 8192, "enable_prefix_caching": False}, 19.53, 36_560, 4.46),
    ("0.19.0", served.gpt_oss_20b, {"tp": 2, "max_model_len": 8192}, 59.32, 2_591_776, 316.07),
    ("0.19.0", served.llama_4_scout, {"tp": 4, "max_model_len": 8192}, 16.75, 365_968, 44.68),
    # kyuz0's vLLM 0.12.0 on RTX 3090
    ("0.12.0", served.gpt_oss_20b, {"max_model_len": 16_384, "max_num_batched_tokens": 2048}, 7.12, 155_584, 16.75),
    # Qwen3-Next on R9700, vLLM 0.13.0rc2: states without prefix caching
    (
        "0.13.0rc2.dev112+g763963aa7",
        served.qwen_3_next,
        {"tp": 2, "max_model_len": 16_384, "enable_prefix_caching": False},
        7.09,
        154_496,
        33.47,
    ),
    # Qwen3.8-27B on GB10, vLLM 0.25.1, three draft tokens: 17 full layers with the draft's
    (
        "0.25.1",
        served.qwen_3_8_27b,
        {"kv_dtype": "fp8", "block_size": 1600, "enable_prefix_caching": False, "speculative": 3},
        76.4,
        2_192_477,
        8.36,
    ),
    # Qwen3.8-27B on 2 x RTX 3090: blocks of 1,568 tokens, two states a layer (talos-argocd-proxmox issue 1995)
    ("0.26.0", served.qwen_3_8_27b, {"tp": 2, "kv_dtype": "fp8", "max_model_len": 131_072}, 4.99, 302_921, 2.31),
]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log[1].__name__}-{log[0]}")
def test_start_up_logs(log: tuple[str, Make, dict[str, object], float, int, float]) -> None:
    version, make, knobs, gib, tokens, requests = log
    pool = sized(make(), round(gib * GIB), version, **knobs)
    assert pool.tokens == pytest.approx(tokens, rel=0.002)
    assert pool.requests(pool.max_model_len) == pytest.approx(requests, rel=0.002)


def test_v0_has_one_table_and_does_not_round_requests_to_blocks() -> None:
    # unsloth's log of phi-4: 14,815 blocks of 16, 462.97 requests of 512 tokens; here 512 + 8 tokens
    pool = sized(served.gemma_3_27b(), 40 * GIB, "0.7.3", max_model_len=520)
    assert pool.num_blocks == 40 * GIB // (62 * 131_072)
    assert pool.requests(520) == pool.num_blocks * 16 / 520


def test_compressed_attention_needs_what_vllm_said() -> None:
    # "23.32 GiB KV cache is needed" for 1,048,576 tokens of DeepSeek-V4-Pro on 8 x MI300X with
    # max_num_batched_tokens 16,384 (vLLM issue 53961)
    pool = sized(
        served.deepseek_v4_pro(),
        64 * GIB,
        "0.26.0",
        tp=8,
        kv_dtype="fp8",
        max_num_batched_tokens=16_384,
        enable_prefix_caching=False,
    )
    assert pool.request_bytes(1_048_576) / GIB == pytest.approx(23.32, abs=0.01)


def test_chunked_attention_with_drafts_is_allocated_whole() -> None:
    assert len(block_tables(resolved(served.llama_4_scout())).groups) == 4
    assert len(block_tables(resolved(served.llama_4_scout(), speculative_tokens=3)).groups) == 1


def test_stages_take_the_remainder_before_the_last() -> None:
    # 62 over 4: 15 each, two left: the last but one and the one before it
    assert [len(stage) for stage in stage_layers(62, 4)] == [15, 16, 16, 15]


def test_the_fullest_stage_decides() -> None:
    # 36 layers over 5 stages: 7, 7, 7, 8, 7: a block is 8 layers of 64 KiB
    pool = sized(served.qwen_3_8b(), 8 * GIB, pp=5)
    assert pool.num_blocks == 8 * GIB // (8 * 65_536)


def resolved(model: Model, **knobs: object) -> Deployment:
    return Deployment.resolve({"model": model, "pool_bytes_per_gpu": GIB, **knobs})


@every_model
@given(pool_gib=st.integers(1, 200), extra=st.integers(0, 1000), tokens=st.integers(1, 200_000))
def test_more_memory_never_holds_less(make: Make, pool_gib: int, extra: int, tokens: int) -> None:
    less, more = (sized(make(), size) for size in (pool_gib * GIB, pool_gib * GIB + extra * 2**20))
    assert less.num_blocks <= more.num_blocks
    assert less.requests(tokens) <= more.requests(tokens)
    assert less.requests(tokens + 1) <= less.requests(tokens)


@every_model
@given(tokens=st.integers(128, 400_000), tp=st.sampled_from([1, 2, 4]))  # compressors fill up over 128 tokens
def test_blocks_hold_at_least_the_bytes_of_the_request(make: Make, tokens: int, tp: int) -> None:
    deployment = resolved(make(), tp=tp, enable_prefix_caching=False)
    pool = size_blocks(deployment, 100 * GIB)
    assert pool.request_bytes(tokens) >= kv_need(deployment).per_gpu.request_bytes(tokens) * 0.999


@every_model
def test_every_layer_is_in_one_group(make: Make) -> None:
    deployment = resolved(make())
    layers = sorted(i for group in block_tables(deployment).groups for m in group.members for i in m.layers)
    parts = {"CompressedAttention": 3, "KeyIndex": 2}  # window, states, compressor; keys, compressor
    packed = any(type(group).__name__ == "CompressedAttention" for group in deployment.model.groups)
    expected = [
        i
        for group in deployment.model.groups
        for i in group.layers
        for _ in range(parts.get(type(group).__name__, 1) if packed else 1)
    ]
    assert layers == sorted(expected)


def test_sglang_counts_slots_of_one_token() -> None:
    # "#tokens: 975424, KV size: 43.67 GB" for DeepSeek-V3.2-Exp on 8 x B200 with dp attention:
    # 61 x (656 + 132) = 48,068 B a token, on every rank (sgl-project's pull request)
    deployment = resolved(served.deepseek_v3(sparse=True), engine="sglang", tp=8, dp=8, kv_dtype="fp8")
    pool = size_blocks(deployment, round(43.67 * GIB))
    assert isinstance(pool, FlatPool)
    assert pool.tokens == pytest.approx(975_424, rel=0.001)


def test_sglang_keeps_windows_and_states_apart() -> None:
    windowed = size_blocks(resolved(served.gpt_oss_20b(), engine="sglang"), 10 * GIB)
    stateful = size_blocks(resolved(served.qwen_3_next(), engine="sglang"), 10 * GIB)
    assert isinstance(windowed, FlatPool)
    assert isinstance(stateful, FlatPool)
    assert windowed.window_tokens == int(0.8 * windowed.tokens)
    assert stateful.states is not None
    assert stateful.requests(1) <= stateful.states


def test_a_model_of_states_alone_holds_one_a_request() -> None:
    # 4 layers x (3 x 8,192 x 2 B + 2^20 x 4 B): requests do not depend on their length
    state = RecurrentState((0, 1, 2, 3), "mamba1", 2**20, "fp32", conv_channels=8192, conv_length=3)
    pool = sized(served.model((state,), 4, context=4096), GIB, "0.19.0")
    assert pool.num_blocks == GIB // (4 * (3 * 8192 * 2 + 2**20 * 4)) == pool.requests(1) == pool.requests(10**6)
    assert pool.tokens == pool.num_blocks * 4096
