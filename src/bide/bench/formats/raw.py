"""A result file as objects: one JSON, JSON lines (also objects in a row), or YAML."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bide.errors import BadInput
from bide.i18n import _

_LARGEST_BYTES = 2 << 30
_DEEPEST = 64
_SKIPPED = " \t\r\n,"


@dataclass(frozen=True, slots=True)
class Raw:
    """What a file holds. `lines`: it was several objects, one after another."""

    path: Path
    documents: tuple[Any, ...]
    lines: bool = False
    broken: int = 0
    """Lines that are no JSON."""


def read_raw(path: Path, field: str) -> Raw:
    """Raises BadInput for what is not there, not text, or neither JSON nor YAML."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise BadInput(field, str(path), _("a result of at most 2 GiB"))
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(field, str(path), _("a file that can be read"), str(error.strerror)) from error
    except UnicodeDecodeError as error:
        raise BadInput(field, str(path), _("a result in JSON, JSON lines or YAML"), _("it is not text")) from error
    if not text.strip():
        raise BadInput(field, str(path), _("a result in JSON, JSON lines or YAML"), _("the file is empty"))
    if path.suffix.lower() in (".yaml", ".yml"):
        return Raw(path, (_yaml(text, path, field),))
    return _json(text, path, field)


def _json(text: str, path: Path, field: str) -> Raw:
    try:
        return Raw(path, (json.loads(text),))
    except (ValueError, RecursionError) as error:
        found = _one_a_line(text, path) or _in_a_row(text, path)
        if found is None:
            hint = _("not understood: {why}").format(why=str(error)[:100])
            raise BadInput(field, str(path), _("a result in JSON, JSON lines or YAML"), hint) from error
        return found


def _one_a_line(text: str, path: Path) -> Raw | None:
    """Most lines are objects; those that are not are counted (the last may be cut off)."""
    documents, broken = [], 0
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            documents.append(json.loads(line))
        except (ValueError, RecursionError):
            broken += 1
            if broken > len(documents) + 1:
                return None
    return Raw(path, tuple(documents), True, broken) if documents and broken <= len(documents) else None


def _in_a_row(text: str, path: Path) -> Raw | None:
    """Objects that are written over several lines each, one after another."""
    decoder, place, documents = json.JSONDecoder(), 0, []
    while place < len(text):
        if text[place] in _SKIPPED:
            place += 1
            continue
        try:
            found, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return None
        documents.append(found)
    return Raw(path, tuple(documents), True)


def _yaml(text: str, path: Path, field: str) -> Any:
    import yaml

    class Bounded(yaml.SafeLoader):
        """Stops at once where PyYAML would go on to the depth of Python's stack, in time that grows with its square."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.depth > _DEEPEST:
                raise yaml.YAMLError(_("nested too deep"))
            self.depth += 1
            try:
                return super().compose_node(parent, index)
            finally:
                self.depth -= 1

    try:
        return yaml.load(text, Bounded)  # a safe loader
    except (yaml.YAMLError, RecursionError) as error:
        hint = _("not understood: {why}").format(why=str(error).replace("\n", " ")[:100])
        raise BadInput(field, str(path), _("a result in JSON, JSON lines or YAML"), hint) from error
