"""Models from config.json files that users send: few are kept, for they may be large, and new ones come all day."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bide.i18n import cached_by_language

if TYPE_CHECKING:
    from bide.facts.model import Model

_LONGEST_KEPT = 2**16
"""Characters of a config whose model is kept; published ones have a few thousand."""
_MOST_MADE = 4 * 2**20
"""Characters of configs after which all that is kept about models is let go: some 50 MB."""
_made_characters = 0


def foreign_model(
    config: Mapping[str, Any], name: str, quantisation: Mapping[str, Any] | None = None, source: str = ""
) -> Model:
    """The model of a config.json; `source`: where it is from, in words. Raises BadInput."""
    texts = json.dumps(config, sort_keys=True), name, json.dumps(quantisation, sort_keys=True), source
    return _kept(*texts) if sum(map(len, texts)) <= _LONGEST_KEPT else _made(*texts)


def _made(config: str, name: str, quantisation: str, source: str) -> Model:
    from bide.facts.hf import from_config
    from bide.sourced import Source

    _count(len(config) + len(quantisation))
    said = Source(source, kind="config") if source else None
    return from_config(json.loads(config), name, quantisation_config=json.loads(quantisation), source=said)


_kept = cached_by_language(64)(_made)


def _count(characters: int) -> None:
    """Answers about a model keep it for as long as they are kept: let go of all of them from time to time."""
    global _made_characters  # of this process, as the caches are
    _made_characters += characters
    if _made_characters > _MOST_MADE:
        from bide.physics import same

        _made_characters = 0
        same.forget()
