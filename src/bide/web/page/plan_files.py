"""The files that a plan's form has: what was dropped, by number and by name, and what is still to be."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count
from typing import Any

from bide.errors import BadInput, BideError
from bide.i18n import _
from bide.report.words import listed as in_words
from bide.web.page.plan_fields import FILES, at, listed, of_service, places
from bide.web.page.plan_opening import Known

Values = Mapping[str, str]


def uploads(values: Values, server: Any) -> dict[str, str]:
    """Names by number, of those that the server still has; no two are called the same."""
    found: dict[str, str] = {}
    for number in (each for place in places(values) for name in FILES for each in listed(values[at(name, place)])):
        if number not in found and (name := _name(number, server)):
            found[number] = _free(name, found.values())
    return found


def _name(number: str, server: Any) -> str:
    """Empty for one that the server has no more."""
    try:
        return str(server.uploads.get(number).name)
    except BideError:
        return ""


def _free(name: str, taken: Collection[str]) -> str:
    return name if name not in taken else next(f"{n}-{name}" for n in count(2) if f"{n}-{name}" not in taken)


def known(values: Values, server: Any) -> Known:
    """What a service file may name by its name."""
    configs = {values[at("model", place)]: values[at("config", place)] for place in places(values)}
    numbers = {name: number for number, name in uploads(values, server).items()}
    return Known(numbers, {name.rpartition("/")[2]: config for name, config in configs.items() if config})


def check_files(values: Values, server: Any) -> None:
    """Refuse what was not dropped yet, or is gone. Raises BadInput."""
    here = uploads(values, server)
    for number, place in enumerate(places(values)):
        service, field = of_service(values, place), f"services[{number}]"
        if service["work"] in ("trace", "file"):
            _check_here(service, "trace", here, f"{field}.workload.trace")
            if not service["trace"]:
                allowed = {"trace": _("a trace: drop one there"), "file": _("a workload file: drop one there")}
                raise BadInput(f"{field}.workload.trace", None, allowed[service["work"]])
        _check_here(service, "measured", here, f"{field}.measured.results")
        if service["measured"] and not service["measured_gpu"] and "," in values["plan_gpus"]:
            raise BadInput(f"{field}.measured.gpu", None, _("the GPU that the replica ran on: several are allowed"))


def _check_here(service: Values, key: str, here: Collection[str], field: str) -> None:
    """Refuse files that a service file names and nobody dropped, and those that the server has deleted."""
    awaited = service[f"{key}_awaited"].splitlines()
    if awaited:
        allowed = _("the files that the service file names ({files}): drop them there, or take them off the list")
        raise BadInput(field, None, allowed.format(files=in_words(awaited)))
    if not set(listed(service[key])) <= set(here):
        raise BadInput(field, None, _("files that the server still has: they are kept for an hour, drop them again"))
