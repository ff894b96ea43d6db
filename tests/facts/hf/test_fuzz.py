"""Whatever a config.json holds, reading it ends in a Model with sound figures or in BadInput, soon."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.facts.hf.reader import from_config
from bide.facts.layers import KvFormat, total_cost
from bide.facts.model import Model

MAX_S = 1.0
BF16 = KvFormat("bf16", 2)

SHAPES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "fuzz_shapes.json").read_text())
"""One config of each kind of architecture, cut to the keys that are read."""

NUMBERS: list[Any] = [0, -1, 1, 2, 3, 7, 2**31, 10**9, 10**18, 10**400, 0.5, -0.5, 1e308, math.nan, math.inf, -math.inf]
TEXTS: list[Any] = ["", "8", "full_attention", "\ud800", "x" * 10_000]
LISTS: list[Any] = [[], [0], [None], [-1, 10**9], ["a"] * 3, [[[[]]]], [1] * 5000, [{}], [{"attention": None}]]
OBJECTS: list[Any] = [{}, {"a": 1}, {"model_type": "llama"}, {"hidden_size": -1}]
HOSTILE = [None, True, False, *NUMBERS, *TEXTS, *LISTS, *OBJECTS]

anything = st.sampled_from(HOSTILE) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every value of a config stands, nested ones too."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    return [path for key, inner in items for path in [(*here, key), *paths(inner, (*here, key))]]


def changed(config: dict[str, Any], path: tuple[Any, ...], value: Any, drop: bool) -> dict[str, Any]:
    made = copy.deepcopy(config)
    holder: Any = made
    for key in path[:-1]:
        holder = holder[key]
    if drop and isinstance(holder, dict):
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return made


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    config = draw(st.sampled_from(SHAPES))
    for _ in range(draw(st.integers(1, 3))):
        where = paths(config)
        if where:
            config = changed(config, draw(st.sampled_from(where)), draw(anything), draw(st.booleans()))
    return config


def spent_s(config: Any) -> float:
    start = time.process_time()
    with contextlib.suppress(BadInput):
        from_config(config, "fuzz")
    return time.process_time() - start


def check(config: Any) -> Model | None:
    """Read `config` and hold the law."""
    start = time.process_time()
    try:
        model = from_config(config, "fuzz")
    except BadInput as error:
        assert error.field
        assert len(str(error)) < 2000
        return None
    finally:  # the collector may have looked through a whole heap meanwhile
        assert time.process_time() - start < MAX_S or spent_s(config) < MAX_S
    figures = [model.parameters, *(tensor.parameters for tensor in model.tensors)]
    for tp in (1, 8):
        cost = total_cost(model.groups + model.draft_groups, BF16, tp)
        figures += [cost.growing_bytes_per_token, cost.fixed_bytes_per_request, cost.request_bytes(8192)]
    assert all(figure >= 0 and math.isfinite(figure) for figure in figures)
    return model


@pytest.mark.parametrize("config", SHAPES, ids=lambda config: str(config["model_type"]))
def test_the_shapes_themselves_are_read(config: dict[str, Any]) -> None:
    model = check(config)
    assert model is not None
    assert model.parameters > 10**6


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(mutated())
def test_a_mutated_config_is_read_or_refused(config: dict[str, Any]) -> None:
    check(config)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["model_type", "architectures", "text_config", "hidden_size"]), anything))
def test_a_config_of_anything_is_read_or_refused(config: dict[str, Any]) -> None:
    check(config)


@pytest.mark.parametrize("value", ["x", 3, None, [], [{}], True, math.nan])
def test_what_is_no_object_is_refused(value: Any) -> None:
    assert check(value) is None


@pytest.mark.parametrize("config", SHAPES, ids=lambda config: str(config["model_type"]))
@pytest.mark.parametrize(
    "value", [10**9, -1, "32", [1, 2], {"a": 1}, math.nan, math.inf, 10**400], ids=lambda v: repr(v)[:12]
)
def test_no_key_of_any_shape_can_break_the_reader(config: dict[str, Any], value: Any) -> None:
    for path in paths(config):
        check(changed(config, path, value, drop=False))


def test_lists_of_a_million_entries_are_refused_or_read_soon() -> None:
    for config in SHAPES:
        text = config.get("text_config", config)
        for key in ("layer_types", "block_configs", "layers_block_type", "mlp_layer_types", "architectures"):
            inner = {**text, key: ["full_attention"] * 10**6}
            check({**config, "text_config": inner} if "text_config" in config else inner)


def nested(depth: int) -> dict[str, Any]:
    config: dict[str, Any] = {"model_type": "llama"}
    for _ in range(depth):
        config = {"text_config": config}
    return config


def test_text_configs_in_text_configs_end() -> None:
    assert check(nested(10_000)) is None
