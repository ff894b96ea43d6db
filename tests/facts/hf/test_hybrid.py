"""Recurrent layers and hybrids: constant state, what grows beside it, and every parameter.

States are worked by hand from vLLM 0.33's shapes. Parameter totals were counted on the classes of
transformers 5.24.0 at these configs (published ones, or the class's own defaults where it says so) unless a comment
says otherwise.
"""

from __future__ import annotations

from typing import Any

import pytest

from bide.errors import BadInput
from bide.facts.hf import from_config
from bide.facts.layers import Cost, FullAttention, KvFormat, RecurrentState, SlidingWindow, total_cost
from bide.facts.model import Model

BF16 = KvFormat("bf16", 2)

QWEN3_NEXT: dict[str, Any] = {
    "model_type": "qwen3_next",
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "vocab_size": 151936,
    "intermediate_size": 5120,
    "full_attention_interval": 4,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "num_experts": 512,
    "num_experts_per_tok": 10,
    "moe_intermediate_size": 512,
    "shared_expert_intermediate_size": 512,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
}
QWEN38_27B = {
    **QWEN3_NEXT,
    "model_type": "qwen3_5_text",
    "hidden_size": 5120,
    "num_hidden_layers": 64,
    "num_attention_heads": 24,
    "num_key_value_heads": 4,
    "vocab_size": 248320,
    "intermediate_size": 17408,
    "linear_num_value_heads": 48,
    "num_experts": None,
    "mamba_ssm_dtype": "float32",
    "mtp_num_hidden_layers": 1,
}
NANO: dict[str, Any] = {
    "model_type": "nemotron_h",
    "hidden_size": 2688,
    "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
    "num_hidden_layers": 52,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "vocab_size": 131072,
    "intermediate_size": 1856,
    "mamba_num_heads": 64,
    "mamba_head_dim": 64,
    "n_groups": 8,
    "ssm_state_size": 128,
    "conv_kernel": 4,
    "n_routed_experts": 128,
    "n_shared_experts": 1,
    "num_experts_per_tok": 6,
    "moe_intermediate_size": 1856,
    "moe_shared_expert_intermediate_size": 3712,
}
SUPER = {
    **NANO,
    "hidden_size": 4096,
    "hybrid_override_pattern": "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*"
    "EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME",
    "num_hidden_layers": 88,
    "mamba_num_heads": 128,
    "n_routed_experts": 512,
    "num_experts_per_tok": 22,
    "moe_intermediate_size": 2688,
    "moe_shared_expert_intermediate_size": 5376,
    "moe_latent_size": 1024,
    "num_nextn_predict_layers": 1,
    "mtp_hybrid_override_pattern": "*E",
}
JAMBA: dict[str, Any] = {
    "model_type": "jamba",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 65536,
    "intermediate_size": 14336,
    "num_experts": 16,
    "num_experts_per_tok": 2,
    "expert_layer_period": 2,
    "expert_layer_offset": 1,
    "attn_layer_period": 8,
    "attn_layer_offset": 4,
    "mamba_d_state": 16,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_dt_rank": 256,
}
KIMI_LINEAR: dict[str, Any] = {
    "model_type": "kimi_linear",
    "hidden_size": 2304,
    "num_hidden_layers": 27,
    "num_attention_heads": 32,
    "vocab_size": 163840,
    "intermediate_size": 9216,
    "moe_intermediate_size": 1024,
    "num_experts": 256,
    "num_experts_per_token": 8,
    "num_shared_experts": 1,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "linear_attn_config": {
        "full_attn_layers": [4, 8, 12, 16, 20, 24, 27],
        "head_dim": 128,
        "num_heads": 32,
        "short_conv_kernel_size": 4,
    },
}
K3 = {
    **KIMI_LINEAR,
    "hidden_size": 7168,
    "num_hidden_layers": 93,
    "num_attention_heads": 96,
    "intermediate_size": 33792,
    "moe_intermediate_size": 3072,
    "num_experts": 896,
    "num_experts_per_token": 16,
    "num_shared_experts": 2,
    "q_lora_rank": 1536,
    "mla_use_output_gate": True,
    "routed_expert_hidden_size": 3584,
    "latent_moe_use_norm": True,
    "attn_res_block_size": 12,
    "linear_attn_config": {
        "full_attn_layers": [*range(4, 93, 4), 93],
        "head_dim": 128,
        "num_heads": 96,
        "short_conv_kernel_size": 4,
        "use_full_rank_gate": True,
    },
}
FALCON_H1_7B: dict[str, Any] = {
    "model_type": "falcon_h1",
    "hidden_size": 3072,
    "num_hidden_layers": 44,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "vocab_size": 130048,
    "intermediate_size": 12288,
    "mamba_d_ssm": 3072,
    "mamba_n_heads": 24,
    "mamba_d_head": 128,
    "mamba_n_groups": 1,
    "mamba_d_state": 256,
    "mamba_d_conv": 4,
    "mamba_rms_norm": False,
}
LFM2: dict[str, Any] = {
    "model_type": "lfm2",
    "hidden_size": 2560,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 65536,
    "intermediate_size": 12288,
    "conv_L_cache": 3,
    "full_attn_idxs": [2, 5],
}
ZAMBA2: dict[str, Any] = {
    "model_type": "zamba2",
    "hidden_size": 2560,
    "num_hidden_layers": 54,
    "num_attention_heads": 32,
    "vocab_size": 32000,
    "mamba_d_state": 64,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "n_mamba_heads": 8,
    "hybrid_layer_ids": [6, 12, 18, 24, 30, 36, 42, 47, 51],
}
MINIMAX_01: dict[str, Any] = {
    "model_type": "minimax_text_01",
    "hidden_size": 6144,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 200064,
    "intermediate_size": 9216,
    "num_local_experts": 32,
    "num_experts_per_tok": 2,
    "shared_intermediate_size": 0,
    "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1] * 10,
}


