"""What a visitor has set, as texts by key: read from the address, checked, and written back to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from bide.errors import BadInput
from bide.i18n import _

_LONGEST = 8000
"""Characters of one value in an address."""


@dataclass(frozen=True, slots=True)
class Key:
    """One input. `check` gives the text as it is kept, or raises BadInput; the empty text always means the default."""

    name: str
    default: str = ""
    check: Callable[[str], str] = str.strip


class State:
    """The inputs of all tabs of one visitor.

    A text that cannot be used is kept and shown with its error; `[key]` stays what it was before.
    """

    def __init__(self, keys: Iterable[Key]) -> None:
        self._keys = {key.name: key for key in keys}
        self._values = {key.name: key.default for key in self._keys.values()}
        self._texts: dict[str, str] = {}
        self._errors: dict[str, str] = {}
        self._answers: dict[str, str] = {}
        self._watchers: list[tuple[frozenset[str], Callable[[], object]]] = []

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def text(self, name: str) -> str:
        """What stands in the control."""
        return self._texts.get(name, self._values[name])

    def is_set(self, name: str) -> bool:
        """Whether it is something else than its default."""
        return self._values[name] != self._keys[name].default

    def error(self, name: str) -> str:
        """What is wrong with it, by itself or for the answer; empty where nothing is."""
        return self._errors.get(name) or self._answers.get(name, "")

    def unread(self, names: Iterable[str]) -> list[str]:
        """Those whose controls hold what cannot be used."""
        return [name for name in names if name in self._errors]

    def set(self, name: str, text: str) -> bool:
        """Take `text`; False where nothing changed or it cannot be used. Whoever watches `name` is told in any case."""
        key = self._keys[name]
        before = self._values[name], self.error(name)
        try:
            value = key.check(text) if text.strip() else key.default
        except BadInput as error:
            self._texts[name], self._errors[name] = text, said(error)
            self._tell(name)
            return False
        self._errors.pop(name, None)
        self._texts.pop(name, None)
        self._values[name] = value
        changed = before != (value, self.error(name))
        if changed:
            self._tell(name)
        return changed

    def blame(self, error: BadInput | None, names: Iterable[str]) -> bool:
        """Say an answer's error at its field, or clear those of `names`; False where the field has no control here."""
        for name in names:
            self._answers.pop(name, None)
        if error is None:
            return True
        in_file = error.field.startswith("config.json")
        field = "config" if in_file else error.field.rsplit(".", 1)[-1].split("[")[0]
        if field not in self._keys:
            return False
        self._answers[field] = str(error) if in_file else said(error)
        return True

    def watch(self, names: Iterable[str], told: Callable[[], object]) -> None:
        """`told` is called after each change of one of `names`."""
        self._watchers.append((frozenset(names), told))

    def _tell(self, name: str) -> None:
        for names, told in self._watchers:
            if name in names:
                told()

    def names(self) -> frozenset[str]:
        return frozenset(self._keys)

    def frozen(self) -> Mapping[str, str]:
        """The values as they are now."""
        return dict(self._values)

    def query(self, **instead: str) -> str:
        """The address's query: what differs from the defaults."""
        values = {**self._values, **instead}
        kept = [(name, value) for name, value in values.items() if value != self._keys[name].default]
        return urlencode(kept, safe=":,/*")

    def read(self, query: str) -> list[str]:
        """Take an address's query; what cannot be used, in words."""
        wrong = []
        for name, text in parse_qsl(query, keep_blank_values=True)[: 4 * len(self._keys)]:
            if name not in self._keys:
                wrong.append(_("{name}: not an input of this page").format(name=name[:40]))
            elif len(text) > _LONGEST:
                wrong.append(_("{name}: too long").format(name=name))
            elif text and not self.set(name, text) and self._errors.get(name):
                wrong.append(f"{name}: {self._errors[name]}")
        return wrong


def said(error: BadInput) -> str:
    """The error without the name of the field, which stands beside it."""
    text = _("allowed: {allowed}").format(allowed=error.allowed)
    return f"{text}. {error.hint[:1].upper()}{error.hint[1:]}" if error.hint else text
