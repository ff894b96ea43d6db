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
from bide.facts.models import catalogue, find, load_model, unknown
from bide.i18n import _
from bide.units import format_bytes
from bide.web.settings import Settings

MOST_CONFIG_BYTES = 500_000
_LONGEST_PACKED = 6000
"""Characters of a config.json in an address."""


def model_of(values: Mapping[str, str], settings: Settings) -> Model:
    """Raises BadInput for a name that is not known, or a hub id where the hub may not be asked."""
    if values.get("config"):
        return _of_config(values["config"], values["model"])
    return named_model(values["model"], settings.hub)


def asked_model(values: Mapping[str, str]) -> str | dict[str, object]:
    """The model as a request for a job names it. Raises BadInput for a config.json that this page did not pack."""
    if values.get("config"):
        return {"config": _opened(values["config"]), "name": values["model"]}
    return values["model"]


@lru_cache(maxsize=512)
def named_model(name: str, hub: bool) -> Model:
    """By a name of the catalogue, or by an id of the hub where it may be asked."""
    entry = find(name)
    if entry is not None:
        return load_model(entry.id)
    if "/" not in name or name.startswith((".", "/", "~")) or name.endswith(".json"):
        raise unknown(name, _("or drop its config.json here"))
    if not hub:
        raise unknown(name, _("this server does not ask Hugging Face (start it with --hub): drop the config.json here"))
    return load_model(name)


@lru_cache(maxsize=64)
def _of_config(packed: str, name: str) -> Model:
    from bide.facts.hf import from_config
    from bide.sourced import Source

    return from_config(
        _opened(packed),
        name,
        source=Source(_("a config.json that was dropped here: {name}").format(name=name), kind="config"),
    )


def packed_config(text: str) -> str:
    """A config.json as the text of an address. Raises BadInput for one that is no JSON object, or too large."""
    if not text:
        raise BadInput(
            "config", _("a file"), _("a config.json of at most {size}").format(size=format_bytes(MOST_CONFIG_BYTES))
        )
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput("config", _("a file"), _("one JSON object"), str(error)[:200]) from None
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
        value = json.loads(text)
    except (ValueError, binascii.Error, zlib.error, RecursionError):
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
