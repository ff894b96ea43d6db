"""What the blocks of all quantisation methods share: lists of modules, checked patterns, tiles.

Which modules a list names follows the tool that wrote it, as vLLM 0.33 reads it
(`model_executor/layers/quantization`): AutoAWQ and GPTQ by substring, ModelOpt and Quark by glob,
compressed-tensors by name or `re:`, fp8 and the rest by whole words.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from bide.facts.hf.fields import Fields
from bide.facts.quantisation import Format, Rule
from bide.i18n import _

Rules = tuple[Rule, ...]

MAX_PATTERN = 1000
"""Longer patterns than this are refused."""
MOST_PARTS = 4096
"""Parts of names that a list may hold; published ones have a few hundred."""


def ignored(block: Fields, *keys: str) -> Rules:
    """Rules that leave the modules of a list alone."""
    return tuple(Rule(checked(block, name), None) for name in names(block, *keys))


def names(block: Fields, *keys: str) -> list[str]:
    """A list of texts (nested lists flattened), empty when absent."""
    found: list[str] = []
    for entry in block.list(*keys) or ():
        for name in entry if isinstance(entry, list) else (entry,):
            if not isinstance(name, str):
                raise block.bad(block.raw(*keys)[0], name, _("a list of module names"))
            found.append(name)
    return found


def checked(block: Fields, pattern: str) -> str:
    if len(pattern) > MAX_PATTERN:
        raise block.bad("ignore", pattern, _("patterns of at most {count} characters").format(count=MAX_PATTERN))
    if not pattern.startswith("re:"):
        return pattern
    try:
        with warnings.catch_warnings(action="ignore"):  # of what a later Python may read otherwise
            re.compile(pattern[3:])
    except (re.error, OverflowError, RecursionError) as problem:
        raise block.bad("ignore", pattern, _("a regular expression")) from problem
    return pattern


def containing(block: Fields, key: str, kind: Format | None) -> Rules:
    """Rules for lists read by substring (AutoAWQ, GPTQ); `gate` alone is the router, not `gate_proj`."""
    entries = names(block, key)
    if len(entries) > MOST_PARTS:
        raise block.bad(key, len(entries), _("at most {count:,} names").format(count=MOST_PARTS))
    return tuple(Rule(name if name == "gate" else f"*{name}*", kind) for name in entries)


def tile_of(block: Fields, tile: list[Any]) -> tuple[int, int]:
    if len(tile) != 2 or not all(isinstance(n, int) and not isinstance(n, bool) and 0 < n < 2**20 for n in tile):
        raise block.bad("weight_block_size", tile, _("two whole numbers such as [128, 128]"))
    return tile[0], tile[1]
