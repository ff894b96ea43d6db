"""The language that a request asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from bide.i18n import LANGUAGES, known_language
from bide.web.headers import header

if TYPE_CHECKING:
    from starlette.types import Scope

_MOST = 20
"""Languages of an Accept-Language that are looked at."""


def asked_language(scope: Scope) -> str:
    """`?lang=`, else the first language of Accept-Language that bide speaks, else English."""
    asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("lang", [""])[0]
    if asked:
        return known_language(asked)
    for part in header(scope, b"accept-language").split(",")[:_MOST]:
        tag = part.partition(";")[0].strip().lower()
        if tag.partition("-")[0] in LANGUAGES:
            return known_language(tag)
    return "en"
