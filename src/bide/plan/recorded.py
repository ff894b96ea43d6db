"""A side of a comparison from its file: a service file, or a plan that `bide plan --json` printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bide.errors import BadInput
from bide.i18n import _, numeral
from bide.plan.changes import Change
from bide.plan.diff import Side
from bide.plan.outcome import outcome_of
from bide.plan.service_file import question_from, read_question
from bide.units import format_seconds

SCHEMA = "bide.plan/1"
_LARGEST_BYTES = 50_000_000
Data = Mapping[str, Any]


def read_side(path: Path, field: str) -> tuple[Side, Data | None]:
    """The side, and the recorded plan where `path` is one. Raises BadInput naming `field` or what is wrong inside."""
    data = _plan_json(path, field)
    if data is None:
        return Side(str(path), read_question(path)), None
    recorded = outcome_of(data, field, str(path))
    try:
        given = data["question"]["given"]
        if not isinstance(given, dict):
            raise TypeError(given)
        return Side(str(path), question_from(given, path), recorded), data
    except (KeyError, TypeError, RecursionError):
        why = _("{file} does not hold its question, so it can't be asked again.").format(file=path)
    except BadInput as error:
        why = _("The question of {file} can't be asked again: {why}.").format(file=path, why=error)
    return Side(str(path), None, recorded, why), data


def _plan_json(path: Path, field: str) -> dict[str, Any] | None:
    """The object in a JSON plan; None for a file that is something else."""
    if not path.is_file() or path.stat().st_size > _LARGEST_BYTES:
        return None  # what is wrong is said by the reader of service files
    try:
        with path.open("rb") as file:
            if not file.read(1000).lstrip().startswith(b"{"):
                return None
        data: dict[str, Any] = json.loads(path.read_bytes())
    except OSError as error:
        raise BadInput(field, str(path), _("a file that can be read"), str(error.strerror)) from error
    except (ValueError, RecursionError):
        return None
    if "services" in data and "schema" not in data:
        return None  # a service file written as JSON
    if data.get("schema") != SCHEMA:
        hint = _("its schema is {given}").format(given=data["schema"]) if "schema" in data else _("it has no schema")
        allowed = _("a service file, or what `bide plan --json` printed (schema {name})").format(name=SCHEMA)
        raise BadInput(field, str(path), allowed, hint)
    return data


def recorded_changes(old: Data, new: Data) -> tuple[Change, ...]:
    """What two JSON plans say differently about their questions, as far as they say it. Raises BadInput."""
    try:
        return tuple(_changes(old, new))
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadInput("plan", SCHEMA, _("plans as `bide plan --json` prints them"), str(error)) from error


def _changes(old: Data, new: Data) -> Iterator[Change]:
    theirs = {str(service.get("name")): service for service in _services(new)}
    for service in _services(old):
        name = str(service.get("name"))
        other = theirs.pop(name, None)
        if other is None:
            yield Change(name, _("service"), str(service.get("model")), _("none"))
            continue
        yield from _differing(name, _said(service), _said(other))
    for name, service in theirs.items():
        yield Change(name, _("service"), _("none"), str(service.get("model")))
    yield from _differing("", _hardware(old), _hardware(new))


def _services(data: Data) -> list[dict[str, Any]]:
    return [service for service in data.get("services", ()) if isinstance(service, dict)]


def _differing(service: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    for name, value in old.items():
        if new[name] != value:
            yield Change(service, name, value, new[name])


def _said(service: Data) -> dict[str, str]:
    """What a recorded service was asked, in words."""
    work, traffic, patience = (_mapping(service.get(key)) for key in ("workload", "traffic", "patience"))
    lengths = (numeral(_mapping(work.get(key)).get("mean", 0), ",.0f") for key in ("prompt_tokens", "output_tokens"))
    return {
        _("model"): str(service.get("model")),
        _("workload"): _("{lengths} tokens on average").format(lengths=" + ".join(lengths)),
        _("peak"): str(traffic.get("peak_rps")),
        _("growth"): str(traffic.get("growth", 1.0)),
        _("margin"): str(traffic.get("margin")),
        _("patience"): ", ".join(f"{name} {format_seconds(float(value))}" for name, value in patience.items()),
    }


def _hardware(data: Data) -> dict[str, str]:
    hardware = _mapping(data.get("hardware"))
    return {
        _("GPUs"): ", ".join(map(str, hardware.get("gpus", ()))),
        _("most GPUs"): str(hardware.get("max_gpus")),
    }


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
