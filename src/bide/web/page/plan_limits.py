"""The patience of one service in the form: rows of limits, and the share of requests that must keep several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bide.plan.question import Goodput, Limit, Timed
from bide.web.page.plan_fields import LATENCIES, MOST_LIMITS, row

PER_TOKEN = ("tpot", "itl")
"""In milliseconds; the others in seconds."""
USUAL: Mapping[str, str] = {"e2e": "5", "ttft": "1", "tpot": "50", "itl": "50"}
"""What a limit begins with."""
WHOLE, STREAMED = ("e2e",), ("ttft", "tpot")
"""On what the limits are where an answer is read when it is finished, and where it is read as it comes."""
GOOD = {"e2e": "good_e2e", "ttft": "good_ttft", "tpot": "good_tpot"}
"""The controls of the limits that a share of the requests must keep together."""
Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """One limit as its controls have it: `number` counts them from 1."""

    number: int
    on: Timed
    percentile: str
    most: str

    @property
    def measure(self) -> str:
        """`e2e_p95`, `tpot_mean`."""
        return f"{self.on}_mean" if self.percentile == "mean" else f"{self.on}_p{self.percentile}"

    @property
    def seconds(self) -> float:
        return float(self.most) / (1e3 if self.on in PER_TOKEN else 1)

    @property
    def time(self) -> str:
        """`5s`, `50ms`."""
        return timed(self.on, self.most)


def timed(on: str, most: str) -> str:
    """A control's number with its unit."""
    return most + ("ms" if on in PER_TOKEN else "s")


def rows(values: Values) -> list[Row]:
    """The limits that there are."""
    found = []
    for number in range(1, MOST_LIMITS + 1):
        on, percentile, most = (values[row(name, number)] for name in ("limit_on", "percentile", "patience"))
        found += [Row(number, latency, percentile, most) for latency in LATENCIES if latency == on]
    return found


def set_to(limits: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """The controls for limits given as latency, percentile, number; those of no row are emptied."""
    found: dict[str, str] = {}
    for number in range(1, MOST_LIMITS + 1):
        on, percentile, most = limits[number - 1] if number <= len(limits) else _absent(number)
        names = (row(name, number) for name in ("limit_on", "percentile", "patience"))
        found |= dict(zip(names, (on, percentile, most), strict=True))
    return found


def _absent(number: int) -> tuple[str, str, str]:
    return ("none", "95", "5") if number == 1 else ("", "95", "1")


def usual(latencies: Sequence[str]) -> dict[str, str]:
    """The controls for the usual limits on these."""
    return set_to([(on, "95", USUAL[on]) for on in latencies])


def with_one_more(values: Values) -> dict[str, str]:
    """The controls with a limit on the first latency that has none yet."""
    now = [(each.on, each.percentile, each.most) for each in rows(values)]
    taken = {on for on, _percentile, _most in now}
    free = next((on for on in LATENCIES if on not in taken), "")
    more = (free, "95", USUAL[free]) if free else (LATENCIES[0], "99", USUAL[LATENCIES[0]])
    return set_to([*now, more])


def without(values: Values, number: int) -> dict[str, str]:
    """The controls without one of the limits; the last one may go only where a share is asked for."""
    kept = [each for each in rows(values) if each.number != number]
    if not kept and not values["goodput"]:
        return {}
    return set_to([(each.on, each.percentile, each.most) for each in kept])


def is_whole(values: Values) -> bool:
    """Whether somebody waits for the end of the answer."""
    return any(each.on == "e2e" for each in rows(values)) or bool(values["goodput"] and values["good_e2e"])


def patience(values: Values) -> dict[str, Any]:
    """As a service file has it."""
    found: dict[str, Any] = {each.measure: each.time for each in rows(values)}
    if values["goodput"]:
        good = {on: timed(on, values[key]) for on, key in GOOD.items() if values[key]}
        found["goodput"] = {"share": f"{values['goodput']}%", **good}
    return found


def controls_of(limits: Sequence[Limit], goodput: Goodput | None) -> dict[str, str]:
    """The other way round."""
    found = set_to([
        (each.measure.latency, "mean" if each.measure.percent is None else f"{each.measure.percent:.10g}",
         in_unit(each.measure.latency, each.seconds))
        for each in limits
    ])  # fmt: skip
    if goodput is not None:
        found["goodput"] = f"{round(100 * goodput.share, 6):.10g}"
        found |= {GOOD[on]: in_unit(on, seconds) for on, seconds in goodput.limits}
    return found


def in_unit(on: str, seconds: float) -> str:
    """A time as the control of its latency has it."""
    return f"{seconds * 1e3 if on in PER_TOKEN else seconds:.10g}"
