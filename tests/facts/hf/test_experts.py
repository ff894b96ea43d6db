"""Routed experts on plain attention, and decoders whose layers differ or repeat.

Totals are counts of transformers 5.24's classes on the meta device unless a comment says otherwise.
"""

from __future__ import annotations

from typing import Any

import pytest

from bide.errors import BadInput
from bide.facts.hf import from_config
from bide.facts.layers import CrossAttention, FullAttention, SlidingWindow
from bide.facts.model import Moe
from counted import heads, parameters, windows

WIDTHS = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")


def config(model_type: str, widths: tuple[int, ...], vocab: int, **more: Any) -> dict[str, Any]:
    """A config with (hidden, intermediate, layers, heads, KV heads)."""
    return {"model_type": model_type, **dict(zip(WIDTHS, widths, strict=True)), "vocab_size": vocab, **more}


MIXTRAL = config("mixtral", (4096, 14336, 32, 32, 8), 32000, num_local_experts=8, num_experts_per_tok=2)
GPT_OSS = config(
    "gpt_oss",
    (2880, 2880, 24, 64, 8),
    201088,
    head_dim=64,
    num_local_experts=32,
    num_experts_per_tok=4,
    sliding_window=128,
)
QWEN3 = config(
    "qwen3_moe",
    (2048, 6144, 48, 32, 4),
    151936,
    head_dim=128,
    moe_intermediate_size=768,
    num_experts=128,
    num_experts_per_tok=8,
    decoder_sparse_step=1,
    mlp_only_layers=[],
)
GLM_AIR = config(
    "glm4_moe",
    (4096, 10944, 46, 96, 8),
    151552,
    head_dim=128,
    attention_bias=True,
    moe_intermediate_size=1408,
    n_routed_experts=128,
    n_shared_experts=1,
    num_experts_per_tok=8,
    first_k_dense_replace=1,
    use_qk_norm=False,
    num_nextn_predict_layers=1,
)
HUNYUAN = config(
    "hunyuan_v1_moe",
    (4096, 3072, 32, 32, 8),
    128167,
    head_dim=128,
    num_experts=64,
    moe_topk=[8] * 32,
    moe_intermediate_size=[3072] * 32,
    num_shared_expert=[1] * 32,
    use_mixed_mlp_moe=True,
    use_qk_norm=True,
    tie_word_embeddings=True,
)


def test_mixtral_by_hand() -> None:
    # attention as Mistral 7B, 8 experts of three 4096 x 14336, a router of 8 x 4096
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 8 * 3 * 4096 * 14336 + 8 * 4096 + 2 * 4096
    assert 32 * layer + 2 * 32000 * 4096 + 4096 == 46_702_792_704
    assert parameters(MIXTRAL) == 46_702_792_704
    assert from_config(MIXTRAL, "mixtral").moe == Moe(8, 2, tuple(range(32)))


def test_gpt_oss_20b_by_hand() -> None:
    attention = 2 * 2880 * 4096 + 2 * 2880 * 512 + (4096 + 2 * 512 + 2880) + 64  # with biases, and a sink a head
    experts = 32 * (3 * 2880 * 2880 + 3 * 2880) + 32 * 2880 + 32  # with biases, and the router's
    assert 24 * (attention + experts + 2 * 2880) + 2 * 201088 * 2880 + 2880 == 20_914_757_184
    assert parameters(GPT_OSS) == 20_914_757_184
    assert windows(GPT_OSS, 4) == [128, None, 128, None]


def test_qwen3_30b_a3b_by_hand() -> None:
    attention = 2 * 2048 * 4096 + 2 * 2048 * 512 + 2 * 128  # 32 and 4 heads of 128, a norm on queries and keys
    assert 48 * (attention + 128 * 3 * 2048 * 768 + 128 * 2048 + 2 * 2048) + 2 * 151936 * 2048 + 2048 == 30_532_122_624
    assert parameters(QWEN3) == 30_532_122_624
    assert heads(QWEN3) == (48, 4)


