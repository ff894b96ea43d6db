"""Class defaults behind nested configs."""

from __future__ import annotations

from pathlib import Path

from bide.facts.hf import defaults
from bide.facts.hf.defaults import class_defaults, source, text_class
from bide.facts.hf.fields import Fields
from bide.facts.hf.reader import from_config

FILE = Path(defaults.__file__).parents[1] / "data" / "class_defaults.json"


def test_gemma_3s_omitted_heads_are_those_of_its_class() -> None:
    # transformers 5.24 configuration_gemma3.py
    text = class_defaults("gemma3_text")
    assert (text["num_attention_heads"], text["num_key_value_heads"], text["head_dim"]) == (8, 4, 256)


def test_an_unknown_class_has_no_defaults() -> None:
    assert class_defaults("no such class") == {}


def test_equal_classes_share_one_entry() -> None:
    assert class_defaults("glm4") == class_defaults("glm") != {}


def test_llavas_text_is_a_llama() -> None:
    assert text_class("llava", "llava") == "llama"
    assert text_class("no such class", "itself") == "itself"


def test_the_file_is_small_and_says_where_it_comes_from() -> None:
    assert FILE.stat().st_size < 60 * 1024
    assert "transformers 5.24.0" in source()


def test_a_stated_null_is_not_replaced_by_the_class_default() -> None:
    fields = Fields({"sliding_window": None}, defaults={"sliding_window": 4096, "head_dim": 64})
    assert fields.raw("sliding_window")[1] is None
    assert fields.int("head_dim") == 64


def test_llava_1_5s_text_config_leaves_everything_to_llama() -> None:
    # llava-hf/llava-1.5-7b-hf states only vocab_size 32064; Vicuna 7B is Llama 2 7B with 64 more rows in embedding
    # and head: 6,738,415,616 + 2 * 64 * 4096 = 6,738,939,904 (with its tower of 324,487,168 the whole class's
    # 7,063,427,072)
    config = {"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}}
    model = from_config(config, "llava-1.5-7b")
    assert model.parameters == 6_738_939_904


def test_a_plain_config_gets_no_class_defaults() -> None:
    fields = Fields({"model_type": "llama"})
    assert not fields.has("num_attention_heads")
