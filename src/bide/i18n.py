"""The one door that every user-visible sentence passes through.

`_("text {name}").format(name=...)` looks the text up in the chosen language's gettext catalogue and writes the
numbers in it as that language does; `ngettext` chooses between singular and plural, `numeral` writes a number alone.
English needs no catalogue, and gettext is imported only when another language is asked for. The choice belongs to the
context (`contextvars`): requests that one process answers at once may each speak their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from gettext import NullTranslations
    from string import Formatter

Made = TypeVar("Made")

LANGUAGES = {"en": "English", "ru": "Русский", "vi": "Tiếng Việt"}
"""Codes of the languages that bide speaks, and what each calls itself."""
LOCALES = Path(__file__).with_name("locale")
"""The catalogues: `<code>/LC_MESSAGES/bide.po` and, compiled, `bide.mo`."""

_NUMBERS: Mapping[str, Mapping[str, str]] = {
    "ru": {",": "\u00a0", ".": ",", "%": "\u00a0%"},
    "vi": {",": ".", ".": ","},
}
"""What stands for the marks of an English number: Unicode CLDR 48, symbols of `ru` and `vi`, latn."""


@dataclass(frozen=True)
class _Speech:
    """A language other than English: its catalogue, and the marks of its numbers."""

    code: str
    catalogue: NullTranslations
    marks: dict[int, str]


_SHOWN_WHOLE = 100
"""Fractions from here on are shown rounded, and agree as the whole number does."""

_SPEECH: ContextVar[_Speech | None] = ContextVar("bide_language", default=None)


def _(text: str) -> str:
    """`text` in the chosen language, or itself where there is no translation."""
    speech = _SPEECH.get()
    return text if speech is None else _Translated(speech.catalogue.gettext(text))


translated = _
"""The same for a text that stands in a data file, whence `tools/translations.py` takes it."""


def ngettext(one: str, many: str, n: int) -> str:
    """The form for `n` things, in the chosen language; fill it in with `.format`.

    >>> ngettext("{n:,} request", "{n:,} requests", 1200).format(n=1200)
    '1,200 requests'
    """
    speech = _SPEECH.get()
    if speech is None:
        return one if n == 1 else many
    return _Translated(speech.catalogue.ngettext(one, many, n))


def numeral(value: float, spec: str = "") -> str:
    """`value` by `spec`, as the chosen language writes numbers. For people: flags, JSON and CSV keep plain digits.

    >>> numeral(1234.5, ",.1f"), numeral(0.25, ".0%")
    ('1,234.5', '25%')
    """
    return localised(format(value, spec))


def localised(text: str) -> str:
    """`text`, an English number and nothing else, in the marks of the chosen language."""
    speech = _SPEECH.get()
    return text if speech is None else text.translate(speech.marks)


def number_marks() -> Mapping[str, str]:
    """What stands for the `,`, `.` and `%` of an English number; empty in English. For charts, which format alone."""
    return _NUMBERS.get(language(), {})


def language() -> str:
    """The code of the chosen language."""
    speech = _SPEECH.get()
    return "en" if speech is None else speech.code


def use_language(asked: str | None) -> None:
    """Choose the language of this context (`"vi"`, `"ru_RU.UTF-8"`; None asks `language_of_environment`).

    English where nobody has translated bide into it.
    """
    _SPEECH.set(_speech(known_language(asked or language_of_environment()), LOCALES))


@contextmanager
def speaking(asked: str) -> Iterator[None]:
    """Within the `with` block, `asked` is the language; afterwards what it was before."""
    token = _SPEECH.set(_speech(known_language(asked), LOCALES))
    try:
        yield
    finally:
        _SPEECH.reset(token)


def known_language(asked: str) -> str:
    """The code in LANGUAGES that a tag or a locale means, English where there is none.

    >>> known_language("vi-VN"), known_language("ru_RU.UTF-8"), known_language("C")
    ('vi', 'ru', 'en')
    """
    return _code(asked) if is_known(asked) else "en"


def is_known(asked: str) -> bool:
    """Whether bide speaks the language that a tag or a locale means."""
    return _code(asked) in LANGUAGES


def _code(asked: str) -> str:
    return asked.replace("-", "_").partition(".")[0].partition("_")[0].lower()


def language_of_environment() -> str:
    """What BIDE_LANG, LC_ALL, LC_MESSAGES or LANG says, the first that says anything."""
    return next((os.environ[k] for k in ("BIDE_LANG", "LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(k)), "en")


def cached_by_language(most: int) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """`functools.lru_cache` for what has sentences in it: each language has its own."""

    def decorate(make: Callable[..., Made]) -> Callable[..., Made]:
        @lru_cache(maxsize=most)
        def made(_language: str, *args: Hashable) -> Made:
            return make(*args)

        @wraps(make)
        def cached(*args: Hashable) -> Made:
            return made(language(), *args)

        return cached

    return decorate


@cache
def _speech(code: str, locales: Path) -> _Speech | None:
    if code == "en":
        return None
    import gettext

    catalogue = gettext.translation("bide", locales, [code], fallback=True)
    return _Speech(code, catalogue, str.maketrans(dict(_NUMBERS.get(code, {}))))


class _Translated(str):
    """A text of another language: `format` writes the numbers as the language does."""

    __slots__ = ()

    def __add__(self, other: str) -> _Translated:
        return _Translated(super().__add__(other))

    def __radd__(self, other: str) -> _Translated:
        return _Translated(other + str(self))

    def format(self, *args: object, **values: object) -> str:
        return _formatter().vformat(self, args, values)


def _counted(value: Any, forms: Sequence[str]) -> str:
    """The form of a noun that agrees with `value`: `{n:,} {n:токен|токена|токенов}` in a translation.

    For texts that are not plural in English. A fraction, which Russian counts by its parts, takes the second form;
    what is no number (a text that holds one) the last.
    """
    speech = _SPEECH.get()
    if speech is None or not hasattr(value, "__round__"):
        return forms[-1]
    whole = round(value)
    if whole != value and abs(value) < _SHOWN_WHOLE:
        return forms[1]
    chosen: int = speech.catalogue.plural(whole)  # type: ignore[attr-defined]  # of every catalogue that has plurals
    return forms[chosen]


@cache
def _formatter() -> Formatter:
    from string import Formatter

    class Numbers(Formatter):
        """Plain formatting, but for decimal fractions and for numbers that a specification shapes."""

        def format_field(self, value: Any, format_spec: str) -> str:
            if "|" in format_spec:
                return _counted(value, format_spec.split("|"))
            if isinstance(value, float) or (format_spec and hasattr(value, "__index__")):
                return numeral(value, format_spec)
            return format(value, format_spec)

    return Numbers()
