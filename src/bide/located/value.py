"""A value of a file with its place, so that an error can say where; read from it, it is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bide.errors import BadInput, UnknownName
from bide.i18n import _
from bide.units import parse_seconds

Value = TypeVar("Value")
DIGITS = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_NUMBER = re.compile(rf"{DIGITS}(?:[eE][-+]?[0-9]+)?\Z")
_PERCENT = re.compile(r"\s*([+-]?\d{1,9}(?:\.\d{1,9})?)\s*%\s*")


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

    def stray(self, key: str, names: Iterable[str], allowed: str) -> UnknownName:
        """The error for this entry of a mapping, which stands under a key that nobody knows."""
        comma = self.value is None and key[:1].isdigit()
        hint = _("a comma parts entries: write 1.5s, not 1,5s") if comma else ""
        return UnknownName(self.path, key, names, allowed, " ".join(filter(None, (self.where, hint))))

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
                raise item.stray(key, names, allowed)
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


def located(value: object, path: str = "") -> Located:
    """Plain values as if they had been read, of no file: errors name their paths and no lines."""
    if isinstance(value, Mapping):
        items = {str(key): located(item, f"{path}.{key}" if path else str(key)) for key, item in value.items()}
        return Located(items, path, 0)
    if isinstance(value, list | tuple):
        return Located([located(item, f"{path}[{place}]") for place, item in enumerate(value)], path, 0)
    return Located(value, path, 0)
