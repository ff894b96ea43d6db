"""`--lang`, which may stand anywhere on the line: taken off it before click parses what is left."""

from __future__ import annotations

import gettext
import os
from collections.abc import Sequence

from bide.errors import UnknownName
from bide.i18n import LANGUAGES, LOCALES, _, is_known, known_language, language_of_environment, use_language

_FLAG = "--lang"


def taken(args: Sequence[str]) -> tuple[str | None, list[str]]:
    """The language that is asked for, if any, and the arguments without it.

    >>> taken(["plan", "--lang", "vi", "chat.yaml"]), taken(["--lang=ru", "gpus"])
    (('vi', ['plan', 'chat.yaml']), ('ru', ['gpus']))
    """
    asked, rest = None, list(args)
    end = rest.index("--") if "--" in rest else len(rest)
    for place in reversed(range(end)):
        if rest[place].startswith(_FLAG + "="):
            asked = asked or rest[place].partition("=")[2]
            del rest[place]
        elif rest[place] == _FLAG and place + 1 < end:
            asked = asked or rest[place + 1]
            del rest[place : place + 2]
    return asked, rest


def speak(asked: str | None) -> None:
    """Choose the language, also of what click says. Raises UnknownName for one that bide does not know."""
    environment = language_of_environment()
    use_language(asked if asked and is_known(asked) else environment)
    _click_speaks(known_language(asked or environment))
    if asked and not is_known(asked):
        raise UnknownName("lang", asked, LANGUAGES, _("one of {names}").format(names=", ".join(LANGUAGES)))


def _click_speaks(code: str) -> None:
    """click asks gettext's own domain, which asks the environment for the language."""
    if code == "en":
        gettext.textdomain("messages")
        return
    gettext.bindtextdomain("bide", LOCALES)
    gettext.textdomain("bide")
    os.environ["LANGUAGE"] = code
