"""YAML read with the line of every value, so that an error can say where."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from bide.errors import BadInput, UnknownName
from bide.i18n import _
from bide.units import parse_seconds

Value = TypeVar("Value")
_LARGEST_BYTES = 100_000
_DEEPEST = 12
_DIGITS = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_NUMBER, _POWER = re.compile(rf"{_DIGITS}(?:[eE][-+]?[0-9]+)?\Z"), re.compile(rf"{_DIGITS}[eE][-+]?[0-9]+\Z")
_PERCENT = re.compile(r"\s*([+-]?\d{1,9}(?:\.\d{1,9})?)\s*%\s*")
_TAGGED_WRONGLY = (ValueError, TypeError, AttributeError, LookupError, OverflowError)
"""What PyYAML raises for a value that is not of the type that its tag claims (`!!int ""`)."""


@dataclass(frozen=True, slots=True)
class Located:
    """A value of the file with its path (`services[0].traffic`) and line. Mappings and lists hold Located values."""

    value: Any
    path: str
    line: int

    def bad(self, allowed: str, hint: str = "") -> BadInput:
        """The error for this value."""
        return BadInput(self.path or _("the file"), self.plain(), allowed, " ".join(filter(None, (self.where, hint))))

    @property
    def where(self) -> str:
        """Nothing for a value that is of no file (line 0)."""
        return _("(line {line})").format(line=self.line) if self.line else ""

    def at(self, read: Callable[[], Value]) -> Value:
        """What `read` gives; its error, where it has one, with the path and the line of this value."""
        try:
            return read()
        except BadInput as error:
            field = error.field if error.field.startswith(self.path) else self.path
            hint = " ".join(filter(None, (error.hint, self.where)))
            raise BadInput(field, error.given, error.allowed, hint) from error

    def within(self, read: Callable[[], Value]) -> Value:
        """What `read` gives; its error, where it has one, with the line of the part of this value that it names."""
        try:
            return read()
        except BadInput as error:
            part = self._part(error.field)
            if part is None:
                raise
            raise BadInput(error.field, error.given, error.allowed, f"{error.hint} {part.where}".strip()) from error

    def _part(self, path: str) -> Located | None:
        """What a path leads to within this value, or as far as there is something; None where there is nothing."""
        parts = self.value.values() if isinstance(self.value, dict) else self.value
        for part in parts if isinstance(self.value, list | dict) else ():
            if path == part.path or path.startswith((f"{part.path}.", f"{part.path}[")):
                nearer: Located | None = part._part(path)
                return nearer or part
        return None

    def plain(self) -> Any:
        """The value without its places."""
        if isinstance(self.value, dict):
            return {key: item.plain() for key, item in self.value.items()}
        return [item.plain() for item in self.value] if isinstance(self.value, list) else self.value

    def mapping(self, known: Iterable[str], required: Iterable[str] = ()) -> Mapping[str, Located]:
        """The value as a mapping with no other keys than `known` and all of `required`."""
        names = list(known)
        if not isinstance(self.value, dict):
            raise self.bad(_("a mapping with keys {keys}").format(keys=", ".join(names)))
        for key, item in self.value.items():
            if key not in names:
                allowed = _("one of {keys}").format(keys=", ".join(names))
                raise UnknownName(item.path, key, names, allowed, item.where)
        missing = [key for key in required if key not in self.value]
        if missing:
            text = _("{required}; {keys} missing").format(required=", ".join(required), keys=", ".join(missing))
            raise BadInput(self.path or _("the file"), sorted(self.value), text, self.where)
        return self.value

    def items(self) -> Iterator[Located]:
        """The entries of a list that is not empty."""
        if not isinstance(self.value, list) or not self.value:
            is_one = isinstance(self.value, str | int | float) and not isinstance(self.value, bool)
            hint = _("a list of one is written [{value}]").format(value=self.value) if is_one else ""
            raise self.bad(_("a list with at least one entry"), hint)
        return iter(self.value)

    def text(self) -> str:
        """A word or sentence of one line, up to 200 characters."""
        return self._line(200, _("a short text"))

    def path_text(self) -> str:
        """A name or a path, which may be longer."""
        return self._line(1000, _("a short text"))

    def _line(self, most: int, allowed: str) -> str:
        value = self.value
        if not isinstance(value, str) or not value.strip() or len(value) > most or not value.isprintable():
            raise self.bad(allowed)
        return value

    def number(self, allowed: str, low: float, high: float, whole: bool = False) -> float:
        """A number from `low` to `high`; `allowed` says so."""
        value = self.value
        right = isinstance(value, int) or (isinstance(value, float) and not whole)
        if isinstance(value, bool) or not right or not low <= value <= high:
            raise self.bad(allowed, _("without quotes") if isinstance(value, str) and _NUMBER.fullmatch(value) else "")
        return float(value)

    def word(self, names: Iterable[str]) -> str:
        """One of `names`."""
        known = list(names)
        if self.value not in known:
            allowed = _("one of {names}").format(names=", ".join(known))
            raise UnknownName(self.path, self.plain(), known, allowed, self.where)
        return str(self.value)

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.bad(_("true or false"))
        return self.value

    def seconds(self, allowed: str, low_s: float, high_s: float) -> float:
        """A time from `low_s` to `high_s`; `allowed` says so."""
        found = self.at(lambda: parse_seconds(self.plain(), self.path))
        if not low_s <= found <= high_s:
            raise self.bad(allowed)
        return found

    def share(self, allowed: str) -> float:
        """`20%` as 0.2, a number as it is; `allowed` says what else is no share."""
        if isinstance(self.value, str):
            match = _PERCENT.fullmatch(self.value)
            if match is None:
                raise self.bad(allowed)
            return round(float(match[1]) / 100, 12)
        return self.number(allowed, -1e9, 1e9)


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
        hint = " ".join(filter(None, (reason, where, _cure(error))))
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


def located(value: object, path: str = "") -> Located:
    """Plain values as if they had been read, of no file: errors name their paths and no lines."""
    if isinstance(value, Mapping):
        items = {str(key): located(item, f"{path}.{key}" if path else str(key)) for key, item in value.items()}
        return Located(items, path, 0)
    if isinstance(value, list | tuple):
        return Located([located(item, f"{path}[{place}]") for place, item in enumerate(value)], path, 0)
    return Located(value, path, 0)


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
