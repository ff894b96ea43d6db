"""Typed, bounded access to a config.json: the only way that the readers touch its keys.

Every getter takes aliases in the order of precedence, skips null, and raises BadInput that names
the key, what was given and what is allowed. Nothing is ever guessed here: a default is passed by
the reader that knows the model class's own default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bide.errors import BadInput
from bide.i18n import _

REQUIRED: Final = object()
TEXT_KEYS = ("text_config", "llm_config", "language_config", "thinker_config", "language_model", "decoder_config")
"""Where composite configs keep their text model's part."""
MAX_LAYERS = 1024
MAX_SIZE = 10**8
Count = int
"""The built-in type, whose name a method of Fields takes."""


class Fields:
    """One object of a config, with the keys of `defaults` (class defaults) behind its own."""

    def __init__(
        self, values: Mapping[str, Any], where: str = "config.json", defaults: Mapping[str, Any] | None = None
    ):
        if not isinstance(values, Mapping):
            raise BadInput(where, values, _("an object"))
        self.values, self.where, self.defaults = values, where, defaults or {}

    def raw(self, *names: str) -> tuple[str, Any]:
        """The first of `names` that is present and not null, with its value; `(names[0], None)` if none is.

        A key that the config states as null stays null: its class default is not asked for.
        """
        for name in names:
            if self.values.get(name) is not None:
                return name, self.values[name]
        for name in names:
            if name not in self.values and self.defaults.get(name) is not None:
                return name, self.defaults[name]
        return names[0], None

    def has(self, *names: str) -> bool:
        return self.raw(*names)[1] is not None

    def int(self, *names: str, default: Any = REQUIRED, low: int = 1, high: int = MAX_SIZE) -> Any:
        """A whole number within `low..high`; an int, or `default` (which may be None)."""
        name, value = self.raw(*names)
        if value is None:
            return self._absent(names, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.bad(name, value, _("a whole number from {low} to {high}").format(low=low, high=high))
        return value

    def number(self, *names: str, default: Any = REQUIRED, low: float = 0, high: float = 1e6) -> Any:
        """A number within `low..high` as a float, or `default` (which may be None); NaN is none."""
        name, value = self.raw(*names)
        if value is None:
            return self._absent(names, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self.bad(name, value, _("a number from {low:g} to {high:g}").format(low=low, high=high))
        return float(value)

    def flag(self, *names: str, default: bool = False) -> bool:
        name, value = self.raw(*names)
        if value is None:
            return default
        if not isinstance(value, bool | int) or value not in (0, 1):
            raise self.bad(name, value, _("true or false"))
        return bool(value)

    def text(self, *names: str, default: Any = REQUIRED) -> Any:
        name, value = self.raw(*names)
        if value is None:
            return self._absent(names, default)
        if not isinstance(value, str):
            raise self.bad(name, value, _("a text"))
        return value

    def list(self, *names: str, length: Count | None = None) -> list[Any] | None:
        """A list, of exactly `length` where given (a longer one is cut: extra entries describe draft layers)."""
        name, value = self.raw(*names)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise self.bad(name, value, _("a list"))
        if length is not None and len(value) < length:
            allowed = _("a list with an entry for each of the {count} layers").format(count=length)
            raise self.bad(name, f"{len(value)} entries", allowed)
        return list(value[:length])

    def part(self, *names: str) -> Fields:
        """A nested object (empty when absent)."""
        name, value = self.raw(*names)
        if value is None:
            return Fields({}, f"{self.where}.{name}")
        if not isinstance(value, Mapping):
            raise self.bad(name, value, _("an object"))
        return Fields(value, f"{self.where}.{name}")

    def bad(self, name: str, given: object, allowed: str, hint: str = "") -> BadInput:
        return BadInput(f"{self.where}: {name}", given, allowed, hint)

    def _absent(self, names: tuple[str, ...], default: Any) -> Any:
        if default is REQUIRED:
            allowed = _("a value under {names}").format(names=" | ".join(names))
            raise self.bad(names[0], None, allowed, _("the field is missing; is the file cut short?"))
        return default
