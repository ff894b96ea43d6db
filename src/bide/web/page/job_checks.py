"""Checks of what an address says of uploads and jobs: their form alone, for they may be gone."""

from __future__ import annotations

import re

from bide.errors import BadInput
from bide.i18n import _
from bide.web.page.checks import Check
from bide.web.shapes import ID

_ID = re.compile(ID)


def identity(name: str) -> Check:
    """The number of an upload or a job."""
    return identities(name, 1)


def identities(name: str, most: int) -> Check:
    """Several of them, each once, with commas between."""

    def check(text: str) -> str:
        found = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
        if len(found) > most or not all(_ID.fullmatch(one) for one in found):
            raise BadInput(name, text[:60], _("what this page wrote there"))
        return ",".join(found)

    return check
