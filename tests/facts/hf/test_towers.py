"""Encoder towers, to the parameter: totals of transformers 5.24 model classes and of checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bide.errors import BadInput
from bide.facts.hf.reader import from_config
from bide.facts.hf.towers import encoders

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "tower_cases.json").read_text())
"""`config`, the text model's width, and the parameters of everything that is not the text model, counted on the
model classes of transformers 5.24.0 built from that config on the meta device."""


def total(config: dict[str, Any], text_hidden: int) -> int:
    return sum(tensor.parameters for tensor in encoders(config, text_hidden).tensors)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_a_tower_has_as_many_parameters_as_its_class(case: dict[str, Any]) -> None:
    assert total(case["config"], case["text_hidden"]) == case["parameters"]


def test_clip_by_hand() -> None:
    # ViT-L/14 at 336 pixels: width 1,024, 24 blocks, feed-forward 4,096, (336 / 14)^2 + 1 = 577 positions
    # block: 4 * 1024 * 1025 attention + (1024 + 1) * 4096 + (4096 + 1) * 1024 + 2 norms of 2 * 1024 = 12,596,224
    # around: class 1,024 + patch 588 * 1,024 + positions 577 * 1,024 + 2 norms of 2 * 1,024 = 1,198,080
    # Phi-3.5-vision, listed with 4,146,621,440, of which Phi-3 mini has 3,821,079,552:
    # projector 4,096 * 3,072 + 3,072 + 3,072 * 3,072 + 3,072 and two separators of 4,096
    assert 24 * 12_596_224 + 1_198_080 == 303_507_456
    assert total({"model_type": "phi3_v", "img_processor": {"name": "clip"}}, 3072) == 303_507_456 + 22_026_240 + 8192


def test_towers_without_a_class_in_transformers_are_what_the_checkpoint_has_beside_its_text_model() -> None:
    # Totals as public listings give the safetensors of each.
    # OpenGVLab/InternVL2_5-2B, as InternVL2-2B: 2,205,754,368 = InternLM2 1.8B 1,889,146,880 + 316,607,488
    intern = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
    intern |= {"image_size": 448, "patch_size": 14, "qkv_bias": True}
    assert total({"model_type": "internvl_chat", "downsample_ratio": 0.5, "vision_config": intern}, 2048) == 316_607_488
    # allenai/Molmo-7B-D-0924, shown as 8.02 B: Qwen2 7B 7,615,616,512 + 128 * 3,584 extra embeddings + 404,950,016,
    # this reader's own figure
    assert total({"model_type": "molmo", "intermediate_size": 37888}, 3584) == 404_950_016
    # deepseek-ai/DeepSeek-OCR 3,336,106,240 = its decoder's 2,934,734,080 + 401,372,160
    linear = {"projector_type": "linear", "input_dim": 2048, "n_embed": 1280}
    ocr = {"model_type": "deepseek_ocr", "vision_config": {}, "projector_config": linear}
    assert total(ocr, 1280) == 401_372_160
    # openbmb/MiniCPM-V-2_6 8,099,175,152 = Qwen2 7B with 151,666 words 7,612,763,648 + 486,411,504
    so400m = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
    so400m |= {"image_size": 980, "patch_size": 14}
    assert total({"model_type": "minicpmv", "query_num": 64, "vision_config": so400m}, 3584) == 486_411_504


def test_every_tensor_belongs_to_the_encoder_part() -> None:
    for case in CASES:
        for tensor in encoders(case["config"], case["text_hidden"]).tensors:
            assert tensor.part == "encoder"
            assert tensor.component in ("vision", "audio", "projector")


def test_a_family_without_a_rule_keeps_its_text_model_and_says_so() -> None:
    text = {"model_type": "llama", "vocab_size": 32000}
    model = from_config({"model_type": "new_vl", "text_config": text, "vision_config": {"hidden_size": 8}}, "x")
    assert model.parameters == 6_738_415_616
    assert model.notes == ("the encoder's weights are not counted: no rule for new_vl",)


def test_a_config_that_leaves_its_encoder_out_says_so() -> None:
    model = from_config({"model_type": "llava", "text_config": {"model_type": "llama"}}, "x")
    assert "does not describe the encoder of llava" in model.notes[0]


def test_a_plain_text_model_has_no_encoder_and_no_note() -> None:
    assert encoders({"model_type": "llama"}, 4096).notes == ()


def test_the_talker_of_an_omni_model_is_not_counted() -> None:
    thinker = {"vision_config": {}, "audio_config": {}}
    bare = {"model_type": "qwen2_5_omni", "thinker_config": thinker}
    assert total(bare, 3584) == total({**bare, "talker_config": {"hidden_size": 896}, "token2wav_config": {}}, 3584)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"hidden_size": -1}, "hidden_size"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"patch_size": [14, 16]}, "patch_size"),
        ({"model_type": "no_such_vit"}, "model_type"),
    ],
)
def test_a_hostile_tower_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    see = {"model_type": "clip_vision_model", "hidden_size": 1024, **change}
    with pytest.raises(BadInput, match=rf"vision_config: {field}"):
        encoders({"model_type": "llava", "vision_config": see}, 4096)


def test_towers_that_the_engine_does_not_divide_are_whole_on_every_rank() -> None:
    # vLLM 0.33 runs Qwen2-Audio's encoder as transformers' own module
    tensors = encoders({"model_type": "qwen2_audio", "audio_config": {}}, 4096).tensors
    assert {tensor.split for tensor in tensors} == {"none"}