def read(config: dict[str, Any]) -> Model:
    return from_config(config, "test")


def cost(config: dict[str, Any], tp: int = 1) -> Cost:
    return total_cost(read(config).groups, BF16, tp)


def parameters(model: Model, part: str = "text") -> int:
    return sum(tensor.parameters for tensor in model.tensors if tensor.part == part)


def state(config: dict[str, Any]) -> RecurrentState:
    return next(group for group in read(config).groups if isinstance(group, RecurrentState))


def test_a_gated_delta_net_keeps_its_state_in_the_models_type() -> None:
    found = cost(QWEN3_NEXT)
    # 12 layers x 2 heads x 512 x 2 bytes
    assert found.growing_bytes_per_token == 24_576
    # convolution (2 x 16 x 128 + 32 x 128) x 3 x 2 = 49,152; state 32 x 128 x 128 x 2 = 1,048,576; 36 layers
    assert found.fixed_bytes_per_request == 36 * (49_152 + 1_048_576) == 39_518_208
    assert parameters(read(QWEN3_NEXT)) == 79_674_391_296


def test_qwen3_next_has_a_draft_layer_that_its_config_does_not_mention() -> None:
    model = read(QWEN3_NEXT)
    assert model.draft_groups == (FullAttention((48,), 2, 256, 256),)
    assert parameters(model, "mtp") == pytest.approx(1.65e9, rel=0.005)


def test_a_state_in_fp32_matches_a_servers_log() -> None:
    # github.com/noonghunna/club-3090 issue 1047: Qwen3.8-27B, 3,207,168 bytes of state a layer:
    # convolution (2 x 16 + 48) x 128 x 3 x 2 = 61,440; state 48 x 128 x 128 x 4 = 3,145,728
    assert state(QWEN38_27B).layer_bytes(1) == 3_207_168
    assert cost(QWEN38_27B) == Cost(65_536, (), 48 * 3_207_168)
    assert parameters(read(QWEN38_27B)) == 26_895_998_464


def test_nemotron_layers_are_one_part_each_and_only_two_kinds_cache() -> None:
    found = cost(NANO)
    # 6 attention layers x 2 heads x 256 x 2 bytes
    assert found.growing_bytes_per_token == 6_144
    # convolution (4096 + 2 x 8 x 128) x 3 x 2 = 36,864; fp32 state 64 x 64 x 128 x 4 = 2,097,152; 23 layers
    assert found.fixed_bytes_per_request == 23 * (36_864 + 2_097_152) == 49_082_368


def test_experts_on_a_latent_are_counted_to_the_parameter() -> None:
    assert parameters(read(SUPER)) == 120_668_707_840
    assert cost(SUPER).fixed_bytes_per_request == 170_229_760