@pytest.mark.parametrize(
    ("given_config", "total"),
    [
        (
            config("qwen2_moe", (2048, 5632, 24, 16, 16), 151936, moe_intermediate_size=1408, num_experts=60)
            | {"shared_expert_intermediate_size": 5632, "num_experts_per_tok": 4},
            14_315_784_192,
        ),
        (  # no class in transformers; public tables give deepseek-moe-16b-base 16,375,728,128
            config("deepseek", (2048, 10944, 28, 16, 16), 102400, moe_intermediate_size=1408, n_routed_experts=64)
            | {"n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1},
            16_375_728_128,
        ),
        (HUNYUAN, 80_393_183_232),
        (
            config("olmoe", (2048, 1024, 16, 16, 16), 50304, num_experts=64, num_experts_per_tok=8),
            6_919_161_856,
        ),
        (
            config("phimoe", (4096, 6400, 32, 32, 8), 32064, num_local_experts=16, num_experts_per_tok=2)
            | {"attention_bias": True, "lm_head_bias": True},
            41_873_153_344,
        ),
        (
            config("granitemoe", (1024, 512, 24, 16, 8), 49155, num_local_experts=32, num_experts_per_tok=8)
            | {"tie_word_embeddings": True},
            1_334_628_352,
        ),
        (  # no class in transformers; this reader's own figure, 16.8 B on Ling-lite's card
            config("bailing_moe", (2048, 5632, 28, 16, 4), 126464, moe_intermediate_size=1408, num_experts=64)
            | {"num_experts_per_tok": 6, "num_shared_experts": 2, "first_k_dense_replace": 0},
            16_801_974_272,
        ),
        (
            config("ernie4_5_moe", (2560, 12288, 28, 20, 4), 103424, moe_intermediate_size=1536, moe_num_experts=64)
            | {"moe_k": 6, "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_interval": 1},
            21_825_437_888,
        ),
        (
            config("dots1", (4096, 10944, 62, 32, 32), 152064, moe_intermediate_size=1408, n_routed_experts=128)
            | {"n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1},
            142_774_381_696,
        ),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_totals_of_published_configs(given_config: dict[str, Any], total: int) -> None:
    assert parameters(given_config) == total


def test_glm_4_5_air_brings_a_draft_layer_with_its_own_embedding_and_head() -> None:
    layer = 2 * 4096 * 12288 + 2 * 4096 * 1024 + (12288 + 2 * 1024) + 2 * 4096
    layer += 129 * 3 * 4096 * 1408 + 128 * 4096 + 128  # 128 experts and a shared one, the router and its correction
    assert parameters(GLM_AIR, "mtp") == layer + 2 * 4096 * 4096 + 3 * 4096 + 2 * 151552 * 4096
    # the class has 106,852,245,504 and 45 x 128 corrections; with the draft it is what listings of GLM-4.5-Air give
    assert parameters(GLM_AIR) == 106_852_245_504 + 45 * 128
    assert parameters(GLM_AIR) + parameters(GLM_AIR, "mtp") == 110_468_824_832
    model = from_config(GLM_AIR, "glm")
    assert model.draft_groups == (FullAttention((46,), 8, 128, 128),)
    assert model.moe == Moe(128, 8, tuple(range(1, 46)))


def test_dbrx_describes_experts_in_an_object_of_their_own() -> None:
    dbrx = {"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352}
    dbrx |= {"attn_config": {"kv_n_heads": 8}, "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16}}
    dbrx["ffn_config"]["moe_top_k"] = 4  # type: ignore[index]
    # attention with 8 KV heads, 16 experts of three 6144 x 10752, the router, two LayerNorms without bias: "132B" on
    # its card (docs.api.nvidia.com/nim/reference/databricks-dbrx-instruct)
    layer = 2 * 6144 * 6144 + 2 * 6144 * 1024 + 16 * 3 * 6144 * 10752 + 16 * 6144 + 2 * 6144
    assert parameters(dbrx) == 40 * layer + 2 * 100352 * 6144 + 6144 == 131_596_523_520
    assert heads(dbrx) == (40, 8)


def test_jetmoe_shares_keys_and_values_between_attention_experts() -> None:
    jet = {"model_type": "jetmoe", "hidden_size": 2048, "num_hidden_layers": 24, "num_key_value_heads": 16}
    jet |= {"kv_channels": 128, "intermediate_size": 5632, "vocab_size": 32000}
    jet |= {"num_local_experts": 8, "num_experts_per_tok": 2}
    assert parameters(jet) == 8_522_237_952
    assert heads(jet) == (24, 16)
    assert from_config(jet, "jetmoe").attention_heads == 32


def test_layers_without_experts_are_counted_as_dense() -> None:
    sparse = {**QWEN3, "decoder_sparse_step": 2, "mlp_only_layers": [1]}
    moe = from_config(sparse, "qwen").moe
    assert moe is not None
    assert moe.layers == tuple(range(3, 48, 2))  # each second layer, but not the second one


def test_hunyuan_with_shared_caches_stores_every_second_layer() -> None:
    shared = {**HUNYUAN, "use_cla": True, "cla_share_factor": 2}
    (group,) = from_config(shared, "hunyuan").groups
    assert group.layers == tuple(range(0, 32, 2))
    # 16 layers lose k, v (2 x 4096 x 1024) and the norm on k
    assert parameters(HUNYUAN) - parameters(shared) == 16 * (2 * 4096 * 1024 + 128)


def _block(group: int | None, times: float) -> dict[str, Any]:
    return {
        "attention": {"n_heads_in_group": group, "no_op": group is None},
        "ffn": {"ffn_mult": times, "no_op": False},
    }


def test_nemotron_nas_reads_its_blocks() -> None:
    # Llama-3_3-Nemotron-Super-49B-v1: how many blocks are of which kind; the order changes no total
    mults = [5.25] * 49 + [1.3125] * 10 + [1.0] * 8 + [2.625] * 6 + [0.5] * 6 + [3.28125]
    blocks = [_block(8 if i < 49 else None, times) for i, times in enumerate(mults)]
    nas = {"model_type": "nemotron-nas", "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64}
    nas |= {"num_key_value_heads": None, "vocab_size": 128256, "block_configs": blocks}
    assert parameters(nas) == 49_867_145_216  # this reader's own figure; 49 B in the model's name
    assert heads(nas) == (49, 8)
    with pytest.raises(BadInput, match="block_configs"):
        parameters({**nas, "block_configs": blocks[:79]})


def test_openelm_grows_with_depth() -> None:
    queries = [12] * 5 + [16] * 7 + [20] * 4
    widths = [0.5, 0.73, 0.97, 1.2, 1.43, 1.67, 1.9, 2.13, 2.37, 2.6, 2.83, 3.07, 3.3, 3.53, 3.77, 4.0]
    elm = {"model_type": "openelm", "model_dim": 1280, "head_dim": 64, "num_transformer_layers": 16}
    elm |= {"num_query_heads": queries, "num_kv_heads": [q // 4 for q in queries], "ffn_multipliers": widths}
    elm |= {"vocab_size": 32000, "max_context_length": 2048}
    assert parameters(elm) == 271_527_168  # this reader's own figure; OpenELM-270M
    assert [(g.kv_heads, len(g.layers)) for g in from_config(elm, "elm").groups] == [  # type: ignore[union-attr]
        (3, 5),
        (4, 7),
        (5, 4),
    ]
    with pytest.raises(BadInput, match="ffn_multipliers"):
        parameters({**elm, "ffn_multipliers": [-1.0] * 16})


def test_llama_3_2_vision_attends_across_in_eight_layers() -> None:
    vision = config("mllama_text_model", (4096, 14336, 40, 32, 8), 128256, cross_attention_layers=list(range(3, 40, 5)))
    # with its tower of 895,028,755 (`tower_cases.json`): 10,670,220,835, as listed for Llama-3.2-11B-Vision-Instruct
    assert parameters(vision) == 9_775_192_080
    own, across = from_config(vision, "mllama").groups[1], from_config(vision, "mllama").groups[0]
    by_type = {type(group): group for group in (own, across)}
    assert len(by_type[FullAttention].layers) == 32
    assert by_type[CrossAttention].layers == tuple(range(3, 40, 5))


def test_hrm_passes_its_two_stacks_many_times() -> None:
    hrm = config("hrm_text", (1536, 4096, 128, 12, 12), 151808, H_cycles=2, L_cycles=3, num_layers_per_stack=16)
    assert parameters(hrm) == 1_447_822_848  # 2 x 16 layers
    assert heads(hrm) == (128, 12)


def test_iquest_loop_keeps_a_window_for_its_second_pass() -> None:
    loop = config("iquestloopcoder", (5120, 27648, 4, 40, 8), 76800, loop_num=2, loop_window_size=64)
    everywhere, local = from_config(loop, "iquest").groups
    assert everywhere == FullAttention((0, 1, 2, 3), 8, 128, 128)
    assert local == SlidingWindow((0, 1, 2, 3), 8, 128, 128, window_tokens=64)
