"""Limits on percentiles, and the highest load that keeps to them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bide.bench.loads import MOST_REQUESTS, MOST_USERS, RATES_PER_S, Load
from bide.bench.result import Cell
from bide.bench.summary import METRICS, Latency, Metric
from bide.errors import BadInput
from bide.i18n import _, ngettext
from bide.units import format_seconds, parse_seconds

_NAME = re.compile(r"(ttft|ttfc|tpot|itl|chunk_gap|e2e)_(mean|p50|p90|p95|p99)")
MOST_FAILED = 0.01
"""Of the requests: a level with more failures does not meet anything."""
_SAME_AS: dict[Metric, Metric] = {"ttfc": "ttft", "chunk_gap": "itl"}
"""A summary says once what is the same: where every first token is content, and every chunk one token."""
_MOST_CELLS = 16
_LEAST_SHARE = 1 / 256


@dataclass(frozen=True, slots=True)
class Objective:
    """One figure, at most so many seconds. `percent` is None for the mean."""

    metric: Metric
    percent: int | None
    limit_s: float

    @property
    def name(self) -> str:
        return f"{self.metric}_{'mean' if self.percent is None else f'p{self.percent}'}"

    def _latency(self, cell: Cell) -> Latency | None:
        found = cell.summary.latency(self.metric)
        return found or (cell.summary.latency(_SAME_AS[self.metric]) if self.metric in _SAME_AS else None)

    def value_s(self, cell: Cell) -> float:
        latency = self._latency(cell)
        if latency is None or not latency.count:
            return math.nan
        return latency.mean_s if self.percent is None else latency.at(self.percent)

    def ends_s(self, cell: Cell) -> tuple[float, float] | None:
        """95 % of such runs have it between these; None where too few requests tell."""
        latency = self._latency(cell)
        if latency is None:
            return None
        if self.percent is None:
            return latency.mean_ends_s
        found = next((each for each in latency.percentiles if each.percent == self.percent), None)
        return None if found is None or found.low is None or found.high is None else (found.low, found.high)


def parse_objectives(text: str) -> tuple[Objective, ...]:
    """`ttft_p95=1s,tpot_p95=50ms`. Raises BadInput."""
    found = []
    for part in text.split(","):
        name, equals, value = part.partition("=")
        match = _NAME.fullmatch(name.strip())
        if not equals or match is None:
            allowed = _("NAME_PERCENTILE=TIME such as ttft_p95=1s; names: {names}; mean, p50, p90, p95, p99")
            raise BadInput("slo", part, allowed.format(names=", ".join(METRICS)))
        percent = None if match[2] == "mean" else int(match[2][1:])
        found.append(Objective(match[1], percent, parse_seconds(value.strip(), "slo")))  # type: ignore[arg-type]  # one of Metric
    return tuple(found)


def broken(cell: Cell, objectives: Sequence[Objective]) -> list[str]:
    """Why a level does not meet the objectives; empty where it does."""
    summary = cell.summary
    reasons = []
    for each in objectives:
        value_s = each.value_s(cell)
        if not value_s <= each.limit_s and not (math.isnan(value_s) and each.metric in ("tpot", "itl", "chunk_gap")):
            reasons.append(_missed(each, value_s))
    if summary.failed > MOST_FAILED * max(1, summary.requests):
        reasons.append(
            ngettext("{n:,} of {all:,} requests failed", "{n:,} of {all:,} requests failed", summary.failed).format(
                n=summary.failed, all=summary.requests
            )
        )
    if cell.load.kind == "open" and summary.flight.grows and not summary.window.whole:
        reasons.append(_("not steady: requests pile up"))
    return reasons


def _missed(objective: Objective, value_s: float) -> str:
    if math.isnan(value_s):
        return _("{name} is not known: no request succeeded").format(name=objective.name)
    missed = _("{name} {value} > {limit}")
    value, limit = (format_seconds(seconds) for seconds in (value_s, objective.limit_s))
    return missed.format(name=objective.name, value=value, limit=limit)


def unsure(cell: Cell, objectives: Sequence[Objective]) -> list[str]:
    """Why a level that keeps to the objectives may as well not: figures with few requests, or near the limit."""
    found = []
    for each in objectives:
        ends = each.ends_s(cell)
        if math.isnan(each.value_s(cell)):
            continue  # of answers of one token there is nothing to be sure of
        if ends is None:
            few = _("too few requests to say how sure {name} is")
            found.append(few.format(name=each.name))
        elif ends[1] > each.limit_s:
            near = _("{name} lies between {low} and {high} in 95 of 100 such runs")
            low, high = map(format_seconds, ends)
            found.append(near.format(name=each.name, low=low, high=high))
    return found


@dataclass(frozen=True, slots=True)
class Found:
    """`best` met the objectives, `first_broken` is the lowest level that did not."""

    best: Cell | None
    first_broken: Cell | None
    reasons: tuple[str, ...]
    interrupted: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "highest": self.best.load.level if self.best else None,
            "highest_cell": self.best.number if self.best else None,
            "first_broken": self.first_broken.load.level if self.first_broken else None,
            "reasons": list(self.reasons),
            "finished": not self.interrupted,
        }


def search(play: Callable[[Load], Cell], first: Load, objectives: Sequence[Objective], precision: float) -> Found:
    """Double or halve the load until one level meets the objectives and one does not, then close in on the edge."""
    best: Cell | None = None
    worst: Cell | None = None
    reasons: tuple[str, ...] = ()
    level, least = first.level, _least(first)
    for _cell in range(_MOST_CELLS):
        cell = play(_at(first, level))
        if cell.interrupted:
            return Found(best, worst, reasons, True)
        why = broken(cell, objectives)
        if why:
            worst, reasons = cell, tuple(why)
        else:
            best = cell
        following = _next(best, worst, precision, first.kind == "closed")
        if following is None or not least <= following <= _most(first):
            break
        level = following
    return Found(best, worst, reasons, False)


def _least(load: Load) -> float:
    """The lowest level that is tried: far below the first, but one with a request in it."""
    share = load.level * _LEAST_SHARE
    one = 1 / load.duration_s if load.kind == "open" and load.duration_s else 0.0
    return max(share, min(one, load.level))


def _most(load: Load) -> float:
    """The highest level that a client may be asked for."""
    if load.kind == "closed":
        return MOST_USERS
    return min(RATES_PER_S[1], MOST_REQUESTS / (load.duration_s or 1.0))


def _next(best: Cell | None, worst: Cell | None, precision: float, whole: bool) -> float | None:
    """The next level to try; None where the edge is known well enough."""
    if worst is None:
        assert best is not None
        return best.load.level * 2
    if best is None:
        lower = worst.load.level / 2
        return None if whole and worst.load.level <= 1 else max(1.0, lower) if whole else lower
    low, high = best.load.level, worst.load.level
    if high <= low * (1 + precision) or (whole and high - low <= 1):
        return None
    middle = math.sqrt(low * high)
    return min(high - 1, max(low + 1, round(middle))) if whole else middle


def _at(load: Load, level: float) -> Load:
    if load.kind == "closed":
        return replace(load, concurrency=round(level), requests=_scaled(load, level))
    if load.kind == "replay" and load.duration_s:  # the trace over and over: faster, it would be over sooner
        count = min(MOST_REQUESTS, max(1, round(level * load.duration_s)))
        return replace(load, rate=level, requests=count)
    return replace(load, rate=level)


def _scaled(load: Load, level: float) -> int | None:
    """As many requests a user as the first level has."""
    if load.requests is None or not load.concurrency:
        return load.requests
    return min(MOST_REQUESTS, max(1, round(load.requests * level / load.concurrency)))


def knee(cells: Sequence[Cell]) -> Cell | None:
    """The level with the most throughput for its delay: requests a second over the mean stay.

    Kleinrock's power (1979, "Power and deterministic rules of thumb for probabilistic problems in
    computer communications"). None for fewer than three levels that served anything.
    """
    powers = [(_power(cell), cell) for cell in cells]
    there = [(power, cell) for power, cell in powers if power > 0]
    return max(there, key=lambda pair: pair[0])[1] if len(there) >= 3 else None


def _power(cell: Cell) -> float:
    latency = cell.summary.latency("e2e")
    if latency is None or not latency.count or cell.summary.flight.grows:
        return 0.0
    return cell.summary.completed_per_s / latency.mean_s
