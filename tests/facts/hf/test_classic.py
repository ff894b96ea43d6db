"""GPT-2's generation. Totals are counts of transformers 5.24's classes (meta device) unless a comment says more."""

from __future__ import annotations

from typing import Any

import pytest

from bide.errors import BadInput
from counted import heads, parameters, windows

GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}
FALCON = {
    "model_type": "falcon",
    "hidden_size": 4544,
    "num_hidden_layers": 32,
    "num_attention_heads": 71,
    "vocab_size": 65024,
    "multi_query": True,
    "parallel_attn": True,
    "bias": False,
}
MPT = {
    "model_type": "mpt",
    "d_model": 4096,
    "n_heads": 32,
    "n_layers": 32,
    "expansion_ratio": 4,
    "vocab_size": 50432,
    "max_seq_len": 2048,
    "attn_config": {"alibi": True},
}
OPT = {
    "model_type": "opt",
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "ffn_dim": 4096,
    "vocab_size": 50272,
    "max_position_embeddings": 2048,
    "word_embed_proj_dim": 512,
    "do_layer_norm_before": False,
}
CHATGLM = {
    "model_type": "chatglm",
    "hidden_size": 4096,
    "ffn_hidden_size": 13696,
    "num_layers": 28,
    "num_attention_heads": 32,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "kv_channels": 128,
    "padded_vocab_size": 65024,
    "add_qkv_bias": True,
    "add_bias_linear": False,
    "rmsnorm": True,
    "post_layer_norm": True,
    "seq_length": 8192,
}
QWEN = {
    "model_type": "qwen",
    "hidden_size": 4096,
    "intermediate_size": 22016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "kv_channels": 128,
    "vocab_size": 151936,
    "no_bias": True,
}


def test_gpt2_by_hand() -> None:
    # qkv 768 x 2304, o 768 x 768, two of 768 x 3072, their biases, two LayerNorms of two vectors
    layer = 768 * 2304 + 2304 + 768 * 768 + 768 + 2 * 768 * 3072 + 3072 + 768 + 4 * 768
    # words and positions; the head is the words' table
    assert 12 * layer + 50257 * 768 + 1024 * 768 + 2 * 768 == 124_439_808
    assert parameters(GPT2) == 124_439_808
    assert heads(GPT2) == (12, 12)


def test_falcon_7b_by_hand() -> None:
    # one KV head of 64: qkv 4544 x (4544 + 128); attention and feed-forward share one LayerNorm
    layer = 4544 * (4544 + 128) + 4544 * 4544 + 8 * 4544 * 4544 + 2 * 4544
    assert 32 * layer + 65024 * 4544 + 2 * 4544 == 6_921_720_704
    assert parameters(FALCON) == 6_921_720_704
    assert heads(FALCON) == (32, 1)


def test_falcon_40b_under_its_first_name() -> None:
    first = {"model_type": "RefinedWeb", "hidden_size": 8192, "n_layer": 60, "n_head": 128, "n_head_kv": 8}
    falcon = {**first, "vocab_size": 65024, "parallel_attn": True, "bias": False}
    assert parameters(falcon) == 41_303_293_952
    assert heads(falcon) == (60, 8)


def test_falcon_rw_has_biases_and_all_heads() -> None:
    rw = {**FALCON, "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "vocab_size": 50304}
    rw |= {"multi_query": False, "parallel_attn": False, "bias": True, "alibi": True}
    assert parameters(rw) == 1_311_625_216
    assert heads(rw) == (24, 32)


@pytest.mark.parametrize(
    ("config", "total"),
    [
        (OPT, 331_196_416),
        ({"model_type": "bloom", "hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880}, 559_214_592),
        ({"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "vocab_size": 50400}, 6_050_882_784),
        (MPT, 6_649_286_656),
        # No class in transformers: as calculate-flops.pytorch counts the published code of chatglm2-6b and Qwen-7B.
        (CHATGLM, 6_243_584_000),
        (QWEN, 7_721_324_544),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_totals_of_their_own_classes(config: dict[str, Any], total: int) -> None:
    assert parameters(config) == total


def test_pythia_and_phi() -> None:
    common = {"num_hidden_layers": 32, "num_attention_heads": 32}
    pythia = {"model_type": "gpt_neox", "hidden_size": 4096, "intermediate_size": 16384, "vocab_size": 50432}
    phi = {"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "vocab_size": 51200}
    assert parameters({**pythia, **common}) == 6_857_302_016
    assert parameters({**phi, **common}) == 2_779_683_840


def test_phi_1_5_in_its_first_spelling() -> None:
    phi = {"model_type": "phi-msft", "n_embd": 2048, "n_layer": 24, "n_head": 32, "n_inner": None, "n_head_kv": None}
    assert parameters({**phi, "vocab_size": 51200, "n_positions": 2048}) == 1_418_270_720


def test_starcoder_has_one_kv_head_unless_it_says_otherwise() -> None:
    coder = {"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576}
    coder |= {"vocab_size": 49152, "n_positions": 8192}
    assert parameters(coder) == 15_517_456_384
    assert heads(coder) == (40, 1)
    assert heads({**coder, "multi_query": False}) == (40, 48)


def test_stablelm_with_and_without_its_options() -> None:
    small = {"model_type": "stablelm", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24}
    small |= {"num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352, "use_qkv_bias": True}
    assert parameters(small) == 1_644_515_328
    # norms on each of 32 query and 32 key heads of 64, and one LayerNorm of 2 x 2048 less
    more = {**small, "qk_layernorm": True, "use_parallel_residual": True}
    assert parameters(more) - parameters(small) == 24 * (2 * 32 * 64 - 2 * 2048)


def test_gpt_neo_alternates() -> None:
    neo = {"model_type": "gpt_neo", "hidden_size": 2048, "num_layers": 24, "num_heads": 16, "vocab_size": 50257}
    neo |= {"max_position_embeddings": 2048, "window_size": 256, "attention_types": [[["global", "local"], 12]]}
    assert parameters(neo) == 1_315_575_808
    assert windows(neo, 24) == [None, 256] * 12
    with pytest.raises(BadInput, match="attention_types"):
        parameters({**neo, "attention_types": [[["global", "local"], 11]]})


def test_chatglm_without_groups_has_as_many_kv_heads_as_heads() -> None:
    assert heads(CHATGLM) == (28, 2)
    assert heads({**CHATGLM, "multi_query_attention": False}) == (28, 32)


def test_mpt_finds_its_kv_heads_in_the_attention_config() -> None:
    assert heads(MPT) == (32, 32)
    assert heads({**MPT, "attn_config": {"alibi": True, "kv_n_heads": 8}}) == (32, 8)


def test_gpt_neox_japanese_has_one_bias() -> None:
    neox = {"model_type": "gpt_neox_japanese", "hidden_size": 2560, "num_hidden_layers": 32, "num_attention_heads": 32}
    assert parameters({**neox, "vocab_size": 32000, "intermediate_multiple_size": 4}) == 2_598_837_760


def test_molmo_counts_half_the_width_and_128_rows_more() -> None:
    molmo = {"model_type": "molmo", "hidden_size": 3584, "intermediate_size": 37888, "num_hidden_layers": 28}
    molmo |= {"num_attention_heads": 28, "num_key_value_heads": 4, "embedding_size": 152064, "vocab_size": 152064}
    # Qwen2-7B with its 152064 rows (7,615,616,512) and 128 x 3584 more
    assert parameters({**molmo, "qkv_bias": True, "weight_tying": False}) == 7_615_616_512 + 128 * 3584
