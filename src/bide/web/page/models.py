"""The model that a visitor chose: of the catalogue, a dropped config.json, or the hub. Never a path of this machine."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from functools import lru_cache

from bide.errors import BadInput
from bide.facts.model import Model
from bide.facts.models import catalogue, catalogue_model, find, hub_model, unknown
from bide.i18n import _, cached_by_language
from bide.units import format_bytes
from bide.web.foreign import foreign_model
from bide.web.json_body import read_json
from bide.web.settings import Settings

MOST_CONFIG_BYTES = 500_000
_LONGEST_PACKED = 6000
"""Characters of a config.json in an address."""


def model_of(values: Mapping[str, str], settings: Settings) -> Model:
    """Raises BadInput for a name that is not known, or a hub id where the hub may not be asked."""
    if values.get("config"):
        said = _("a config.json that was dropped here: {name}").format(name=values["model"])
        return foreign_model(_opened(values["config"]), values["model"], source=said)
    return named_model(values["model"], settings.hub)


def asked_model(values: Mapping[str, str]) -> str | dict[str, object]:
    """The model as a request for a job names it. Raises BadInput for a config.json that this page did not pack."""
    if values.get("config"):
        return {"config": _opened(values["config"]), "name": values["model"]}
    return values["model"]


@cached_by_language(512)
def named_model(name: str, hub: bool) -> Model:
    """By a name of the catalogue, or by an id of the hub where it may be asked."""
    entry = find(name)
    if entry is not None:
        return catalogue_model(entry.id)
    if "/" not in name or name.startswith((".", "/", "~")) or name.endswith(".json"):
        raise unknown(name, _("or drop its config.json here"))
    if not hub:
        raise unknown(name, _("this server does not ask Hugging Face (start it with --hub): drop the config.json here"))
    return hub_model(name)


def packed_config(text: str) -> str:
    """A config.json as the text of an address. Raises BadInput for one that is no JSON object, or too large."""
    if not text:
        raise BadInput(
            "config", _("a file"), _("a config.json of at most {size}").format(size=format_bytes(MOST_CONFIG_BYTES))
        )
    value = read_json(text.encode("utf-8", "replace"), "config")
    if not isinstance(value, dict):
        raise BadInput("config", _("a file"), _("one JSON object"), _("is this a config.json?"))
    packed = zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 9)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def fits_address(packed: str) -> bool:
    return len(packed) <= _LONGEST_PACKED


def _opened(packed: str) -> dict[str, object]:
    """What `packed_config` made; raises BadInput for anything else, also for what would unpack without end."""
    wrong = BadInput("config", packed[:20], _("a config.json that this page put into its address"))
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), MOST_CONFIG_BYTES)
        value = read_json(text, "config")
    except (BadInput, ValueError, binascii.Error, zlib.error):
        raise wrong from None
    if not isinstance(value, dict):
        raise wrong
    return value


@lru_cache(maxsize=8)
def model_options(language: str) -> list[dict[str, str]]:
    """The catalogue for a picker: id, what is said beside it, and the words it is found by."""
    return [
        {
            "id": entry.id,
            "name": entry.id,
            "about": _("{n:,.1f} B, {size} a token").format(
                n=entry.parameters / 1e9, size=format_bytes(entry.kv_bytes_per_token)
            ),
            "words": " ".join((entry.id, *entry.aliases, entry.family)).lower(),
        }
        for entry in catalogue()
    ]
