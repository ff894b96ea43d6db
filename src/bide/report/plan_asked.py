"""What a service asks for, as something to show: its name, its limit, and what a replica does about it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bide.i18n import _, numeral
from bide.interval import Interval
from bide.plan.findings import Reading
from bide.plan.question import Goodput, Measure, Service
from bide.plan.reading import shown_measures
from bide.report.words import latency_name, listed, rounded, seconds, short_name, span


@dataclass(frozen=True, slots=True)
class Asked:
    """`limit` is in seconds of a Measure; of a Goodput 1, the worst latency of a request over its limit."""

    what: Measure | Goodput
    name: str
    limit: float | None
    """None where it is only shown."""

    def of(self, reading: Reading) -> Interval | None:
        """What is promised of it at a reading; None where the replica is too busy."""
        if isinstance(self.what, Goodput):
            return reading.goodput_ratio
        return reading.seconds[self.what]

    def within(self, reading: Reading) -> bool:
        """Whether the likely value is within the limit; nothing is beyond one that there is not."""
        found = self.of(reading)
        return self.limit is None or (found is not None and found.mid <= self.limit)

    def text(self, reading: Reading) -> str:
        """`180 ms (110 to 520)`, or `0.52 (0.31 to 1.8)` of the limits."""
        found = self.of(reading)
        if not isinstance(self.what, Goodput) or found is None:
            return span(found)
        low, mid, high = (numeral(rounded(value), "g") if math.isfinite(value) else "∞" for value in _ends(found))
        return _("{mid} ({low} to {high})").format(mid=mid, low=low, high=high)


def _ends(found: Interval) -> tuple[float, float, float]:
    return found.low, found.mid, found.high


def asked_of(service: Service) -> tuple[Asked, ...]:
    """Everything with a limit: those on percentiles, then the goodput."""
    found = [Asked(limit.measure, short_name(limit.measure), limit.seconds) for limit in service.patience]
    return (*found, *_goodput(service))


def _goodput(service: Service) -> tuple[Asked, ...]:
    if service.goodput is None:
        return ()
    return (Asked(service.goodput, _("worst over limit, p{share:g}").format(share=100 * service.goodput.share), 1.0),)


def shown_of(service: Service) -> tuple[Asked, ...]:
    """What is asked, and the other latencies beside it."""
    asked = asked_of(service)
    limited = {each.what for each in asked}
    measures = shown_measures(service.patience)
    return (*asked, *(Asked(m, short_name(m), None) for m in measures if m not in limited))


def patience_text(service: Service) -> str:
    """`E2E p95 at most 5 s`; `95% of the requests with TTFT at most 1 s and TPOT at most 50 ms`."""
    at_most = _("{name} at most {limit}")
    parts = [at_most.format(name=short_name(limit.measure), limit=seconds(limit.seconds)) for limit in service.patience]
    if service.goodput:
        limits = [at_most.format(name=name.upper(), limit=seconds(most)) for name, most in service.goodput.limits]
        text = _("{share:.4g}% of the requests with {limits}")
        parts.append(text.format(share=100 * service.goodput.share, limits=listed(limits)))
    return listed(parts)


def names_text(service: Service) -> str:
    """What the abbreviations mean that the service uses."""
    used = dict.fromkeys(limit.measure.latency for limit in service.patience)
    used |= dict.fromkeys(latency for latency, _most in (service.goodput.limits if service.goodput else ()))
    names = "; ".join(f"{latency.upper()}: {latency_name(latency)}" for latency in used)
    return _("{names}. p95: what 95 of 100 requests stay below.").format(names=names)
