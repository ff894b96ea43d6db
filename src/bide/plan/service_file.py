"""A service file into a Question, every field checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bide.errors import BadInput
from bide.facts.model import Model
from bide.facts.models import load_model
from bide.i18n import _
from bide.located import Located, located, read_yaml
from bide.plan.asked.deployment import read_deployment
from bide.plan.asked.hardware import read_fleet, read_hardware
from bide.plan.asked.measured import read_measured
from bide.plan.asked.overrides import NOTHING, Overrides, overridden
from bide.plan.asked.patience import read_patience
from bide.plan.asked.traffic import read_traffic
from bide.plan.asked.workload import read_workload
from bide.plan.question import ApiPrice, Hardware, Question, Service
from bide.sourced import Assumption

_REQUIRED = ("name", "model", "workload", "traffic")
_OPTIONAL = ("patience", "deployment", "disaggregated", "api_price", "measured")


def read_question(path: Path, overrides: Overrides = NOTHING) -> Question:
    """The question in a service file. Raises BadInput naming the field, its line and what is allowed."""
    return _question(overridden(read_yaml(path), overrides), path, overrides.flags)


def question_from(given: Mapping[str, object], path: Path) -> Question:
    """The question that `given` is the content of, as if it stood in a file at `path`.

    Raises BadInput naming the field by its path; there are no lines that anybody has written.
    """
    return _question(located(given), path)


def _question(root: Located, path: Path, flags: tuple[str, ...] = ()) -> Question:
    keys = root.mapping(("services", "hardware", "fleet"), ("services", "hardware"))
    hardware, assumptions = read_hardware(keys["hardware"])
    fleet = read_fleet(keys.get("fleet"))
    services: list[Service] = []
    for entry in keys["services"].items():
        service, assumed = _service(entry, path.parent, hardware)
        if service.name in {known.name for known in services}:
            raise BadInput(f"{entry.path}.name", service.name, _("a name of its own for each service"), entry.where)
        services.append(service)
        assumptions += assumed
    folder = str(path.parent)
    return Question(tuple(services), hardware, assumptions, path.name, fleet, root.plain(), flags, folder)


def _service(entry: Located, folder: Path, hardware: Hardware) -> tuple[Service, tuple[Assumption, ...]]:
    keys = entry.mapping((*_REQUIRED, *_OPTIONAL), _REQUIRED)
    name, model = keys["name"].text(), read_model(keys["model"], folder)
    work = read_workload(keys["workload"], folder)
    traffic, about_traffic = read_traffic(keys["traffic"], work, name)
    (patience, goodput), about_patience = read_patience(keys.get("patience"), len(work.requests), name)
    engine, choices = read_deployment(keys.get("deployment"), model)
    _check_replica(keys.get("deployment"), engine, hardware)
    service = Service(
        name,
        model,
        work.requests,
        traffic,
        patience,
        engine,
        choices,
        goodput,
        work.shared,
        _api_price(keys["api_price"]) if "api_price" in keys else None,
        _disaggregated(keys["disaggregated"]) if "disaggregated" in keys else (False,),
    )
    if "measured" not in keys:
        return service, (*about_traffic, *about_patience)
    measured, about_measured = read_measured(keys["measured"], folder, service, hardware)
    return replace(service, measured=measured), (*about_traffic, *about_patience, *about_measured)


def _disaggregated(item: Located) -> tuple[bool, ...]:
    """A value is fixed, and of a list the plan picks one."""
    if not isinstance(item.value, list):
        if not isinstance(item.value, bool):
            raise item.bad(_("true, false or [false, true]"))
        return (item.flag(),)
    found = [one.flag() for one in item.items()]
    if len(set(found)) < len(found):
        raise item.bad(_("each value once"))
    return tuple(sorted(found))


def read_model(item: Located, folder: Path) -> Model:
    """A model by name, or by a path relative to the service file: then it is called as it was given."""
    name = item.path_text()
    local = folder / name
    if not (name.startswith(".") or os.path.exists(local)):  # False also for a name that no file can have
        return item.at(lambda: load_model(name))
    called = name if name.startswith((".", "/", "~")) else f"./{name}"
    path = str(local) if os.path.exists(local) else os.path.abspath(local)  # never a name of the catalogue
    return replace(item.at(lambda: load_model(path)), name=called)


def _check_replica(entry: Located | None, engine: Mapping[str, object], hardware: Hardware) -> None:
    """Refuse a split that needs more GPUs than are allowed in all."""
    tp = engine.get("tp")
    if entry is not None and isinstance(tp, int) and tp > hardware.max_gpus:
        raise entry.value["tp"].bad(_("at most hardware.max_gpus, {most}").format(most=hardware.max_gpus))


def _api_price(entry: Located) -> ApiPrice:
    keys = entry.mapping(("input", "output"), ("input", "output"))
    allowed = _("USD per million tokens, from 0 to 10,000")
    prices = [keys[key].number(allowed, 0, 10_000) for key in ("input", "output")]
    if not any(prices):
        raise entry.bad(_("prices that are not both 0"))
    return ApiPrice(*prices)
