"""The files that a plan's form has: what was dropped, by number and by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bide.errors import BideError
from bide.web.page.plan_fields import at, places
from bide.web.page.plan_opening import Known

Values = Mapping[str, str]


def uploads(values: Values, server: Any) -> dict[str, str]:
    """Names by number, of those that the server still has."""
    found: dict[str, str] = {}
    for place in places(values):
        number = values[at("trace", place)]
        try:
            found |= {number: str(server.uploads.get(number).name)} if number else {}
        except BideError:
            continue
    return found


def known(values: Values, server: Any) -> Known:
    """What a service file may name by its name."""
    configs = {values[at("model", place)]: values[at("config", place)] for place in places(values)}
    numbers = {name: number for number, name in uploads(values, server).items()}
    return Known(numbers, {name.rpartition("/")[2]: config for name, config in configs.items() if config})
