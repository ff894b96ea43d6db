"""Families whose layers differ in what they keep: chunks, windows, shared caches, block indexes, encoders.

Cache figures are worked by hand. Parameter totals were counted on the classes of transformers 5.24.0.
"""

from __future__ import annotations

from typing import Any

import pytest

from bide.errors import BadInput
from bide.facts.hf import from_config
from bide.facts.layers import ChunkedAttention, CrossAttention, FullAttention, KvFormat, Window, total_cost
from bide.facts.model import Model

BF16 = KvFormat("bf16", 2)
FP8 = KvFormat("fp8", 1)
LOCAL, FULL = ["sliding_attention"], ["full_attention"]

SCOUT: dict[str, Any] = {
    "model_type": "llama4_text",
    "hidden_size": 5120,
    "num_hidden_layers": 48,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 202048,
    "intermediate_size": 8192,
    "intermediate_size_mlp": 16384,
    "num_local_experts": 16,
    "num_experts_per_tok": 1,
    "interleave_moe_layer_step": 1,
    "attention_chunk_size": 8192,
}
MAVERICK = {**SCOUT, "num_local_experts": 128, "interleave_moe_layer_step": 2}
E2B: dict[str, Any] = {
    "model_type": "gemma4_text",
    "hidden_size": 1536,
    "num_hidden_layers": 35,
    "num_attention_heads": 8,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "global_head_dim": 512,
    "vocab_size": 262144,
    "vocab_size_per_layer_input": 262144,
    "intermediate_size": 6144,
    "hidden_size_per_layer_input": 256,
    "layer_types": (LOCAL * 4 + FULL) * 7,
    "num_kv_shared_layers": 20,
    "sliding_window": 512,
    "use_double_wide_mlp": True,
}
GEMMA4_26B: dict[str, Any] = {
    "model_type": "gemma4_text",
    "hidden_size": 2816,
    "num_hidden_layers": 30,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "num_global_key_value_heads": 2,
    "attention_k_eq_v": True,
    "head_dim": 256,
    "global_head_dim": 512,
    "vocab_size": 262144,
    "intermediate_size": 2112,
    "layer_types": (LOCAL * 5 + FULL) * 5,
    "sliding_window": 1024,
    "enable_moe_block": True,
    "num_experts": 128,
    "top_k_experts": 8,
    "moe_intermediate_size": 704,
}
GEMMA3N: dict[str, Any] = {
    "model_type": "gemma3n_text",
    "hidden_size": 2048,
    "num_hidden_layers": 35,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "vocab_size": 262400,
    "vocab_size_per_layer_input": 262144,
    "intermediate_size": [16384] * 35,
    "hidden_size_per_layer_input": 256,
    "num_kv_shared_layers": 15,
    "sliding_window": 512,
    "laurel_rank": 64,
    "altup_num_inputs": 4,
}
MIMO: dict[str, Any] = {
    "model_type": "mimo_v2_flash",
    "hidden_size": 4096,
    "num_hidden_layers": 48,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 192,
    "v_head_dim": 128,
    "swa_num_attention_heads": 64,
    "swa_num_key_value_heads": 8,
    "swa_head_dim": 192,
    "swa_v_head_dim": 128,
    "vocab_size": 152576,
    "intermediate_size": 16384,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "moe_layer_freq": [0] + [1] * 47,
    "sliding_window": 128,
    "attention_chunk_size": 128,
    "hybrid_layer_pattern": [0, 1, 1, 1, 1, *[0, 1, 1, 1, 1, 1] * 7, 0],
    "add_swa_attention_sink_bias": True,
}
STEP: dict[str, Any] = {
    "model_type": "step3p7",
    "hidden_size": 4096,
    "num_hidden_layers": 45,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128896,
    "intermediate_size": 11264,
    "sliding_window": 512,
    "layer_types": (FULL + LOCAL * 3) * 11 + FULL,
    "first_k_dense_replace": 3,
    "num_experts": 288,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 1280,
    "share_expert_dim": 1280,
}
M3: dict[str, Any] = {
    "model_type": "minimax_m3",
    "hidden_size": 6144,
    "num_hidden_layers": 60,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "vocab_size": 200064,
    "intermediate_size": 3072,
    "dense_intermediate_size": 12288,
    "shared_intermediate_size": 3072,
    "n_shared_experts": 1,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "moe_layer_freq": [0] * 3 + [1] * 57,
    "sparse_attention_config": {
        "sparse_attention_freq": [0] * 3 + [1] * 57,
        "sparse_index_dim": 128,
        "sparse_num_index_heads": 4,
    },
}
WHISPER_LARGE: dict[str, Any] = {
    "model_type": "whisper",
    "d_model": 1280,
    "encoder_layers": 32,
    "decoder_layers": 32,
    "encoder_attention_heads": 20,
    "decoder_attention_heads": 20,
    "encoder_ffn_dim": 5120,
    "decoder_ffn_dim": 5120,
    "num_mel_bins": 128,
    "max_source_positions": 1500,
    "max_target_positions": 448,
    "vocab_size": 51866,
}


