"""What a model class fills in where a nested config is silent.

A `text_config` or `vision_config` is saved as its difference from the class, so Gemma 3's omits
its 8 attention heads and LLaVA's omits everything of Llama. The values are those of the
configuration classes of transformers, kept in `data/class_defaults.json`
(made by `tools/make_class_defaults.py`) and read only when a nested config is met.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parents[1] / "data" / "class_defaults.json"


def class_defaults(model_type: str) -> Mapping[str, Any]:
    """The defaults of the class of `model_type`; empty for a class that is not known.

    >>> class_defaults("gemma3_text")["num_attention_heads"]
    8
    """
    classes: Mapping[str, Any] = _document()["classes"]
    found = classes.get(model_type, {})
    same: Mapping[str, Any] = classes[found] if isinstance(found, str) else found
    return same


def text_class(root_type: str, otherwise: str) -> str:
    """The class of the text part of a composite config that does not name it (LLaVA's is `llama`)."""
    return str(_document()["text"].get(root_type, otherwise))


def source() -> str:
    """Where the values come from, with the date."""
    document = _document()
    return f"{document['source']} ({document['checked']})"


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return document
