"""From a config.json to a Model: which part is read, by which reader, and what it says when it cannot."""

from __future__ import annotations

from typing import Any

import pytest

from bide.errors import BadInput, UnknownArchitecture
from bide.facts.hf.reader import from_config

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
}
"""meta-llama/Llama-3.1-8B: 8,030,261,248 parameters (model card)."""


def test_the_published_total_of_llama_3_1_8b() -> None:
    assert from_config(LLAMA, "x").parameters == 8_030_261_248


@pytest.mark.parametrize("key", ["text_config", "llm_config", "language_config"])
def test_a_nested_text_model_is_read(key: str) -> None:
    assert from_config({"model_type": "some_wrapper", key: LLAMA}, "x").parameters == 8_030_261_248


def test_root_keys_hold_for_the_text_model_unless_it_states_its_own() -> None:
    # tied: without the head of 128,256 * 4096
    tied = from_config({"tie_word_embeddings": True, "text_config": LLAMA}, "x")
    assert tied.parameters == 8_030_261_248 - 128_256 * 4096
    own = from_config({"tie_word_embeddings": True, "text_config": {**LLAMA, "tie_word_embeddings": False}}, "x")
    assert own.parameters == 8_030_261_248


def test_the_class_name_decides_where_no_model_type_does() -> None:
    config = {**LLAMA, "model_type": "", "architectures": ["LlamaForCausalLM"]}
    assert from_config(config, "x").family == "llama"


def test_an_unknown_type_is_an_error_that_names_it_and_the_nearest() -> None:
    with pytest.raises(UnknownArchitecture, match=r"'lama'.*llama"):
        from_config({**LLAMA, "model_type": "lama"}, "x")


def test_a_missing_field_names_every_alias() -> None:
    config = {key: value for key, value in LLAMA.items() if key != "num_hidden_layers"}
    with pytest.raises(BadInput, match=r"num_hidden_layers \| num_layers"):
        from_config(config, "x")


def test_a_field_of_a_nested_part_is_named_with_its_place() -> None:
    with pytest.raises(BadInput, match=r"config\.json\.text_config: hidden_size"):
        from_config({"text_config": {**LLAMA, "hidden_size": "big"}}, "x")


def test_a_model_type_that_is_no_text_is_refused() -> None:
    with pytest.raises(BadInput, match="model_type"):
        from_config({**LLAMA, "model_type": ["llama"]}, "x")
