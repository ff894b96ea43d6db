"""What the form's buttons and choices do to its inputs: new texts by key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bide.errors import BadInput
from bide.i18n import _
from bide.web.page import plan_day, plan_limits
from bide.web.page.plan_checks import priced
from bide.web.page.plan_fields import (
    KEYS,
    MOST_LIMITS,
    MOST_SERVICES,
    SERVICE_NAMES,
    at,
    awaiting,
    of_service,
    place_of,
    places,
    row,
)
from bide.web.page.plan_form_hardware import PRICE
from bide.web.page.plan_form_parts import ticked
from bide.web.page.typed import plain_number
from bide.web.uploads import harmless

Values = Mapping[str, str]
Moves = dict[str, str]
_TICKED = ("plan_tp", "plan_weights", "plan_kv")
_DEFAULTS = {key.name: key.default for key in KEYS}
_ROWS = {row("limit_on", number): number for number in range(1, MOST_LIMITS + 1)}


def after_setting(values: Values, key: str, text: str) -> Moves:
    """What a control that was set to `text` changes: mostly its own input, sometimes others."""
    name, place = _named(key)
    if name == "add-gpu":
        return {"plan_gpus": f"{values['plan_gpus']},{text}"} if text else {}
    if name.startswith(PRICE):
        return {"prices": _with_price(values["prices"], name.removeprefix(PRICE), text)}
    if name in _TICKED:
        return {key: ticked(values[key], text)}
    if name == "answers":
        return _of(place, plan_limits.usual(plan_limits.WHOLE if text == "whole" else plan_limits.STREAMED))
    if name == "hours-of":
        return {at("hours", place): plan_day.chosen(text, values[at("hours", place)])}
    if name in _ROWS:
        return {key: text} | _of(place, _with_usual(of_service(values, place), _ROWS[name], text))
    return {key: text}


def _named(key: str) -> tuple[str, int]:
    """The name and the service of a control, also of one that is no input itself."""
    for name in ("answers", "hours"):
        for place in range(1, MOST_SERVICES + 1):
            if key == at(name, place) + ("-of" if name == "hours" else ""):
                return ("hours-of" if name == "hours" else name), place
    return place_of(key)


def _of(place: int, moves: Moves) -> Moves:
    return {at(name, place): text for name, text in moves.items()}


def _with_usual(values: Values, number: int, on: str) -> Moves:
    """The usual number where the unit changes, or the meaning."""
    before = values[row("limit_on", number)]
    same = (before in plan_limits.PER_TOKEN) == (on in plan_limits.PER_TOKEN) and on != "ttft"
    return {} if same else {row("patience", number): plan_limits.USUAL.get(on, "5")}


def _with_price(prices: str, gpu: str, text: str) -> str:
    """With another price of one GPU, or with none."""
    try:
        price = plain_number("prices", text)
    except BadInput:
        price = text  # the check of all prices says so
    found = {**priced(prices), gpu: price.strip().replace(",", " ")}
    return ",".join(f"{name}:{price}" for name, price in found.items() if price)


def without_gpu(values: Values, gpu: str) -> Moves:
    """Not that GPU any more, nor its price, nor that something was measured on it."""
    kept = [name for name in values["plan_gpus"].split(",") if name != gpu]
    measured = [at("measured_gpu", place) for place in places(values) if values[at("measured_gpu", place)] == gpu]
    moves = {"plan_gpus": ",".join(kept), "prices": _with_price(values["prices"], gpu, "")}
    return moves | dict.fromkeys(measured, "")


def with_arrived(values: Values, key: str, name: str) -> Moves:
    """After a file of that name was dropped: it is awaited no more."""
    if place_of(key)[0] == "trace":
        return {awaiting(key): ""}  # there is only one
    path = next((path for path in _awaited(values, key) if harmless(path) == harmless(name)), "")
    return without_awaited(values, key, path)


def without_awaited(values: Values, key: str, path: str) -> Moves:
    """Not that file any more, which a service file names."""
    return {awaiting(key): "\n".join(each for each in _awaited(values, key) if each != path)}


def _awaited(values: Values, key: str) -> list[str]:
    return values[awaiting(key)].splitlines()


def with_limit(values: Values, place: int) -> Moves:
    return _of(place, plan_limits.with_one_more(of_service(values, place)))


def without_limit(values: Values, place: int, number: int) -> Moves:
    return _of(place, plan_limits.without(of_service(values, place), number))


def with_service(values: Values, like: int) -> Moves:
    """One more, of the same model, with what a form begins with otherwise; and it is shown."""
    place = next(place for place in range(1, MOST_SERVICES + 1) if place not in places(values))
    names = {values[at("service", each)] for each in places(values)}
    called = next(name for name in _names() if name not in names)
    moves = {at(name, place): values[at(name, like)] for name in ("model", "config")}
    return moves | {at("service", place): called, "at": f"{place}"}


def _names() -> Iterable[str]:
    yield _("documents")
    for number in range(2, 2 * MOST_SERVICES + 2):
        yield _("service {n}").format(n=number)


def without_service(values: Values, gone: int) -> Moves:
    """The others, moved up."""
    kept = [of_service(values, place) for place in places(values) if place != gone]
    moves: Moves = {"at": "1"}
    for place in range(1, MOST_SERVICES + 1):
        given = kept[place - 1] if place <= len(kept) else {name: _default(name, place) for name in SERVICE_NAMES}
        moves |= _of(place, dict(given))
    return moves


def _default(name: str, place: int) -> str:
    return _DEFAULTS.get(at(name, place), "")
