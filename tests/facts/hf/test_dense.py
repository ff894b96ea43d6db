"""Dense decoders: parameters to the last one, and the cache that each layer keeps.

Totals are counts of transformers 5.24's classes on the meta device (`tools/check_parameters.py`), unless a comment
says otherwise.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.facts.hf import from_config
from bide.facts.layers import FullAttention, SlidingWindow
from counted import heads, parameters, windows

WIDTHS = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")


def config(model_type: str, widths: tuple[int, ...], vocab: int, **more: Any) -> dict[str, Any]:
    """A config with (hidden, intermediate, layers, heads, KV heads)."""
    return {"model_type": model_type, **dict(zip(WIDTHS, widths, strict=True)), "vocab_size": vocab, **more}


LLAMA_8B = config("llama", (4096, 14336, 32, 32, 8), 128256)


def test_llama_3_1_8b_by_hand() -> None:
    # a layer: q and o 2 x 4096 x 4096, k and v 2 x 4096 x 1024, three of 4096 x 14336, two norms
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096
    # 32 of them, embedding and head of 128256 x 4096 each, the final norm
    assert 32 * layer + 2 * 128256 * 4096 + 4096 == 8_030_261_248
    assert parameters(LLAMA_8B) == 8_030_261_248
    assert heads(LLAMA_8B) == (32, 8)


def test_qwen2_5_3b_by_hand() -> None:
    # as Llama, with biases on q (2048), k and v (2 x 256), and one matrix for embedding and head
    layer = 2 * 2048 * 2048 + 2 * 2048 * 256 + 3 * 2048 * 11008 + 2 * 2048 + (2048 + 2 * 256)
    assert 36 * layer + 151936 * 2048 + 2048 == 3_085_938_688
    qwen = config("qwen2", (2048, 11008, 36, 16, 2), 151936, tie_word_embeddings=True)
    assert parameters(qwen) == 3_085_938_688


def test_gemma_2_2b_by_hand() -> None:
    # head_dim 256 x 8 heads is not the hidden size of 2304; four norms a layer; tied though the config is silent
    layer = 2 * 2304 * 2048 + 2 * 2304 * 1024 + 3 * 2304 * 9216 + 4 * 2304
    assert 26 * layer + 256000 * 2304 + 2304 == 2_614_341_888
    gemma = config("gemma2", (2304, 9216, 26, 8, 4), 256000, head_dim=256, sliding_window=4096)
    assert parameters(gemma) == 2_614_341_888


@pytest.mark.parametrize(
    ("given_config", "total"),
    [
        (config("llama", (2048, 8192, 16, 32, 8), 128256, head_dim=64, tie_word_embeddings=True), 1_235_814_400),
        (config("mistral", (4096, 14336, 32, 32, 8), 32000, sliding_window=4096), 7_241_732_096),
        (config("qwen3", (2560, 9728, 36, 32, 8), 151936, head_dim=128, tie_word_embeddings=True), 4_022_468_096),
        (config("phi3", (3072, 8192, 32, 32, 32), 32064), 3_821_079_552),
        (config("gemma3_text", (1152, 6912, 26, 4, 1), 262144, head_dim=256, sliding_window=512), 999_885_952),
        (config("olmo2", (4096, 11008, 32, 32, 32), 100352), 7_298_617_344),
        (config("cohere", (8192, 22528, 40, 64, 64), 256000), 34_980_831_232),
        (config("glm4", (4096, 13696, 40, 32, 2), 151552, head_dim=128, attention_bias=True), 9_400_279_040),
        (config("smollm3", (2048, 11008, 36, 16, 4), 128256), 3_075_098_624),
        (config("seed_oss", (5120, 27648, 64, 80, 8), 155136, head_dim=128), 36_151_104_512),
        (config("apertus", (4096, 21504, 32, 32, 8), 131072), 8_053_338_176),
        # The next three have no class in transformers: InternLM2-7B's checkpoint has 7,737,708,544 elements in 227
        # tensors; Baichuan 2 7B is Llama with 125,696 rows; MTEB lists embedders made of MiniCPM-2B with its total.
        (config("internlm2", (4096, 14336, 32, 32, 8), 92544, bias=False), 7_737_708_544),
        (config("baichuan", (4096, 11008, 32, 32, 32), 125696), 7_505_973_248),
        (config("minicpm", (2304, 5760, 40, 36, 36), 122753, tie_word_embeddings=True), 2_724_880_896),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_totals_of_published_configs(given_config: dict[str, Any], total: int) -> None:
    assert parameters(given_config) == total


@pytest.mark.parametrize(
    ("given_config", "total"),
    [
        (config("arcee", (2560, 18432, 32, 32, 32), 32000, head_dim=80), 4_022_766_080),
        (config("bitnet", (2560, 6912, 30, 20, 5), 128256), 2_741_155_840),
        (config("cwm", (6144, 21504, 64, 48, 8), 128256, head_dim=128, sliding_window=8192), 32_581_097_472),
        (config("diffllama", (2048, 8192, 16, 32, 32), 32000, head_dim=64), 1_204_885_504),
        (config("ernie4_5", (1024, 3072, 18, 16, 2), 103424, head_dim=128), 360_748_032),
        (config("exaone4", (4096, 16384, 32, 32, 32), 102400, sliding_window=4096), 9_429_069_824),
        (config("granite_swa", (2560, 8192, 24, 20, 4), 100352, sliding_window=128), 2_144_463_840),
        (config("jais2", (3328, 26624, 32, 26, 26), 150272, head_dim=128), 8_090_401_280),
        (config("nanochat", (768, 8192, 12, 6, 6), 50304), 256_573_440),
        (config("olmo", (4096, 11008, 32, 32, 32), 50304), 6_888_095_744),
        (config("vaultgemma", (2304, 9216, 26, 8, 4), 256000, head_dim=256, sliding_window=4096), 2_614_222_080),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_totals_of_the_model_classes(given_config: dict[str, Any], total: int) -> None:
    assert parameters(given_config) == total


def test_mimo_has_one_draft_layer_beside_the_model() -> None:
    # a layer (with biases), the projection of 2h to h and three norms more
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 11008 + 2 * 4096 + 4096 + 2 * 1024
    mimo = config("mimo", (4096, 11008, 36, 32, 8), 151680, head_dim=128, num_nextn_predict_layers=1)
    assert parameters(mimo, "mtp") == layer + 2 * 4096 * 4096 + 3 * 4096
    # as Qwen 2 with these widths: 36 such layers, embedding and head, the last norm
    assert parameters(mimo) == 36 * layer + 2 * 151680 * 4096 + 4096
    assert from_config(mimo, "mimo").draft_groups == (FullAttention((36,), 8, 128, 128),)


def test_mistral_slides_in_every_layer_and_only_where_a_window_is_set() -> None:
    mistral = config("mistral", (4096, 14336, 2, 32, 8), 32000)
    assert windows({**mistral, "sliding_window": 4096}, 2) == [4096, 4096]
    assert windows({**mistral, "sliding_window": None}, 2) == [None, None]


def test_qwen_ignores_its_window_unless_told_to_use_it() -> None:
    qwen = config("qwen2", (896, 4864, 4, 14, 2), 151936, sliding_window=32768, max_window_layers=2)
    assert windows({**qwen, "use_sliding_window": False}, 4) == [None] * 4
    assert windows({**qwen, "use_sliding_window": True}, 4) == [None, None, 32768, 32768]


@pytest.mark.parametrize(
    ("model_type", "more", "local"),
    [
        ("gemma2", {}, "LGLGLGLG"),
        ("gemma3_text", {}, "LLLLLGLL"),
        ("cohere2", {}, "LLLGLLLG"),
        ("olmo3", {}, "LLLGLLLG"),
        ("cwm", {}, "GLLLGLLL"),
        ("exaone4", {"sliding_window_pattern": "LLLG"}, "LLLGLLLG"),
        ("exaone4", {"sliding_window_pattern": 0}, "GGGGGGGG"),
        ("plamo3", {"sliding_window": [64, None] * 4}, "LGLGLGLG"),
        ("llama", {"layer_types": ["sliding_attention", "full_attention"] * 4}, "LGLGLGLG"),
    ],
)
def test_which_layers_are_local(model_type: str, more: dict[str, Any], local: str) -> None:
    given_config = config(model_type, (1024, 2048, 8, 8, 4), 1000, **{"sliding_window": 64, **more})
    assert windows(given_config, 8) == [64 if letter == "L" else None for letter in local]


def test_local_and_global_layers_are_two_groups() -> None:
    gemma = config("gemma3_text", (1152, 6912, 26, 4, 1), 262144, head_dim=256, sliding_window=512)
    local, everywhere = sorted(from_config(gemma, "gemma").groups, key=lambda group: -len(group.layers))
    assert isinstance(local, SlidingWindow)
    assert (len(local.layers), local.window_tokens) == (22, 512)
    assert everywhere == FullAttention((5, 11, 17, 23), 1, 256, 256)


def test_minicpm_v_is_read_by_its_version() -> None:
    base = config("minicpmv", (3584, 18944, 28, 28, 4), 151666, version=2.6)
    # Qwen2's biases: 28 layers x (28 x 128 + 2 x 4 x 128)
    assert parameters(base) - parameters({**base, "version": 4.0}) == 28 * (3584 + 2 * 512)
    with pytest.raises(BadInput, match="version"):
        parameters({**base, "version": 9.9})


def test_a_hidden_size_that_the_heads_do_not_divide_is_named() -> None:
    with pytest.raises(BadInput, match="hidden_size"):
        from_config(config("llama", (4096, 14336, 32, 33, 8), 128256), "odd")


@given(
    hidden=st.integers(1, 64).map(lambda n: n * 64),
    intermediate=st.integers(1, 20_000),
    layers=st.integers(1, 80),
    kv_heads=st.sampled_from((1, 2, 4, 8)),
    vocab=st.integers(1, 300_000),
)
def test_llama_is_its_formula_and_a_tie_saves_the_head(
    hidden: int, intermediate: int, layers: int, kv_heads: int, vocab: int
) -> None:
    widths = (hidden, intermediate, layers, 8, kv_heads)
    untied = config("llama", widths, vocab)
    kv = hidden // 8 * kv_heads
    layer = 2 * hidden * hidden + 2 * hidden * kv + 3 * hidden * intermediate + 2 * hidden
    assert parameters(untied) == layers * layer + 2 * vocab * hidden + hidden
    assert parameters(untied) - parameters({**untied, "tie_word_embeddings": True}) == vocab * hidden
    assert heads(untied) == (layers, kv_heads)
