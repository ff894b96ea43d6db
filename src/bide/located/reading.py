"""YAML read with the line of every value, strictly: no references, no deep nesting, each key once."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from bide.errors import BadInput
from bide.i18n import _
from bide.located.value import DIGITS, Located

_LARGEST_BYTES = 100_000
_DEEPEST = 12
_POWER = re.compile(rf"{DIGITS}[eE][-+]?[0-9]+\Z")
_TAGGED_WRONGLY = (ValueError, TypeError, AttributeError, LookupError, OverflowError)
"""What PyYAML raises for a value that is not of the type that its tag claims (`!!int ""`)."""


def read_yaml(path: Path, field: str = "service file", list_path: str = "") -> Located:
    """The one document of a YAML file; `list_path` names its entries where it is a list.

    Raises BadInput for a file that is not one, with the line where it breaks.
    """
    return parse_yaml(_read_bytes(path, field), path, field, list_path)


def parse_yaml(data: bytes, path: Path, field: str = "service file", list_path: str = "") -> Located:
    """The one document in the content of the file at `path`: see `read_yaml`."""
    import yaml

    try:
        _check_shape(yaml.parse(data, yaml.SafeLoader), path, field)
        node = yaml.compose(data, _loader())
    except yaml.YAMLError as error:
        reason = str(getattr(error, "problem", None) or error).splitlines()[0]
        line = _line_of(error, data)
        where = _("(line {line})").format(line=line) if line else ""
        hint = "; ".join(filter(None, (f"{reason} {where}".strip(), _cure(error))))
        raise BadInput(field, str(path), _("a YAML file"), hint) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise BadInput(field, str(path), _("a YAML file")) from error
    if node is None:
        raise BadInput(field, str(path), _("a YAML file with something in it"))
    return _located(node, "" if isinstance(node, yaml.MappingNode) else list_path, _loader()(""))


@cache
def _loader() -> Any:
    """One that takes `1e6` for a number, as YAML 1.2 and JSON do; in YAML 1.1 it is a word."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_implicit_resolver("tag:yaml.org,2002:float", _POWER, list("-+.0123456789"))
    return Loader


def _line_of(error: Any, data: bytes) -> int | None:
    """Where reading ended: at a mark, or at a character that no YAML file has."""
    if mark := getattr(error, "problem_mark", None):
        return int(mark.line) + 1
    place = getattr(error, "position", None)
    return None if place is None else data[:place].count(b"\n") + 1


def _cure(error: Any) -> str:
    """For the commonest slips: what YAML says of them does not name the fix."""
    said = f"{getattr(error, 'context', '')} {getattr(error, 'problem', '')}"
    if "'\\t'" in said:
        return _("indent with spaces, not with tabs")
    if "alias" in said or "anchor" in said:
        return _("text that begins with * or & is put in quotes")
    if "mapping values are not allowed" in said:
        return _("text with a colon and a space in it is put in quotes")
    if hasattr(error, "encoding"):
        return _("save it as UTF-8")
    return ""


def _read_bytes(path: Path, field: str) -> bytes:
    """What is in a regular file of at most 100 kB; a FIFO or a device is not opened."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise BadInput(field, str(path), _("a regular file"))
        if facts.st_size > _LARGEST_BYTES:
            raise BadInput(field, str(path), _("a YAML file of at most 100 kB"))
        return path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(field, str(path), _("a file that can be read"), why) from error


def _check_shape(events: Iterable[Any], path: Path, field: str) -> None:
    """Refuse what small files blow up with, at the first event that does: references, and deep nesting."""
    import yaml

    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        allowed = ""
        if isinstance(event, yaml.AliasEvent):
            allowed = _("a YAML file without anchors")
        elif depth > _DEEPEST:
            allowed = _("a YAML file of at most {count} levels").format(count=_DEEPEST)
        if allowed:
            raise BadInput(field, str(path), allowed, _("(line {line})").format(line=event.start_mark.line + 1))


def _located(node: Any, path: str, loader: Any) -> Located:
    import yaml

    line = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        entries = [_located(child, f"{path}[{i}]", loader) for i, child in enumerate(node.value)]
        return Located(entries, path, line)
    if isinstance(node, yaml.MappingNode):
        return Located(_entries(node, path, loader), path, line)
    try:
        return Located(loader.construct_object(node), path, line)
    except (yaml.YAMLError, *_TAGGED_WRONGLY) as error:
        raise BadInput(
            path, node.value, _("a value that YAML can read"), _("(line {line})").format(line=line)
        ) from error


def _entries(node: Any, path: str, loader: Any) -> dict[str, Located]:
    entries: dict[str, Located] = {}
    for key_node, child in node.value:
        key = str(key_node.value)
        here = f"{path}.{key}" if path else key
        line = key_node.start_mark.line + 1
        if key in entries:
            raise BadInput(here, key, _("each key once"), _("(line {line})").format(line=line))
        item = _located(child, here, loader)
        entries[key] = Located(item.value, here, line)
    return entries
