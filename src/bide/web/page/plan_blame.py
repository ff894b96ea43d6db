"""Which control of a plan's form an error is about: it names a path of the question, `services[1].traffic.margin`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bide.errors import BadInput
from bide.i18n import _
from bide.web.page.plan_fields import (
    SERVICE_FIELDS,
    SERVICE_NAMES,
    SHARED_FIELDS,
    at,
    of_service,
    place_of,
    places,
    row,
)
from bide.web.page.plan_labels import label
from bide.web.page.plan_limits import GOOD, rows

_PLACE = re.compile(r"\[(\d+)\]")
_SERVICE = re.compile(r"services\[(\d+)\]\.?(.*)")
_SHARED = {**{each.path: each.key for each in SHARED_FIELDS}, "hardware.prices": "prices", "hardware": "plan_gpus"}
_OWN = {**{each.path: each.key for each in SERVICE_FIELDS}, "traffic.window": "window", "api_price": "api_in",
        "deployment": "knobs", "traffic": "peak_rps", "workload.scaled_to": "scale_prompt",
        "measured": "measured", "measured.gpu": "measured_gpu", "measured.deployment": "measured_as"}  # fmt: skip
Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Blamed:
    """An error at a control: `text` names the control as the form does, `place` is its service."""

    key: str
    place: int
    error: BadInput
    text: str


def blamed(error: BadInput, values: Values) -> Blamed | None:
    """None where it is about nothing that the form has."""
    key = control_of(error.field, values)
    if key is None:
        return None
    said = BadInput(called(key, values), error.given, error.allowed, error.hint)
    return Blamed(key, place_of(key)[1], BadInput(key, error.given, error.allowed, error.hint), str(said))


def called(key: str, values: Values) -> str:
    """What the form calls a control, and the service where there are several."""
    (base, place), name = place_of(key), label(key)
    if base not in SERVICE_NAMES or len(places(values)) == 1:
        return name
    return _("{field} of {service}").format(field=name, service=values[at("service", place)])


def control_of(field: str, values: Values) -> str | None:
    """The state key of the control."""
    match = _SERVICE.fullmatch(field)
    if match is None:
        return _nearest(_PLACE.sub("", field), _SHARED) or (field if field in ("profile", "model", "config") else None)
    present = places(values)
    place = present[min(int(match[1]), len(present) - 1)]
    name = _of_service(_PLACE.sub("", match[2]), of_service(values, place))
    return at(name, place)


def _of_service(path: str, values: Values) -> str:
    """Of the controls of one service."""
    head, _dot, rest = path.partition(".")
    if head == "patience":
        return _limit(rest, values)
    if head == "model":
        return "config" if values["config"] else "model"
    if path == "traffic.peak_rps":
        return "peak_from" if values["peak_from"] else "peak_rps"
    if head == "deployment" and path not in _OWN:
        return "knobs"
    return _nearest(path, _OWN) or (_workload(rest, values) if head == "workload" else "service")


def _limit(rest: str, values: Values) -> str:
    """The row of a measure, or a control of the share that must keep several limits."""
    head, _dot, last = rest.partition(".")
    if head == "goodput":
        return GOOD.get(last, "goodput")
    found = next((each.number for each in rows(values) if each.measure == head), 1)
    return row("patience", found)


def _workload(rest: str, values: Values) -> str:
    if values["work"] != "lengths":
        return "sample" if values["work"] == "sample" else "trace"
    side = "output" if "output" in rest.split(".") else "prompt"
    figure = rest.rpartition(".")[2]
    if values[f"{side}_by"]:
        return f"{side}_by"
    return f"{side}_{figure}" if figure in ("p50", "p95") else f"{side}_p95"


def _nearest(path: str, controls: Mapping[str, str]) -> str | None:
    """The control of the path, or of the nearest above it."""
    while path:
        if path in controls:
            return controls[path]
        path = path.rpartition(".")[0]
    return None