def test_the_draft_pattern_caches_only_where_it_attends() -> None:
    assert read(SUPER).draft_groups == (FullAttention((88,), 2, 128, 128),)


def test_kinds_by_name_read_like_the_pattern() -> None:
    names = {"M": "linear_attention", "*": "full_attention", "E": "moe"}
    listed = [names[letter] for letter in NANO["hybrid_override_pattern"]]
    spelt = {**NANO, "hybrid_override_pattern": None, "layers_block_type": listed, "num_hidden_layers": None}
    assert read(spelt).groups == read(NANO).groups


def test_groups_grow_to_a_multiple_of_the_ranks() -> None:
    # 8 groups on 16 ranks are kept 16 times: (4096 + 16 x 256) x 3 x 2 + 2,097,152, a sixteenth each
    assert state(NANO).layer_bytes(16) == (49_152 + 2_097_152) // 16


def test_jamba_attends_once_in_eight_layers() -> None:
    found = cost(JAMBA)
    # 4 layers x 8 heads x 256 x 2; state 8192 x 16 x 2 + convolution 8192 x 3 x 2, 28 layers
    assert found == Cost(16_384, (), 28 * 311_296)
    assert parameters(read(JAMBA)) == 51_570_323_328


def test_kimi_linear_counts_its_layers_from_one() -> None:
    found = cost(KIMI_LINEAR)
    # 7 latent layers x 576 x 2
    assert found.growing_bytes_per_token == 8_064
    # convolution 3 x 4096 x 3 x 2 = 73,728; fp32 state 32 x 128 x 128 x 4 = 2,097,152; 20 layers
    assert found.fixed_bytes_per_request == 20 * (73_728 + 2_097_152) == 43_417_600
    assert state(KIMI_LINEAR).layers[:4] == (0, 1, 2, 4)


def test_kimi_k3_caches_24_latents_and_69_states() -> None:
    found = cost(K3)
    assert found.growing_bytes_per_token == 24 * 1_152 == 27_648
    # convolution 3 x 12288 x 3 x 2 = 221,184; fp32 state 96 x 128 x 128 x 4 = 6,291,456
    assert found.fixed_bytes_per_request == 69 * (221_184 + 6_291_456) == 449_372_160


def test_every_parameter_of_kimi_k3_is_counted() -> None:
    h, width = 7168, 96 * 128
    # q, k, v, output gate and output; low-rank forget gate; beta; convolutions; dt bias, decays, norm
    kda = 5 * width * h + 128 * (h + width) + 96 * h + 3 * width * 4 + width + 96 + 128
    # queries and latent, each down (with a norm) and up; output gate and output
    latent = (h + 1 + 96 * 192) * 1536 + 576 * h + (1 + 96 * 256) * 512 + 2 * width * h
    # router with its bias; the latent's two projections and norm; 896 experts on it; two shared experts
    moe = 896 * (h + 1) + (2 * h + 1) * 3584 + 896 * 3 * 3072 * 3584 + 3 * h * 2 * 3072
    # two norms, and a norm and a row of weights for the residuals before each half
    each = 2 * h + 4 * h
    ends = 2 * 163840 * h + h + 2 * h
    total = 69 * kda + 24 * latent + 92 * moe + 3 * h * 33792 + 93 * each + ends
    assert parameters(read(K3)) == total
    # announced with 2.8 T (platform.kimi.ai, July 2026)
    assert total == pytest.approx(2.8e12, rel=0.01)


def test_falcon_h1_has_both_caches_in_every_layer() -> None:
    found = cost(FALCON_H1_7B)
    # 44 x 2 x 256 x 2; state 24 x 128 x 256 x 2 = 1,572,864 + convolution (3072 + 512) x 3 x 2 = 21,504
    assert found == Cost(45_056, (), 44 * 1_594_368)
    assert parameters(read(FALCON_H1_7B)) == 7_585_513_568


def test_granite_keeps_a_dense_part_beside_its_experts() -> None:
    config = {
        "model_type": "granitemoehybrid",
        "hidden_size": 4096,
        "num_hidden_layers": 4,
        "num_attention_heads": 32,
        "vocab_size": 32000,
        "intermediate_size": 11008,
        "shared_intermediate_size": 1024,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "layer_types": ["mamba", "mamba", "attention", "mamba"],
        "mamba_n_heads": 128,
        "mamba_d_head": 64,
        "mamba_d_state": 256,
    }
    assert parameters(read(config)) == 5_018_284_672
    assert parameters(read({**config, "num_local_experts": 0})) == 689_631_872


