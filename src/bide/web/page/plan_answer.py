"""How many GPUs: a plan that is done, and the patience that is held on its frontier."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bide.web.job import Job
from bide.web.page import checks
from bide.web.page.plan_fields import KEYS as ASKED_KEYS
from bide.web.page.plan_fields import MOST_SERVICES, QUESTION, at, of_service, places, row
from bide.web.page.plan_limits import in_unit, rows
from bide.web.page.state import Key

_PLACES = tuple(str(place) for place in range(1, MOST_SERVICES + 1))
KEYS = (
    *ASKED_KEYS,
    Key("at", "1", checks.one_of("at", _PLACES)),
    Key("held", "", checks.number("held", 0, 86_400)),
    Key("held_for", "", checks.one_of("held_for", ("", *_PLACES))),
    Key("planned", "", checks.one_of("planned", ("", "now"))),
)
"""`at`: the service that the form shows; `held`: the limit on the frontier of the service `held_for`."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan that is done: what was asked, what is to be shown, and where its files are."""

    asked: Mapping[str, str]
    job: Job
    view: Mapping[str, Any]

    def frontiers(self) -> dict[int, Mapping[str, Any]]:
        """Of each service of the form that has one."""
        by_name = {said["name"]: said["frontier"] for said in self.view["services"] if said["frontier"]}
        names = {place: self.asked[at("service", place)] for place in places(self.asked)}
        return {place: by_name[name] for place, name in names.items() if name in by_name}

    def held(self, held_for: str) -> tuple[int, Mapping[str, Any]] | None:
        """The frontier that has the handle, and its service: the one asked for, else the first."""
        found = self.frontiers()
        place = int(held_for) if held_for and int(held_for) in found else next(iter(found), None)
        return None if place is None else (place, found[place])


def asked(values: Mapping[str, str]) -> dict[str, str]:
    """What a plan depends on."""
    return {name: values[name] for name in QUESTION}


def planned(asked_for: Mapping[str, str], job: Job) -> Planned:
    """From the files that the job left."""
    return Planned(asked_for, job, json.loads(job.files["view.json"].read_bytes()))


def held_place(frontier: Mapping[str, Any], held: str) -> int | None:
    """Which limit of the frontier is held: the one nearest to `held`, else the one that was asked for, or can be."""
    able = [place for place, found in enumerate(frontier["places"]) if found]
    if held:
        return min(able, key=lambda place: abs(frontier["seconds"][place] - float(held)))
    asked_at: int | None = frontier["asked"]
    return asked_at if asked_at in able else next(iter(able), None)


def with_handle(frontier: Mapping[str, Any], place: int) -> dict[str, Any]:
    """The chart with its handle at a limit."""
    spec: dict[str, Any] = frontier["spec"]
    return {**spec, "datasets": {**spec["datasets"], "h0": [frontier["places"][place]]}}


def control_at(frontier: Mapping[str, Any], place: int, values: Mapping[str, str], service: int) -> tuple[str, str]:
    """The control of the form that a limit of the frontier would be set by, and its text; none where it has none."""
    for each in rows(of_service(values, service)):
        if each.measure == frontier["measure"]:
            return at(row("patience", each.number), service), in_unit(each.on, frontier["seconds"][place])
    return "", ""
