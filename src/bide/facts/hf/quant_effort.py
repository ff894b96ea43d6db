"""How much work the patterns of a quantisation block make: bounded before any of them is used.

A config.json comes from anybody, and its lists hold globs and regular expressions. Python's `re` tries one way after
another, and nothing stops it: `.*.*.*.*.*.*Z` takes minutes to fail on the names of one model. So the ways are counted.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from bide.facts.hf.fields import Fields
from bide.i18n import _

MOST_WILDCARDS = 4000
"""`*`, `?` and `[` in all globs of a block; published ones have a few hundred."""
MOST_WAYS = 300_000
"""That all expressions of a block can match a name in: three `.*` in one, or seventy expressions with two each."""
_parse: Any = import_module("re._parser").parse
"""Python's own reader of expressions: there is no public one."""
_NAME = 64
"""Characters of a module's name (`model.layers.61.mlp.experts.255.down_proj`), rounded up."""
_EXPRESSION_KEYS = ("dynamic", "extra_config")
"""Parts whose keys are expressions: of GPTQModel, and of AutoRound where they are no names."""


def check_effort(block: Fields) -> None:
    """Raise BadInput for patterns that take too long to compile or to match."""
    wildcards = sum(text.count(sign) for text in _texts(block.values) if not text.startswith("re:") for sign in "*?[")
    if wildcards > MOST_WILDCARDS:
        allowed = _("at most {count:,} wildcards in all patterns").format(count=MOST_WILDCARDS)
        raise block.bad("patterns", wildcards, allowed)
    total = 0.0
    for expression in _expressions(block.values):
        total += ways_of(expression)
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
    for part in _EXPRESSION_KEYS:
        keys = block.get(part)
        for key in keys if isinstance(keys, Mapping) else ():
            yield str(key).removeprefix("-:").removeprefix("+:")


def ways_of(expression: str) -> float:
    """In how many ways an expression can match a name, at most; 1 for what is none, which is refused elsewhere.

    >>> ways_of("layers.(one|two)"), ways_of(".*self_attn.*"), ways_of("(a+)+")
    (2.0, 4225.0, inf)
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # of what a later Python may read otherwise
            return _of(_parse(expression))
    except (re.error, OverflowError, RecursionError):
        return 1.0


def _of(items: Iterable[tuple[Any, Any]]) -> float:
    return math.prod(_of_one(str(kind), what) for kind, what in items)


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
