"""`patience`: how long users wait, as limits on percentiles, or as the share of requests that must go well."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bide.errors import BadInput
from bide.i18n import _
from bide.located import Located
from bide.metrics import ENOUGH_FOR_P99, LATENCIES, Latency
from bide.plan.question import TIMED, Goodput, Limit, Measure
from bide.sourced import Assumption
from bide.units import format_seconds

DEFAULT = Limit(Measure("e2e", 95.0), 5.0)
"""What people are taken to wait for a whole answer where nobody says."""
Patience = tuple[tuple[Limit, ...], Goodput | None]
_LIMIT = re.compile(rf"({'|'.join(TIMED)})_(?:mean|p(\d{{1,3}}(?:\.\d{{1,6}})?))")
_GOODPUT = "goodput"
_COMMON = tuple(f"{latency}_{which}" for latency in TIMED for which in ("p95", "p99", "p90", "p50", "mean"))
_DAY_S = 86400.0
_SHORTEST_S = 1e-6
_P99 = 99.0


def read_patience(entry: Located | None, rows: int, service: str) -> tuple[Patience, tuple[Assumption, ...]]:
    """The limits of `service`, whose workload has so many rows, and what was assumed where there is no entry."""
    if entry is None:
        value = f"{DEFAULT.measure.name} {format_seconds(DEFAULT.seconds)}"
        return ((DEFAULT,), None), (Assumption(_("patience of {name}").format(name=service), value, _("not given")),)
    if not isinstance(entry.value, dict) or not entry.value:
        raise entry.bad(_allowed())
    named = {key: item for key, item in entry.value.items() if key != _GOODPUT}
    limits = [_limit(key, item, rows) for key, item in named.items()]
    _check_together(limits, named)
    goodput = _goodput(entry.value[_GOODPUT], rows) if _GOODPUT in entry.value else None
    return (tuple(limits), goodput), ()


def _allowed() -> str:
    return _(
        "ttft, tpot, itl or e2e, then _mean or _p and a percentile from 1 to 99.9 (ttft_p95, tpot_p99, e2e_mean); "
        "or goodput with a share and limits"
    )


def _limit(key: str, item: Located, rows: int) -> Limit:
    match = _LIMIT.fullmatch(key)
    if match is None:
        raise item.stray(key, (*_COMMON, _GOODPUT), _allowed())
    percent = float(match[2]) if match[2] else None
    if percent is not None and not 1 <= percent <= 99.9:
        raise BadInput(item.path, key, _allowed(), item.where)
    latency = next(latency for latency in TIMED if latency == match[1])
    if latency != "itl" and percent is not None:
        _check_rows(item, percent, rows)
    return Limit(Measure(latency, percent), _time(item))


def _time(item: Located) -> float:
    return item.seconds(_("a time above 0 and up to a day"), _SHORTEST_S, _DAY_S)


def _check_rows(item: Located, percent: float, rows: int) -> None:
    """A percentile from 99 on needs more rows than a rough one."""
    if percent >= _P99 and rows < ENOUGH_FOR_P99:
        hint = _("this workload has {rows}; ask for p95").format(rows=rows)
        raise item.bad(_("a p99 of at least {rows} requests").format(rows=ENOUGH_FOR_P99), hint)


def _check_together(limits: Sequence[Limit], items: Mapping[str, Located]) -> None:
    """Refuse a measure that is limited twice, and a limit that another one makes pointless: most likely a slip.

    A percentile is never above a higher one, and no request has its first token after its last.
    """
    for limit, item in zip(limits, items.values(), strict=True):
        for other in limits:
            if other is limit:
                continue
            if other.measure == limit.measure:
                raise item.bad(_("each measure once"))
            if _never_above(limit.measure, other.measure) and limit.seconds > other.seconds:
                text = _("at most the limit on {other}, {seconds}: it is never longer")
                raise item.bad(text.format(other=other.measure.name, seconds=format_seconds(other.seconds)))


def _never_above(one: Measure, other: Measure) -> bool:
    """Whether `one` cannot be longer than `other`, whatever the requests."""
    if one.percent is None or other.percent is None:
        return one.percent == other.percent and (one.latency, other.latency) == ("ttft", "e2e")
    within = one.latency == other.latency or (one.latency, other.latency) == ("ttft", "e2e")
    return within and one.percent <= other.percent


def _goodput(entry: Located, rows: int) -> Goodput:
    keys = entry.mapping(("share", *LATENCIES), ("share",))
    limits: list[tuple[Latency, float]] = [(name, _time(keys[name])) for name in LATENCIES if name in keys]
    if not limits:
        raise entry.bad(_("a share and a limit on at least one of {names}").format(names=", ".join(LATENCIES)))
    seconds = dict(limits)
    if seconds.get("ttft", 0.0) > seconds.get("e2e", _DAY_S):
        raise keys["ttft"].bad(_("at most the limit on e2e: no first token comes after the last"))
    allowed = _("a share of the requests from 1% to 99.9%, such as 95% or 0.95")
    share = keys["share"].share(allowed)
    if not 0.01 <= share <= 0.999:
        raise keys["share"].bad(allowed)
    _check_rows(keys["share"], 100 * share, rows)
    return Goodput(share, tuple(limits))
