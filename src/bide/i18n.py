"""The one door that every user-visible sentence passes through.

`_("text {name}").format(name=...)` looks the text up in the chosen language's gettext catalogue;
English needs none. gettext is imported only when another language is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

_LOCALES = Path(__file__).with_name("locale")


def _same(text: str) -> str:
    return text


_translate: Callable[[str], str] = _same


def _(text: str) -> str:
    """`text` in the chosen language, or itself where there is no translation."""
    return _translate(text)


def use_language(language: str | None) -> None:
    """Choose the language (`"vi"`, `"ru"`, `"en"`; None reads BIDE_LANG, LC_ALL, LC_MESSAGES, LANG)."""
    global _translate
    code = (language or _from_environment()).replace("-", "_").split(".")[0]
    if code.split("_")[0] in ("en", "C", "POSIX", ""):
        _translate = _same
        return
    import gettext

    _translate = gettext.translation("bide", _LOCALES, [code, code.split("_")[0]], fallback=True).gettext


def _from_environment() -> str:
    return next((os.environ[k] for k in ("BIDE_LANG", "LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(k)), "en")
