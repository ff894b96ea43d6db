"""Engines by version: what changed when, and laws over their data files."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput, UnknownName
from bide.facts.catalogue import table
from bide.facts.engines import ENGINES, engine, parse_version
from bide.units import GIB

every_engine = pytest.mark.parametrize("name", ENGINES)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.19.0", (0, 19, 0)),
        ("v0.22.1", (0, 22, 1)),
        ("0.26.1rc1.dev156+g0eec856cc.d20260731", (0, 26, 1)),
        ("0.13.0rc2.dev112+g763963aa7.d20251213", (0, 13, 0)),
        ("0.5.4.post1", (0, 5, 4)),
        ("1", (1,)),
    ],
)
def test_versions_as_engines_print_them(text: str, version: tuple[int, ...]) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["", "latest", "x.1", None, 0.19, "9" * 200])
def test_what_is_no_version(text: object) -> None:
    with pytest.raises(BadInput, match="engine_version"):
        parse_version(text)


@given(st.text(max_size=40))
def test_any_text_is_a_version_or_bad_input(text: str) -> None:
    with contextlib.suppress(BadInput):
        assert all(part >= 0 for part in parse_version(text))


@pytest.mark.parametrize(
    ("version", "share", "printed", "ratio", "graphs"),
    [
        ("0.11.0", 0.9, "blocks", 1.0, False),
        ("0.17.1", 0.9, "blocks", 1.25, False),
        ("0.19.0", 0.9, "blocks", 1.5, False),
        ("0.20.0", 0.92, "blocks", 1.5, True),
        ("0.21.0", 0.92, "concurrency", 1.5, True),
        ("0.33.0", 0.92, "concurrency", 1.5, True),
    ],
)
def test_vllm_by_version(version: str, share: float, printed: str, ratio: float, graphs: bool) -> None:
    found = engine("vllm", version)
    assert found.gpu_memory_utilization == share
    assert found.blocks.printed_tokens == printed
    assert found.blocks.larger_group_ratio == ratio
    assert found.graphs_in_pool_budget is graphs


@pytest.mark.parametrize(
    ("version", "gib", "name", "seqs", "batched"),
    [
        ("0.19.0", 79.6, "NVIDIA H100 80GB HBM3", 1024, 8192),
        ("0.19.0", 80.0, "NVIDIA A100-SXM4-80GB", 256, 2048),
        ("0.8.5", 80.0, "NVIDIA A100-SXM4-80GB", 1024, 8192),
        ("0.19.0", 24.0, "NVIDIA GeForce RTX 3090", 256, 2048),
        ("0.27.0", 179.0, "NVIDIA B200", 1024, 8192),
        ("0.28.0", 179.0, "NVIDIA B200", 1024, 16_384),
        ("0.33.0", 121.7, "NVIDIA GB10", 256, 2048),
    ],
)
def test_vllm_batch_defaults_by_card(version: str, gib: float, name: str, seqs: int, batched: int) -> None:
    tier = engine("vllm", version).batch_tier(round(gib * GIB), (name,))
    assert (tier.max_num_seqs, tier.max_num_batched_tokens) == (seqs, batched)


def test_no_version_is_the_newest_and_says_so() -> None:
    found = engine("vllm")
    assert found.version_text == table("engines/vllm.json")["newest"]
    assert [assumption.name for assumption in found.assumptions] == ["engine_version"]


def test_a_version_from_the_future_uses_the_newest_rules_and_says_so() -> None:
    found = engine("vllm", "9.0")
    assert found.blocks == engine("vllm").blocks
    assert found.assumptions[0].name == "engine rules"
    assert engine("vllm", "0.19.0").assumptions == ()


def test_spellings_and_unknown_engines() -> None:
    assert engine("TensorRT-LLM").name == "trtllm"
    with pytest.raises(UnknownName, match="vllm"):
        engine("vlm")


@every_engine
def test_every_setting_has_ascending_versions_and_a_source(name: str) -> None:
    facts = table(f"engines/{name}.json")
    for key, entries in facts["settings"].items():
        versions = [parse_version(entry["since"]) for entry in entries]
        assert versions == sorted(set(versions)), key
        assert versions[0] == (0,), key
        assert all(len(entry["source"]) > 10 for entry in entries), key


@every_engine
def test_every_version_has_all_rules(name: str) -> None:
    facts = table(f"engines/{name}.json")
    since = {entry["since"] for entries in facts["settings"].values() for entry in entries}
    for version in since | {entry["since"] for entry in facts["memory"]}:
        found = engine(name, version)
        assert found.memory.rows
        assert set(found.sources) == set(facts["settings"])
        assert found.batch_tiers[-1].min_memory_bytes == 0