def test_short_convolutions_keep_two_inputs() -> None:
    # 30 layers x 2560 x 2 inputs x 2 bytes; 2 attention layers x 8 heads x 160 x 2
    assert cost(LFM2) == Cost(5_120, (), 30 * 10_240)
    assert parameters(read(LFM2)) == 3_000_635_200


def test_drafts_lengthen_a_convolution() -> None:
    # one more slot of 2560 x 2 bytes
    assert state(LFM2).layer_bytes(1, speculative_tokens=1) == 10_240 + 5_120


def test_shared_blocks_are_stored_once_and_cached_at_each_use() -> None:
    found = cost(ZAMBA2)
    # 9 uses x 32 heads x 320 x 2 bytes
    assert found.growing_bytes_per_token == 9 * 20_480
    assert parameters(read(ZAMBA2)) == 2_481_848_336
    more = {**ZAMBA2, "num_mem_blocks": 2, "use_shared_attention_adapter": True}
    assert parameters(read(more)) == 2_687_639_056
    assert cost(more) == found


def test_lightning_attention_keeps_a_square_a_head() -> None:
    # 10 layers x 8 heads x 256 x 2; 70 layers x 64 x 128 x 128 x 2 bytes
    assert cost(MINIMAX_01) == Cost(40_960, (), 70 * 2_097_152)
    # MiniMax-M1-80k, of the same shape, is listed with this total; 456 B on MiniMax-Text-01's card
    assert parameters(read(MINIMAX_01)) == 456_089_655_296


def test_recurrent_gemma_attends_within_a_window() -> None:
    config = {
        "model_type": "recurrent_gemma",
        "hidden_size": 2560,
        "num_hidden_layers": 26,
        "num_attention_heads": 10,
        "num_key_value_heads": 1,
        "head_dim": 256,
        "vocab_size": 256000,
        "intermediate_size": 15360,
        "lru_width": 2560,
        "attention_window_size": 2048,
    }
    model = read(config)
    assert SlidingWindow(tuple(range(2, 26, 3)), 1, 256, 256, window_tokens=2048) in model.groups
    assert parameters(model) == 2_682_862_080


def test_plamo2_attends_on_every_second_layer() -> None:
    config = {
        "model_type": "plamo2",
        "hidden_size": 2048,
        "num_hidden_layers": 16,
        "num_attention_heads": 16,
        "num_key_value_heads": 1,
        "hidden_size_per_head": 128,
        "vocab_size": 100000,
        "intermediate_size": 8192,
        "mamba_num_heads": 32,
        "mamba_d_state": 64,
        "mamba_step": 2,
    }
    # 8 layers x 1 head x 256 x 2; 8 layers of 4096 x 64 x 2 and 4096 x 3 x 2
    assert cost(config) == Cost(4_096, (), 8 * (524_288 + 24_576))
    # seven files of fp32 (huggingface.co/pfnet/plamo-2-1b/tree/main): 4.06 + 0.285 + 0.819 + 0.001 GB
    assert 4 * parameters(read(config)) == pytest.approx(5.165e9, rel=0.001)


def test_pure_mamba_has_nothing_that_grows() -> None:
    config = {
        "model_type": "mamba",
        "hidden_size": 768,
        "num_hidden_layers": 32,
        "vocab_size": 50280,
        "state_size": 16,
        "conv_kernel": 4,
        "time_step_rank": "auto",
    }
    # 1536 x 16 x 2 + 1536 x 3 x 2, 32 layers
    assert cost(config) == Cost(0, (), 32 * 58_368)
    assert parameters(read(config)) == 159_308_544


def test_an_unknown_kind_of_layer_is_refused_and_named() -> None:
    with pytest.raises(BadInput, match="quantum"):
        read({**LFM2, "layer_types": ["conv"] * 31 + ["quantum"]})
    with pytest.raises(BadInput, match="hybrid_override_pattern"):
        read({**NANO, "hybrid_override_pattern": "M?"})


def test_an_unknown_state_type_is_refused() -> None:
    with pytest.raises(BadInput, match="mamba_ssm_dtype"):
        read({**QWEN38_27B, "mamba_ssm_dtype": "int3"})
