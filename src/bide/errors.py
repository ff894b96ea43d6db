"""Every error bide raises on purpose, and the exit code that it becomes.

BideError
├── BadInput            exit 2: what was asked cannot be understood
│   ├── UnknownName     a name that is not in a catalogue, with the nearest that are
│   └── UnknownArchitecture
└── CannotBeMet         exit 1: it was understood, and the answer is no
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping

from bide.i18n import _

_SHOWN = 120


class BideError(Exception):
    """Base of all errors that carry a message meant for the user."""

    exit_code = 2


class BadInput(BideError):
    """One field is wrong: which, what was given, what is allowed, and the likely fix."""

    def __init__(self, field: str, given: object, allowed: str, hint: str = "") -> None:
        self.field, self.given, self.allowed, self.hint = field, given, allowed, hint
        super().__init__(_sentence(field, given, allowed, hint))

    def to_dict(self) -> dict[str, str]:
        return {"field": self.field, "message": str(self)}


class UnknownName(BadInput):
    """A name that nobody knows. `names` are the known ones; the nearest become the hint."""

    def __init__(self, field: str, given: object, names: Iterable[str], allowed: str, hint: str = "") -> None:
        near = nearest(str(given), names)
        guess = _("did you mean {names}?").format(names=_(" or ").join(near)) if near else ""
        super().__init__(field, given, allowed, " ".join(filter(None, (guess, hint))))


class UnknownArchitecture(BadInput):
    """A model whose cache or weights we have no rule for. Never guessed."""


class CannotBeMet(BideError):
    """Understood, but impossible: says what is needed, what there is, and what would work."""

    exit_code = 1


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The known names closest to `name`, best first; empty when nothing is close."""
    by_key = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name[:_SHOWN].lower(), by_key, n=count, cutoff=0.6)
    return [by_key[key] for key in close]


def check_keys(given: Mapping[str, object], known: Iterable[str], where: str) -> None:
    """Raise UnknownName for the first key of `given` that is not in `known`."""
    names = sorted(known)
    for key in given:
        if key not in names:
            allowed = _("one of {names}").format(names=", ".join(names))
            raise UnknownName(f"{where}.{key}" if where else str(key), key, names, allowed)


def is_id(value: object) -> bool:
    """Whether JSON can give `value` back as it came, as the id of a line: Python reads NaN and 1e400 too."""
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _sentence(field: str, given: object, allowed: str, hint: str) -> str:
    shown = _("missing") if given is None else _("got {given}").format(given=_shown(given))
    text = _("{field}: {shown}; allowed: {allowed}").format(field=field, shown=shown, allowed=allowed)
    return f"{text}. {hint[0].upper()}{hint[1:]}" if hint else text


def _shown(given: object) -> str:
    """`given` in at most 120 characters, however large or deep it is."""
    try:
        shown = repr(given[: _SHOWN + 1]) if isinstance(given, str | bytes | list | tuple) else repr(given)
    except (ValueError, RecursionError):  # an int of more digits than Python prints; endless nesting
        return type(given).__name__
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
