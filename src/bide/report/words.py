"""How the report says numbers: as exact as they are known, never more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bide.i18n import _, localised, ngettext, numeral
from bide.interval import Interval
from bide.units import format_seconds

if TYPE_CHECKING:
    from bide.facts.deployment import Deployment
    from bide.plan.question import Measure, Timed
    from bide.sourced import Assumption


def rounded(value: float, digits: int = 2) -> float:
    """`value` to `digits` significant digits; 0 and infinity stay.

    >>> rounded(0.01834), rounded(1234.0)
    (0.018, 1200.0)
    """
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def seconds(value: float) -> str:
    """Two significant digits in the unit people would say; `unstable` for infinity."""
    return format_seconds(rounded(value)) if math.isfinite(value) else _("unstable")


def span(interval: Interval | None) -> str:
    """The likely value, then its range, in one unit: `180 ms (110 to 520)`. What is not known is unstable.

    >>> span(Interval(0.11, 0.184, 1.3)), span(Interval(1.04, 2.0, float("inf"))), span(Interval(1.02, 1.03, 1.04))
    ('180 ms (110 to 1,300)', '2 s (1 to ∞)', '1.03 s (1.02 to 1.04)')
    """
    if interval is None:
        return _("unstable")
    text, scale = next((unit for unit in _spans() if interval.mid >= unit[1]), _spans()[-1])
    values = [value / scale for value in (interval.low, interval.mid, interval.high)]
    alike = len({_in_unit(value) for value in values}) == 1
    low, mid, high = (_in_unit(value, 3 if alike else 2) for value in values)
    return text.format(mid=mid, low=low, high=high)


def _spans() -> tuple[tuple[str, float], ...]:
    """How a span is said, and the seconds of its unit."""
    return (
        (_("{mid} s ({low} to {high})"), 1.0),
        (_("{mid} ms ({low} to {high})"), 1e-3),
        (_("{mid} us ({low} to {high})"), 1e-6),
    )


def _in_unit(value: float, digits: int = 2) -> str:
    return numeral(rounded(value, digits), ",g") if math.isfinite(value) else "∞"


def count(value: float) -> str:
    """A whole number with thousands separated."""
    return numeral(value, ",.0f")


def usd(value: float) -> str:
    """Two digits below 1, cents below 100, whole dollars above.

    >>> usd(0.0187), usd(0.4), usd(3.5), usd(1234.5)
    ('$0.019', '$0.40', '$3.50', '$1,234')
    """
    if 0 < value < 0.1:
        amount = localised(f"{rounded(value):f}".rstrip("0"))
    else:
        amount = numeral(value, ",.2f" if value < 100 else ",.0f")
    return _("${amount}").format(amount=amount)


_EXACT_BELOW = 10.0


def usd_per_hour(value: float) -> str:
    """Cents, and below $10 two digits more where there are any: it is multiplied by many hours.

    >>> usd_per_hour(117.36), usd_per_hour(4.58), usd_per_hour(0.8048)
    ('$117.36', '$4.58', '$0.8048')
    """
    exact = f"{value:,.4f}".rstrip("0")
    cents = f"{value:,.2f}"
    return _("${amount}").format(amount=localised(exact if value < _EXACT_BELOW and len(exact) > len(cents) else cents))


def rate(value: float) -> str:
    """Requests a second, three digits."""
    return numeral(rounded(value, 3), ",g")


def latency_name(latency: Timed) -> str:
    """The latency in words."""
    return {
        "itl": _("gap between two tokens"),
        "ttft": _("time to first token"),
        "tpot": _("time per output token"),
        "e2e": _("time to last token"),
    }[latency]


def short_name(measure: Measure) -> str:
    """`TTFT p95`, `E2E mean`."""
    which = _("mean") if measure.percent is None else f"p{measure.percent:g}"
    return f"{measure.latency.upper()} {which}"


def so_many_gpus(n: int) -> str:
    """`1 GPU`, `1,200 GPUs`."""
    return ngettext("{n:,} GPU", "{n:,} GPUs", n).format(n=n)


def so_many_replicas(n: int) -> str:
    """`1 replica`, `2 replicas`."""
    return ngettext("{n:,} replica", "{n:,} replicas", n).format(n=n)


def so_many_requests(n: int) -> str:
    """`1 request`, `2 requests`."""
    return ngettext("{n:,} request", "{n:,} requests", n).format(n=n)


def assumption_text(assumption: Assumption) -> str:
    """`max_gpus = 64`: keys of files and flags as they are spelled, other names in the chosen language."""
    names = {
        "step times": _("step times"),
        "engine rules": _("engine rules"),
        "draft acceptance": _("draft acceptance"),
    }
    return f"{names.get(assumption.name, assumption.name)} = {assumption.value}"


def assumption_line(assumption: Assumption) -> str:
    """The same with its reason."""
    return f"{assumption_text(assumption)} ({assumption.why})"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return _("{first} and {last}").format(first=", ".join(names[:-1]), last=names[-1])


def place(deployment: Deployment) -> str:
    """The hardware and the engine, as one would say it."""
    one = deployment.gpu.id if deployment.gpu else _("a pool that was given")
    where = cards(deployment, deployment.replica_gpus) if deployment.replica_gpus > 1 else one
    return f"{where}, {engine_name(deployment)}"


def cards(deployment: Deployment, gpus: int) -> str:
    """`4 x h100-sxm (TP2)`: so many GPUs, with the split of a replica where it has several."""
    gpu = deployment.gpu.id if deployment.gpu else _("pools of that size")
    split = [f"{k}{v}" for k, v in (("TP", deployment.tp), ("PP", deployment.pp), ("DP", deployment.dp)) if v > 1]
    return f"{gpus} x {gpu}" + (f" ({', '.join(split)})" if split else "")


def engine_name(deployment: Deployment) -> str:
    """`vllm 0.33.0`."""
    return f"{deployment.engine.name} {deployment.engine.version_text}"
