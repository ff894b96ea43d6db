"""The catalogue of models: names, aliases, and that it says what the readers say."""

from __future__ import annotations

import json

import pytest

from bide.errors import BadInput, UnknownName
from bide.facts.codec import decode, encode, from_ranges, to_ranges
from bide.facts.models import Entry, catalogue, find, load_model


def test_at_least_sixty_models_of_many_families() -> None:
    assert len(catalogue()) >= 60
    assert len({entry.family for entry in catalogue()}) >= 30


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("llama-3.1-8b", "meta-llama/Llama-3.1-8B"),
        ("Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"),
        ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),  # an id keeps the name it was given
        ("llama_3.1 8b", "meta-llama/Llama-3.1-8B"),
        ("deepseek-v3", "deepseek-ai/DeepSeek-V3"),
        ("qwen3-30b", "Qwen/Qwen3-30B-A3B"),
        ("gpt-oss-120b", "openai/gpt-oss-120b"),
    ],
)
def test_names_and_aliases(name: str, model: str) -> None:
    assert load_model(name).name == model


def test_every_alias_means_one_model() -> None:
    for entry in catalogue():
        for name in (entry.id, *entry.aliases):
            found = find(name)
            assert found is not None
            assert found.id == entry.id


@pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: entry.id)
def test_the_index_agrees_with_the_model(entry: Entry) -> None:
    model = load_model(entry.id)
    assert sum(t.parameters for t in model.tensors if t.part != "mtp") == entry.parameters
    assert model.source.text
    assert model.source.checked


@pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: entry.id)
def test_a_model_survives_the_catalogue_format(entry: Entry) -> None:
    model = load_model(entry.id)
    assert decode(model.name, json.loads(json.dumps(encode(model))), model.source) == model


def test_an_unknown_name_comes_with_near_ones() -> None:
    with pytest.raises(UnknownName, match=r"[Dd]id you mean"):
        load_model("lama-3.1-8b")


def test_a_path_that_is_no_model_is_named() -> None:
    with pytest.raises(BadInput, match="model"):
        load_model("./no-such-folder/config.json")


@pytest.mark.parametrize("indices", [(), (0,), (0, 1, 2), (3, 7, 11), (0, 0, 1, 1), (5, 3), (1, 2, 4, 8, 9, 10)])
def test_ranges_round_trip(indices: tuple[int, ...]) -> None:
    assert from_ranges(to_ranges(indices)) == indices


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("gemma-3-27b-it", 131_072),
        ("llama-2-13b", 4096),
        ("llama-2-70b", 4096),
        ("qwen2.5-72b-instruct", 32_768),
    ],
)
def test_the_longest_context_is_the_published_checkpoints(name: str, tokens: int) -> None:
    assert load_model(name).max_context_tokens == tokens


def test_qwen3_32b_is_its_fp8_copy_without_the_quantisation() -> None:
    # Qwen3-32B's card: 32.8 B parameters, 64 layers with 8 KV heads
    plain, fp8 = load_model("qwen3-32b"), load_model("qwen3-32b-fp8")
    assert (plain.quantisation, plain.parameters) == (None, 32_762_123_264)
    assert (plain.tensors, plain.groups) == (fp8.tensors, fp8.groups)
