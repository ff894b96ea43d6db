"""Names that Kubernetes takes."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LONGEST = 40
"""A Service's name has 63 characters; charts and controllers add their own endings."""


def kubernetes_name(text: str) -> str:
    """A DNS label (RFC 1123): lower-case letters, digits and dashes, a letter first.

    >>> kubernetes_name("Support chat (EU)")
    'support-chat-eu'
    """
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    named = plain if plain[:1].isalpha() else f"service-{plain}".rstrip("-")
    return named[:_LONGEST].rstrip("-")


def kubernetes_names(texts: Iterable[str]) -> list[str]:
    """A name for each text, numbered where two would be the same."""
    taken: list[str] = []
    for text in texts:
        name, number = kubernetes_name(text), 1
        while name in taken:
            number += 1
            name = f"{kubernetes_name(text)[: _LONGEST - len(str(number)) - 1]}-{number}"
        taken.append(name)
    return taken
