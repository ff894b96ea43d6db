"""How much work the patterns of a quantisation block make: bounded before any of them is used.

A config.json comes from anybody, and its lists hold globs and regular expressions. Python's `re` tries one way after
another, and nothing stops it: `.*.*.*.*.*.*Z` takes minutes to fail on the names of one model. So the ways are counted,
for each layer: every one has names of its own.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from bide.facts.hf.fields import MAX_LAYERS, Fields
from bide.i18n import _

MOST_WILDCARDS = 4000
"""`*`, `?` and `[` in all globs of a block; published ones have a few hundred."""
MOST_WAYS = 4_000_000
"""That all expressions of a block can match a name in, times layers: a second or two at worst. The published blocks of
the catalogue have 48,000 at most (four expressions, 61 layers).
"""
_TRY = 100
"""Ways that take as long as trying an expression at all."""
_parse: Any = import_module("re._parser").parse
"""Python's own reader of expressions: there is no public one."""
_NAME = 64
"""Characters of a module's name (`model.layers.61.mlp.experts.255.down_proj`), rounded up."""
_LAYER_COUNTS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers")
_SIGNS = frozenset("*+?^$()[]{}|\\")


def is_expression(key: str) -> bool:
    """Whether a key that may be a name or an expression (AutoRound's) is an expression."""
    return not _SIGNS.isdisjoint(key)


def check_effort(block: Fields, config: Mapping[str, Any]) -> None:
    """Raise BadInput for patterns that take too long to compile, or to match with the names of the model's layers."""
    wildcards = sum(text.count(sign) for text in _texts(block.values) if not text.startswith("re:") for sign in "*?[")
    if wildcards > MOST_WILDCARDS:
        allowed = _("at most {count:,} wildcards in all patterns").format(count=MOST_WILDCARDS)
        raise block.bad("patterns", wildcards, allowed)
    total, layers = 0.0, _layers(config) or MAX_LAYERS
    for expression in _expressions(block.values):
        total += (ways_of(expression) + _TRY) * layers
        if total > MOST_WAYS:
            raise block.bad("patterns", expression[:200], _("regular expressions that are quick to match"))


def _texts(value: Any) -> Iterator[str]:
    """Every key and every text within."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _expressions(block: Mapping[str, Any]) -> Iterator[str]:
    yield from (text.removeprefix("re:") for text in _texts(block) if text.startswith("re:"))
    yield from (key.removeprefix("-:").removeprefix("+:") for key in _keys(block, "dynamic"))  # GPTQModel's
    yield from (f".*(?:{key})" for key in _keys(block, "extra_config") if is_expression(key))  # AutoRound's


def _keys(block: Mapping[str, Any], part: str) -> Iterator[str]:
    found = block.get(part)
    yield from map(str, found if isinstance(found, Mapping) else ())


def _layers(config: Mapping[str, Any], levels: int = 3) -> int:
    """Of a model and its parts together, as far as they say; numbers that cannot be are refused elsewhere."""
    own = next((int(config[key]) for key in _LAYER_COUNTS if isinstance(config.get(key), int)), 0)
    parts = [part for part in config.values() if isinstance(part, Mapping)] if levels else []
    return max(0, min(own, MAX_LAYERS)) + sum(_layers(part, levels - 1) for part in parts)


def ways_of(expression: str) -> float:
    """In how many ways an expression can match a name, at most; 1 for what is none, which is refused elsewhere.

    A repeat at the end is matched in one: nothing comes after it that could fail.

    >>> ways_of("layers.(one|two)"), ways_of(".*self_attn.*"), ways_of(".*a.*b"), ways_of("(a+)+")
    (2.0, 65.0, 4225.0, inf)
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # of what a later Python may read otherwise
            return _of(_that_may_fail(list(_parse(expression))))
    except (re.error, OverflowError, RecursionError):
        return 1.0


def _of(items: Iterable[tuple[Any, Any]]) -> float:
    return math.prod(_of_one(str(kind), what) for kind, what in items)


def _that_may_fail(items: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Without a plain repeat at their end, also where they end in a group."""
    if not items:
        return items
    kind, what = items[-1]
    if str(kind) == "SUBPATTERN":
        return items[:-1] + _that_may_fail(list(what[-1]))
    return items[:-1] if str(kind).endswith("_REPEAT") and _of(what[2]) == 1 else items


def _of_one(kind: str, what: Any) -> float:
    if kind.endswith("_REPEAT"):
        least, most, inner = what
        return _repeated(int(least), int(most), _of(inner))
    if kind == "BRANCH":
        return sum(map(_of, what[1]))
    if kind == "GROUPREF_EXISTS":
        return sum(_of(branch) for branch in what[1:] if branch is not None)
    if kind == "ATOMIC_GROUP":
        return _of(what)
    return _of(what[-1]) if kind in ("SUBPATTERN", "ASSERT", "ASSERT_NOT") else 1.0


def _repeated(least: int, most: int, ways: float) -> float:
    counts = min(most - least, _NAME) + 1
    longest = min(most, _NAME)
    return counts * ways**longest if longest * math.log(max(ways, 1.0)) < 50 else math.inf
