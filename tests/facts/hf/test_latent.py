"""Latent attention: what it caches, exactly, and what it weighs.

Cache figures are worked by hand from the published configs. Parameter totals were counted on the
classes of transformers 5.24.0 (every weight and stored bias), draft layers on the published checkpoints' shapes.
"""

from __future__ import annotations

from typing import Any

import pytest

from bide.errors import BadInput
from bide.facts.hf import from_config
from bide.facts.layers import CompressedAttention, Cost, KeyIndex, KvFormat, LatentAttention, total_cost
from bide.facts.model import Model

BF16 = KvFormat("bf16", 2)
FP8_DS_MLA = KvFormat("fp8", 1, latent_bytes_per_token=656)

MLA = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
V3: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "vocab_size": 129280,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "q_lora_rank": 1536,
    "topk_method": "noaux_tc",
    "num_nextn_predict_layers": 1,
    **MLA,
}
V32 = {**V3, "model_type": "deepseek_v32", "index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048}
V2_LITE = {
    **V3,
    "model_type": "deepseek_v2",
    "hidden_size": 2048,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "vocab_size": 102400,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "first_k_dense_replace": 1,
    "q_lora_rank": None,
    "topk_method": "greedy",
    "num_nextn_predict_layers": None,
}
FULL, SHARED = ["full"], ["shared"]
GLM_52 = {
    **V32,
    "model_type": "glm_moe_dsa",
    "hidden_size": 6144,
    "num_hidden_layers": 78,
    "num_attention_heads": 64,
    "vocab_size": 154880,
    "intermediate_size": 12288,
    "q_lora_rank": 2048,
    "qk_nope_head_dim": 192,
    "v_head_dim": 256,
    "index_n_heads": 32,
    "indexer_types": FULL * 3 + (SHARED * 3 + FULL) * 18 + SHARED * 3,
}
V4_FLASH: dict[str, Any] = {
    "model_type": "deepseek_v4",
    "hidden_size": 4096,
    "num_hidden_layers": 43,
    "num_attention_heads": 64,
    "head_dim": 512,
    "vocab_size": 129280,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 6,
    "num_nextn_predict_layers": 1,
    "num_hash_layers": 3,
    "q_lora_rank": 1024,
    "o_lora_rank": 1024,
    "o_groups": 8,
    "qk_rope_head_dim": 64,
    "index_head_dim": 128,
    "index_n_heads": 64,
    "sliding_window": 128,
    "hc_mult": 4,
    "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0],
}
LONGCAT: dict[str, Any] = {
    "model_type": "longcat_flash",
    "hidden_size": 6144,
    "num_layers": 28,
    "num_attention_heads": 64,
    "vocab_size": 131072,
    "ffn_hidden_size": 12288,
    "expert_ffn_hidden_size": 2048,
    "n_routed_experts": 512,
    "zero_expert_num": 256,
    "moe_topk": 12,
    "q_lora_rank": 1536,
    **MLA,
}


def read(config: dict[str, Any]) -> Model:
    return from_config(config, "test")


def cost(config: dict[str, Any], kv: KvFormat = BF16, tp: int = 1) -> Cost:
    return total_cost(read(config).groups, kv, tp)


def parameters(model: Model, part: str = "text") -> int:
    return sum(tensor.parameters for tensor in model.tensors if tensor.part == part)


def test_one_latent_a_token_not_two_and_the_same_on_every_rank() -> None:
    # (512 + 64) x 2 bytes x 61 layers
    assert cost(V3) == cost(V3, tp=8) == Cost(70_272)


def test_a_direct_query_projection_changes_weights_and_not_the_cache() -> None:
    # (512 + 64) x 2 x 27
    assert cost(V2_LITE).growing_bytes_per_token == 31_104
    assert parameters(read(V2_LITE)) == 15_706_484_224


def test_every_parameter_of_deepseek_v3_is_counted() -> None:
    model = read(V3)
    assert parameters(model) == 671_026_419_200
    assert model.moe is not None
    assert (model.moe.experts, model.moe.layers) == (256, tuple(range(3, 61)))


def test_a_draft_layer_is_one_more_layer_with_its_own_embedding_and_head() -> None:
    model = read(V3)
    # one MoE layer: attention 187,107,328 + experts 257 x 3 x 7168 x 2048 + router 256 x 7168 + 256 + two norms
    layer = 187_107_328 + 257 * 3 * 7168 * 2048 + 256 * 7168 + 256 + 2 * 7168
    # eh_proj 7168 x 14336, three norms, embedding and head of 129280 x 7168
    assert parameters(model, "mtp") == layer + 7168 * 14336 + 3 * 7168 + 2 * 129280 * 7168
    assert model.draft_groups == (LatentAttention((61,), 512, 64),)
    assert all(61 not in group.layers for group in model.groups)


def test_an_indexer_adds_a_key_of_132_bytes_whatever_the_cache_type() -> None:
    # 128 fp8 + one fp32 scale = 132 bytes
    assert cost(V32).growing_bytes_per_token == 61 * (1152 + 132) == 78_324
    assert cost(V32, FP8_DS_MLA).growing_bytes_per_token == 61 * (656 + 132) == 48_068
    assert parameters(read(V32)) == 671_877_944_064


def test_a_dense_fp8_cache_has_no_packed_layout() -> None:
    assert cost(V3, FP8_DS_MLA).growing_bytes_per_token == 61 * 576


def test_layers_that_share_an_indexer_keep_no_index_keys() -> None:
    # 78 x 1152 + 21 x 132
    assert cost(GLM_52).growing_bytes_per_token == 92_628
    assert parameters(read(GLM_52)) == 743_377_019_904


def test_the_frequency_of_indexers_gives_the_same_layers_as_the_list() -> None:
    by_rule = {**GLM_52, "indexer_types": None, "index_topk_freq": 4, "index_skip_topk_offset": 3}
    assert read(by_rule).groups == read(GLM_52).groups


def test_a_pattern_of_indexers_overrides_the_frequency() -> None:
    pattern = {**GLM_52, "indexer_types": None, "index_topk_pattern": "FS" * 39}
    index = next(group for group in read(pattern).groups if isinstance(group, KeyIndex))
    assert index.layers == tuple(range(0, 78, 2))


def test_the_draft_layer_of_shared_indexers_brings_its_own() -> None:
    assert KeyIndex((78,), 132) in read(GLM_52).draft_groups


def test_two_attention_parts_a_layer_cache_twice() -> None:
    model = read(LONGCAT)
    # 28 layers x 2 x 576 x 2 bytes
    assert total_cost(model.groups, BF16, 1).growing_bytes_per_token == 64_512
    assert model.layer_count == 28
    # zero experts have a row in the router and no weights: 560 B in the technical report (transformers' class gives
    # them weights, and 741 B); this reader's own figure
    assert parameters(model) == 560_664_980_480


def test_compressed_layers_hold_states_a_window_and_a_compressor() -> None:
    found = cost(V4_FLASH)
    # 21 layers x (584 + 132) / 4 + 20 x 584 / 128
    assert found.growing_bytes_per_token == 21 * 716 / 4 + 20 * 584 / 128 == 3850.25
    assert [(w.window_tokens, w.bytes_per_token) for w in found.windows] == [(128, 43 * 584)]
    # fp32: ratio 4: 8 tokens x 2 x 2 x (512 + 128) x 4 bytes; ratio 128: 128 x 2 x 512 x 4
    assert found.fixed_bytes_per_request == 21 * 81_920 + 20 * 524_288 == 12_206_080


def test_a_layer_without_compression_keeps_only_its_window() -> None:
    plain = next(g for g in read(V4_FLASH).groups if isinstance(g, CompressedAttention) and not g.tokens_per_state)
    assert (plain.layers, plain.compressor_bytes) == ((0, 1), 0)


def test_every_parameter_of_deepseek_v4_flash_is_counted() -> None:
    assert parameters(read(V4_FLASH)) == 284_334_567_511


def test_a_ratio_that_no_engine_knows_is_refused() -> None:
    with pytest.raises(BadInput, match="compress_ratios"):
        read({**V4_FLASH, "compress_ratios": [7] * 43})


def test_a_missing_latent_rank_is_named() -> None:
    with pytest.raises(BadInput, match="kv_lora_rank"):
        read({**V3, "kv_lora_rank": None})
