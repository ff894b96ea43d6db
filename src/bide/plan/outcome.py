"""The answer of a plan in a few figures, from the object that `bide plan --json` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bide.errors import BadInput
from bide.i18n import _


@dataclass(frozen=True, slots=True)
class Ran:
    """What one service got; no GPUs and no words where it cannot be met."""

    service: str
    what: str
    gpus: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """GPUs and USD are None where the plan cannot be met, USD also where a price is missing."""

    feasible: bool
    gpus: int | None
    gpus_surely: int | None
    usd_per_month: float | None
    services: tuple[Ran, ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "feasible": self.feasible,
            "gpus": self.gpus,
            "gpus_surely": self.gpus_surely,
            "usd_per_month": self.usd_per_month,
            "services": [{"name": ran.service, "chosen": ran.what or None, "gpus": ran.gpus} for ran in self.services],
        }


def outcome_of(data: Mapping[str, Any], field: str, given: str) -> Outcome:
    """The figures of a bide.plan/1 object, `given` as `field`. Raises BadInput where they are not there."""
    try:
        feasible = data["feasible"] is True
        return Outcome(
            feasible,
            int(data["gpus"]) if feasible else None,
            _whole(data["gpus_surely"]) if feasible else None,
            _finite(data["usd_per_month"]) if feasible else None,
            tuple(_ran(service, data.get("shared", ())) for service in data["services"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        why = _("{what} is missing or wrong").format(what=error)
        raise BadInput(field, given, _("a plan as `bide plan --json` prints it"), why) from error


def _whole(value: object) -> int | None:
    return None if value is None else int(str(value))


def _finite(value: object) -> float | None:
    if value is None:
        return None
    number = float(str(value))
    if not math.isfinite(number):
        raise ValueError(value)
    return number


def _ran(service: Mapping[str, Any], shared: Sequence[Mapping[str, Any]]) -> Ran:
    """The fleet of a service: its own, that which it shares, or the two of its short and long requests."""
    name, chosen, mixed = str(service["name"]), service["chosen"], service.get("mixed")
    if chosen is None:
        return Ran(name, "", None)
    for fleet in shared:
        others = [str(other) for other in fleet["services"] if other != name]
        if len(others) < len(fleet["services"]):
            text = _("{fleet}, shared with {others}")
            return Ran(name, text.format(fleet=_fleet(fleet), others=", ".join(others)), int(fleet["gpus"]))
    if mixed:
        text = _("{short} for short requests, {long} for long ones")
        return Ran(name, text.format(short=_fleet(mixed["short"]), long=_fleet(mixed["long"])), int(mixed["gpus"]))
    return Ran(name, _fleet(chosen), int(chosen["gpus"]))


def _fleet(fleet: Mapping[str, Any]) -> str:
    """`3 x h100-sxm`, `3 x (2 x h100-sxm)`: replicas that are bought, and the GPUs of each.

    `(2 prefill + 3 decode) x h100-sxm` where they do one of the two stages.
    """
    each, pools = int(fleet["replica_gpus"]), fleet.get("pools")
    gpu = str(fleet["gpu"]) if each == 1 else f"({each} x {fleet['gpu']})"
    if pools:
        text, spare = _("({prefill} prefill + {decode} decode) x {gpu}"), int(pools["spare_replicas_each"])
        counts = (int(pools[name]) + spare for name in ("prefill_replicas", "decode_replicas"))
        return text.format(**dict(zip(("prefill", "decode"), counts, strict=True)), gpu=gpu)
    return f"{int(fleet['gpus']) // each} x {gpu}"
