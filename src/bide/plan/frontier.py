"""What patience saves: the cheapest fleet for each of a range of limits, short to long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bide.plan.asks import Ask, Asks, Probe, asks_of
from bide.plan.question import Measure, Service

_E2E_S = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0)
_TTFT_S = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
_FACTORS = (0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
"""Of the limit itself, for times between tokens and for a goodput, all of whose limits move together."""
_TWICE = 2.0
_LONGER = (1.5, _TWICE)
"""Of all limits together, where there are several."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A limit of `seconds` on `measure`, and all that is asked then.

    `kind`: this limit alone is another one than was asked for, or all are by one factor, or the first token is limited
    in place of the whole answer.
    """

    measure: Measure
    seconds: float
    asks: Asks
    kind: Literal["one", "all", "streaming"] = "one"


def waits(service: Service) -> tuple[Wait, ...]:
    """Kind after kind, each from short to long; none where classes have limits of their own."""
    if service.classes:
        return ()
    return *_frontier(service), *_together(service), *_streaming(service)


def probes_of(found: Sequence[Wait]) -> tuple[Probe, ...]:
    """What a run must measure for them."""
    return tuple(dict.fromkeys(ask.probe for wait in found for ask in wait.asks))


def _frontier(service: Service) -> Iterable[Wait]:
    """Of the limit on whole answers, else of the first; the others stay."""
    asks = asks_of(service)
    first = _first(asks)
    measure, limit_s = _measured(first)
    for seconds in _limits_s(first, limit_s):
        scaled = replace(first, most=first.most * seconds / limit_s)
        yield Wait(measure, seconds, tuple(scaled if ask == first else ask for ask in asks))


def _first(asks: Asks) -> Ask:
    """Whose limit the frontier changes."""
    return next((ask for ask in asks if _latency(ask) == "e2e"), asks[0])


def _limits_s(first: Ask, limit_s: float) -> list[float]:
    """Short to long, what was asked for among them and something that is longer by half at least."""
    known = {"e2e": _E2E_S, "ttft": _TTFT_S}.get(_latency(first))
    if known is None:
        return [factor * limit_s for factor in _FACTORS]
    longest = (_TWICE * limit_s,) if known[-1] < _LONGER[0] * limit_s else ()
    return sorted({*known, limit_s, *longest})


def _together(service: Service) -> Iterable[Wait]:
    """All limits longer by one factor: where they are several, the first alone may not be what binds."""
    asks = asks_of(service)
    if len(asks) > 1:
        measure, limit_s = _measured(_first(asks))
        for factor in _LONGER:
            yield Wait(measure, factor * limit_s, tuple(ask.scaled(factor) for ask in asks), "all")


def _latency(ask: Ask) -> str:
    return ask.probe.measure.latency if isinstance(ask.probe.measure, Measure) else ""


def _measured(ask: Ask) -> tuple[Measure, float]:
    """The measure that stands for an ask, and its limit in seconds: of a goodput its first, at its share."""
    measure = ask.probe.measure
    if isinstance(measure, Measure):
        return measure, ask.most
    latency, seconds = measure.limits[0]
    return Measure(latency, 100 * measure.share), seconds


def _streaming(service: Service) -> Iterable[Wait]:
    """The first token in place of the whole answer, at the same percentile."""
    asks = asks_of(service)
    whole = [ask for ask in asks if _latency(ask) == "e2e"]
    if not whole:
        return
    measure = whole[0].probe.measure
    assert isinstance(measure, Measure)
    first = Measure("ttft", measure.percent)
    others = tuple(ask for ask in asks if ask not in whole and ask.probe.measure != first)
    for seconds in _TTFT_S:
        yield Wait(first, seconds, (*others, Ask(Probe(first), seconds)), "streaming")
