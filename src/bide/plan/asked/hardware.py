"""`hardware` and `fleet`: GPUs to choose from and their prices; how replicas are run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from bide.errors import BadInput
from bide.facts.gpus import Gpu, find_gpu
from bide.i18n import _
from bide.located import Located
from bide.plan.question import Fleet, Hardware
from bide.simulate.fleet.rules import ROUTERS, RouterName
from bide.sourced import Assumption

MAX_GPUS = 64
MOST_GPUS = 10_000
"""A fleet of more replicas is not run whole."""
_KEYS = ("gpus", "max_gpus", "prices", "price_multiplier", "price_note")
_FLEET_KEYS = ("router", "spare_replicas", "rolling_replicas", "scale_up", "share", "split")
_Value = TypeVar("_Value")


def read_hardware(entry: Located) -> tuple[Hardware, tuple[Assumption, ...]]:
    """The GPUs, how many at most, and what they cost."""
    keys = entry.mapping(_KEYS, ("gpus",))
    gpus = tuple(dict.fromkeys(_gpu(item).id for item in keys["gpus"].items()))
    assumptions: tuple[Assumption, ...] = ()
    max_gpus = MAX_GPUS
    if "max_gpus" in keys:
        max_gpus = int(keys["max_gpus"].number(_("a whole number from 1 to 10,000"), 1, MOST_GPUS, whole=True))
    else:
        assumptions = (Assumption("max_gpus", MAX_GPUS, _("not given")),)
    factor = 1.0
    if "price_multiplier" in keys:
        factor = keys["price_multiplier"].number(_("a factor from 0.01 to 10 on the prices"), 0.01, 10)
    note = keys["price_note"].text() if "price_note" in keys else ""
    found = tuple(find_gpu(gpu) for gpu in gpus)
    return Hardware(found, max_gpus, _prices(keys.get("prices"), gpus), factor, note), assumptions


def read_fleet(entry: Located | None) -> Fleet:
    """How replicas are run; the values of `Fleet` where nothing is said."""
    plain = Fleet()
    if entry is None:
        return plain
    keys = entry.mapping(_FLEET_KEYS)

    def given(key: str, read: Callable[[Located], _Value], default: _Value) -> _Value:
        return read(keys[key]) if key in keys else default

    return Fleet(
        given("router", _router, plain.router),
        given("spare_replicas", _replicas, plain.spare_replicas),
        given("rolling_replicas", _replicas, plain.rolling_replicas),
        given("scale_up", lambda item: item.seconds(_("a time of up to a day"), 0, 86400.0), plain.scale_up_s),
        given("share", Located.flag, plain.share),
        given("split", Located.flag, plain.split),
    )


def _router(item: Located) -> RouterName:
    name = item.word(ROUTERS)
    return next(known for known in ROUTERS if known == name)


def _replicas(item: Located) -> int:
    return int(item.number(_("a whole number from 0 to 1,000"), 0, 1000, whole=True))


def _gpu(item: Located) -> Gpu:
    name = str(item.value) if type(item.value) is int else item.text()  # 5090 is a name too
    return item.at(lambda: find_gpu(name, item.path))


def _prices(entry: Located | None, gpus: tuple[str, ...]) -> dict[str, float]:
    prices: dict[str, float] = {}
    if entry is None:
        return prices
    if not isinstance(entry.value, dict):
        raise entry.bad(_("a mapping of GPUs to USD per GPU hour"))
    for key, item in entry.value.items():
        gpu = item.at(partial(find_gpu, key, item.path)).id
        if gpu not in gpus:
            raise BadInput(item.path, key, _("one of hardware.gpus: {gpus}").format(gpus=", ".join(gpus)), item.where)
        if gpu in prices:
            raise BadInput(item.path, key, _("each GPU once"), item.where)
        prices[gpu] = item.number(_("USD per GPU hour, above 0 and up to 10,000"), 1e-6, 10_000)
    return prices