def read(config: dict[str, Any]) -> Model:
    return from_config(config, "test")


def parameters(model: Model, part: str = "text") -> int:
    return sum(tensor.parameters for tensor in model.tensors if tensor.part == part)


def growing_and_windows(config: dict[str, Any], kv: KvFormat = BF16) -> tuple[float, tuple[Window, ...]]:
    found = total_cost(read(config).groups, kv, 1)
    assert found.fixed_bytes_per_request == 0
    return found.growing_bytes_per_token, found.windows


def test_layers_with_rotary_positions_attend_in_chunks() -> None:
    # 12 full and 36 chunked layers of 8 heads x 256 x 2 bytes
    assert growing_and_windows(SCOUT) == (49_152, (Window(8192, 147_456),))
    assert parameters(read(SCOUT)) == 107_769_861_120


def test_without_a_chunk_size_every_layer_is_full() -> None:
    assert growing_and_windows({**SCOUT, "attention_chunk_size": None}) == (196_608, ())


def test_a_list_of_rotary_layers_says_which_are_chunked() -> None:
    chunked = next(g for g in read({**SCOUT, "no_rope_layers": [1, 0] * 24}).groups if isinstance(g, ChunkedAttention))
    assert chunked.layers == tuple(range(0, 48, 2))


def test_experts_on_every_second_layer_leave_wide_dense_parts() -> None:
    assert parameters(read(MAVERICK)) == 400_711_848_960


def test_the_last_layers_reuse_a_cache_and_keep_their_projections() -> None:
    # 15 layers cache: 12 local of 256 x 2 x 2 bytes, 3 global of 512 x 2 x 2
    assert growing_and_windows(E2B) == (6_144, (Window(512, 12_288),))
    # the class has 4,628,569,379; 16 local and 4 global layers' K, V and K norm, as published checkpoints have them:
    kept = 16 * (2 * 256 * 1536 + 256) + 4 * (2 * 512 * 1536 + 512)
    assert parameters(read(E2B)) == 4_628_569_379 + kept


def test_a_value_that_is_the_key_is_projected_once_and_cached_twice() -> None:
    # 5 global layers x 2 heads x 1024 x 2 bytes; 25 local x 8 heads x 512 x 2
    assert growing_and_windows(GEMMA4_26B) == (20_480, (Window(1024, 204_800),))
    assert parameters(read(GEMMA4_26B)) == 25_233_141_790


def test_gemma3n_stores_twenty_of_35_layers() -> None:
    # 4 global and 16 local layers of 2 heads x 512 x 2 bytes
    assert growing_and_windows(GEMMA3N) == (8_192, (Window(512, 32_768),))
    # the class has 6,835,235,568; 15 layers' K, V and K norm on top
    assert parameters(read(GEMMA3N)) == 6_835_235_568 + 15 * (2 * 512 * 2048 + 256)


def test_local_layers_have_their_own_heads_and_values_are_narrower_than_keys() -> None:
    # 9 full layers x 4 heads x (192 + 128) x 2 bytes; 39 local x 8 heads x 320 x 2
    assert growing_and_windows(MIMO) == (23_040, (Window(128, 199_680),))
    assert parameters(read(MIMO)) == 308_778_780_864


