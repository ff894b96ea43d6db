"""Models by name: the catalogue, a config.json, a directory, or a Hugging Face id."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bide.errors import UnknownName
from bide.facts.catalogue import table
from bide.facts.codec import decode
from bide.facts.model import Model
from bide.i18n import _, cached_by_language
from bide.sourced import Source

_SUFFIXES = ("-instruct", "-it", "-chat", "-hf", "-base", "-thinking")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the catalogue's index, enough to list and search without reading the model."""

    id: str
    file: str
    aliases: tuple[str, ...]
    family: str
    parameters: int
    kv_bytes_per_token: float
    max_context_tokens: int | None


def load_model(name: str) -> Model:
    """The model called `name`: a path, a catalogue name or alias, or a Hugging Face id (extra `hub`).

    Raises BadInput for a path that is no model, UnknownName (with the nearest names) for a name
    that neither the catalogue nor, where it can be asked, the hub knows.
    """
    if os.path.exists(name) or name.endswith(".json") or name.startswith((".", "/", "~")):
        path = os.path.expanduser(name)
        return _load_path(path, _modified(path))
    if "/" in name and find(name) is None:
        return hub_model(name)
    return catalogue_model(name)


def catalogue_model(name: str) -> Model:
    """The catalogue's model of that name or alias; no file and no hub is looked at. Raises UnknownName."""
    entry = find(name)
    if entry is None:
        raise unknown(name)
    return _load_entry(entry, name if "/" in name else entry.id)


def find(name: str) -> Entry | None:
    """The catalogue's entry for an id, an alias, or either without its organisation or `-instruct`."""
    return _by_name().get(normalise(name))


def unknown(name: str, why: str = "") -> UnknownName:
    """The error for a name that is not in the catalogue."""
    names = [e.id.rsplit("/", 1)[-1] for e in catalogue()] + [a for e in catalogue() for a in e.aliases]
    allowed = _("a catalogue name (`bide models`), a config.json, a directory, or a Hugging Face id")
    return UnknownName("model", name, names, allowed, why)


def normalise(name: str) -> str:
    """Lower case, without organisation; spaces and underscores as hyphens.

    >>> normalise("meta-llama/Llama-3.1-8B")
    'llama-3.1-8b'
    """
    return name.strip().lower().rsplit("/", 1)[-1].replace("_", "-").replace(" ", "-")


@lru_cache(maxsize=1)
def catalogue() -> tuple[Entry, ...]:
    """Every model of the catalogue, by id."""
    return tuple(_entry(raw) for raw in table("models/index.json")["models"])


def _entry(raw: Mapping[str, Any]) -> Entry:
    return Entry(**{**raw, "aliases": tuple(raw["aliases"])})


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Entry]:
    """Ids and aliases first; then, where it is not taken, each id without its `-instruct` and the like."""
    names: dict[str, Entry] = {}
    for entry in catalogue():
        for name in (entry.id, *entry.aliases):
            names.setdefault(normalise(name), entry)
    for entry in catalogue():
        for suffix in _SUFFIXES:
            names.setdefault(normalise(entry.id).removesuffix(suffix), entry)
            names.setdefault(normalise(entry.id) + suffix, entry)
    return names


@lru_cache(maxsize=1024)
def _load_entry(entry: Entry, name: str) -> Model:
    """The entry's facts under the id that was asked for: an alias has the architecture, not the weights."""
    raw = table(f"models/{entry.file}.json")[entry.id]
    text = raw["source"] if name == entry.id else f"{entry.id}: {raw['source']}"
    return decode(name, raw, Source(text, raw["checked"], "config", raw.get("verified", True)))


def _modified(path: str) -> float:
    try:
        return os.stat(os.path.join(path, "config.json") if os.path.isdir(path) else path).st_mtime
    except OSError:
        return 0.0


@cached_by_language(1024)
def _load_path(path: str, modified: float) -> Model:
    from bide.facts.hf import from_config
    from bide.facts.hf.source import read_model_files

    config, quantisation, source = read_model_files(path)
    return from_config(config, path, quantisation_config=quantisation, source=source)


@cached_by_language(64)
def hub_model(name: str) -> Model:
    """The model of a Hugging Face id (extra `hub`), never of a path. Raises BadInput."""
    from bide.facts.hf import from_config
    from bide.facts.hf.source import read_from_hub

    config, quantisation, source = read_from_hub(name)
    return from_config(config, name, quantisation_config=quantisation, source=source)
