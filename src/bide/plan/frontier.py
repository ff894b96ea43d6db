"""What patience saves: the cheapest fleet for each of a range of limits, short to long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bide.plan.asks import Ask, Asks, Probe, asks_of
from bide.plan.question import Goodput, Measure, Service

_E2E_S = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0)
_TTFT_S = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
_FACTORS = (0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
"""Of the limit itself, for times between tokens and for a goodput, all of whose limits move together."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A limit of `seconds` on `measure`, and all that is asked then."""

    measure: Measure
    seconds: float
    asks: Asks
    streaming: bool = False


def waits(service: Service) -> tuple[Wait, ...]:
    """The limits of the frontier, short to long, then those of streaming; none where classes have their own."""
    if service.classes:
        return ()
    return *_frontier(service), *_streaming(service)


def probes_of(found: Sequence[Wait]) -> tuple[Probe, ...]:
    """What a run must measure for them."""
    return tuple(dict.fromkeys(ask.probe for wait in found for ask in wait.asks))


def _frontier(service: Service) -> Iterable[Wait]:
    """Of the limit on whole answers, else of the first; the others stay."""
    asks = asks_of(service)
    first = next((ask for ask in asks if _latency(ask) == "e2e"), asks[0])
    measure, limit_s = _measured(first)
    known = {"e2e": _E2E_S, "ttft": _TTFT_S}.get(measure.latency)
    if known is None or isinstance(first.probe.measure, Goodput):
        known = tuple(factor * limit_s for factor in _FACTORS)
    for seconds in sorted({*known, limit_s}):
        scaled = replace(first, most=first.most * seconds / limit_s)
        yield Wait(measure, seconds, tuple(scaled if ask == first else ask for ask in asks))


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
        yield Wait(first, seconds, (*others, Ask(Probe(first), seconds)), streaming=True)