def test_mimo_draft_layers_are_local_and_dense() -> None:
    model = read({**MIMO, "num_nextn_predict_layers": 1})
    cost = total_cost(model.draft_groups, BF16, 1)
    assert cost.windows == (Window(128, 8 * 320 * 2),)
    assert not any(t.component == "experts" for t in model.tensors if t.part == "mtp")


def test_step_alternates_three_local_layers_with_a_full_one() -> None:
    # 12 full and 33 local layers of 8 heads x 256 x 2 bytes
    assert growing_and_windows(STEP) == (49_152, (Window(512, 135_168),))
    # the class without its head has 195,316,218,944 at a vocabulary of 128,815: 81 more rows, twice, and the head
    assert parameters(read(STEP)) == 195_316_218_944 + 128_815 * 4096 + 2 * 81 * 4096


def test_step_local_layers_may_have_other_heads() -> None:
    other = {"attention_other_setting": {"num_attention_heads": 96, "num_attention_groups": 8, "head_dim": 128}}
    more = parameters(read({**STEP, **other})) - parameters(read(STEP))
    # 33 layers: 32 heads of 128 in Q and O (x 4096), and 32 rows of the gate
    assert more == 33 * (2 * 32 * 128 * 4096 + 32 * 4096)


def test_step_experts_may_be_a_list_in_a_text() -> None:
    listed = {**STEP, "first_k_dense_replace": None, "moe_layers_enum": ",".join(map(str, range(3, 45)))}
    assert parameters(read(listed)) == parameters(read(STEP))


def test_step3_has_one_kv_head_behind_a_shared_query() -> None:
    config = {
        "model_type": "step3_text",
        "hidden_size": 7168,
        "num_hidden_layers": 61,
        "num_attention_heads": 64,
        "num_attention_groups": 1,
        "head_dim": 256,
        "share_q_dim": 2048,
        "vocab_size": 128815,
        "intermediate_size": 18432,
        "moe_num_experts": 48,
        "moe_top_k": 3,
        "moe_intermediate_size": 5120,
        "share_expert_dim": 5120,
        "moe_layers_enum": ",".join(map(str, range(4, 60))),
    }
    # 61 x 512 x 2 bytes
    assert growing_and_windows(config) == (62_464, ())
    # 316 B for the language model on its card (github.com/stepfun-ai/Step3)
    assert parameters(read(config)) == pytest.approx(316e9, rel=0.005)


def test_a_block_index_keeps_one_bf16_key_whatever_the_cache_type() -> None:
    # 60 x 4 heads x 256 x 2 bytes + 57 x 128 x 2
    assert growing_and_windows(M3) == (137_472, ())
    assert growing_and_windows(M3, FP8) == (60 * 1024 + 57 * 256, ())
    # the class without its head has 424,945,379,712
    assert parameters(read(M3)) == 424_945_379_712 + 200_064 * 6144


def test_whisper_holds_the_encoders_states_whole() -> None:
    model = read(WHISPER_LARGE)
    layers = tuple(range(32))
    assert model.groups == (
        FullAttention(layers, 20, 64, 64),
        CrossAttention(layers, 20, 64, 64, encoder_tokens=1500),
    )
    # 32 x 2560 x 2 bytes a token; 1,500 of them for the encoder: 245,760,000
    cost = total_cost(model.groups, BF16, 1)
    assert (cost.growing_bytes_per_token, cost.fixed_bytes_per_request) == (163_840, 245_760_000)
    # the safetensors total of openai/whisper-large-v3, encoder included
    assert model.parameters == 1_543_490_560


def test_phi3_small_keeps_its_whole_cache() -> None:
    config = {
        "model_type": "phi3small",
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 100352,
        "ff_intermediate_size": 14336,
        "dense_attention_every_n_layers": 2,
    }
    assert growing_and_windows(config) == (131_072, ())
    # 7.392 B in the Open LLM Leaderboard's request for microsoft/Phi-3-small-8k-instruct
    assert parameters(read(config)) == pytest.approx(7.392e9, rel=1e-4)


def test_a_kind_of_layer_that_gemma_does_not_have_is_refused() -> None:
    with pytest.raises(BadInput, match="chunked_attention"):
        read({**E2B, "layer_types": ["chunked_attention"] * 35})
