"""The levels of load that the flags of `bide bench` ask for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    from bide.bench.loads import Load

_MOST_LEVELS = 64
_ROUNDS = 10
_FEWEST = 100
_DURATION_S = 60.0


def loads(asked: dict[str, Any]) -> tuple[Load, ...]:
    """The levels of load, in order. Raises BadInput, also for a flag that would change nothing."""
    ways = [name for name in ("rate", "concurrency", "sweep") if asked[name] is not None]
    if len(ways) > 1:
        raise BadInput(ways[1], asked[ways[1]], _("one of --rate, --concurrency and --sweep"))
    _check_used(asked)
    if asked["sweep"]:
        kind, levels = _levels(asked["sweep"])
        return tuple(_load(asked, kind, level) for level in levels)
    if asked["concurrency"] is not None:
        return (_load(asked, "concurrency", float(asked["concurrency"])),)
    if asked["rate"] is None and asked["workload"] is None and not asked["slo"]:
        raise BadInput("rate", None, _("--rate, --concurrency, --sweep, --slo or --workload"))
    return (_load(asked, "rate", asked["rate"]),)


def _check_used(asked: dict[str, Any]) -> None:
    """Raises BadInput for a flag that the load asked for would not heed: it would look as if it had been played."""
    users = asked["concurrency"] is not None or (asked["sweep"] or "").startswith("concurrency")
    trace = asked["workload"] is not None and not users
    drawn = not users and not trace
    rules = (
        (("scale", "follow_sessions"), trace, _("only with --workload, without users")),
        (("think", "spread"), users, _("only with --concurrency")),
        (("burstiness",), drawn and asked["arrivals"] != "constant", _("only with --rate, and gaps that vary")),
        (("ramp",), not trace, _("only with --rate or --concurrency")),
        (
            ("slo",),
            not asked["sweep"] and not asked["scale"],
            _("without --sweep and --scale: the search chooses levels"),
        ),
    )
    for names, heeded, allowed in rules:
        given = [name for name in names if asked[name]]
        if given and not heeded:
            raise BadInput(given[0], asked[given[0]], allowed)
    if asked["arrivals"] != "poisson" and not drawn:
        raise BadInput("arrivals", asked["arrivals"], _("only with --rate"))


def alone(asked: dict[str, Any]) -> None:
    """Raises BadInput for a load beside --resume: the journal says what was asked."""
    loads = ("rate", "concurrency", "workload", "sweep", "slo", "requests", "duration")
    given = [name for name in loads if asked[name] is not None]
    if given:
        raise BadInput(given[0], asked[given[0]], _("nothing beside --resume: its journal says what was asked"))


def _levels(text: str) -> tuple[str, list[float]]:
    """`rate=1,2,4`, `concurrency=1..64`."""
    kind, equals, rest = text.partition("=")
    allowed = _("rate=1,2,4 or concurrency=1..64")
    try:
        low, dots, high = rest.partition("..")
        levels = [float(part) for part in rest.split(",")] if not dots else _doubled(float(low), float(high))
    except ValueError as error:
        raise BadInput("sweep", text, allowed) from error
    positive = all(level > 0 and math.isfinite(level) for level in levels)
    whole = kind != "concurrency" or all(level == int(level) for level in levels if math.isfinite(level))
    if not equals or kind not in ("rate", "concurrency") or not positive or not whole or len(levels) > _MOST_LEVELS:
        raise BadInput("sweep", text, allowed)
    return kind, levels


def _doubled(low: float, high: float) -> list[float]:
    if not 0 < low <= high < math.inf:
        raise ValueError
    levels = [low]
    while levels[-1] * 2 < high and len(levels) <= _MOST_LEVELS:
        levels.append(levels[-1] * 2)
    return [*levels, high] if levels[-1] < high else levels


def _load(asked: dict[str, Any], kind: str, level: float | None) -> Load:
    from bide.bench.loads import Load

    requests, duration_s = asked["requests"], asked["duration"]
    if kind == "concurrency":
        users = int(level or 1)
        if requests is None and duration_s is None:
            requests = max(_FEWEST, _ROUNDS * users)
        return Load(
            "closed",
            concurrency=users,
            requests=requests,
            duration_s=duration_s,
            ramp_from=asked["ramp"],
            spread_s=asked["spread"],
            think_s=asked["think"],
        )
    if asked["workload"]:
        if asked["scale"] and level:
            raise BadInput("scale", asked["scale"], _("either --rate or --scale"))
        return Load("replay", rate=level, requests=requests, duration_s=duration_s)
    if requests is None and duration_s is None:
        duration_s = _DURATION_S
    return Load("open", level, None, _burstiness(asked), requests, duration_s, asked["ramp"])


def _burstiness(asked: dict[str, Any]) -> float:
    if asked["arrivals"] == "constant":
        return math.inf
    if asked["arrivals"] == "gamma" and asked["burstiness"] is None:
        raise BadInput("burstiness", None, _("the shape of the gamma gaps"))
    return asked["burstiness"] or 1.0
