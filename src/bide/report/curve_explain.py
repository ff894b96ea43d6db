"""`bide curve --explain`: where each millisecond of a point goes, and the arithmetic from there to rates and cost."""

from __future__ import annotations

from collections.abc import Iterator

from bide.i18n import _, numeral
from bide.report.curve_names import load_name
from bide.report.curve_parts import time_parts
from bide.report.curve_said import CurvesSaid, headline
from bide.report.words import rate, usd
from bide.simulate.operating import Curve, Parts, Point
from bide.units import format_seconds

_BAR_CELLS = 40


def explained(said: CurvesSaid) -> Iterator[str]:
    """Lines for the headline of each curve."""
    for name, curve in zip(said.names, said.curves, strict=True):
        point = headline(curve)
        yield _("Where the time goes: {name} with {load}").format(name=name, load=load_name(point.load))
        yield from explained_point(curve, point)


def explained_point(curve: Curve, point: Point) -> Iterator[str]:
    """Bars of a token and of the first token, then what follows from them."""
    if point.tpot_parts is not None:
        yield _("  a token: {time}").format(time=format_seconds(point.tpot_parts.total_s))
        yield from _bars(point.tpot_parts)
    if point.ttft_parts is not None:
        yield _("  the first token: {time}").format(time=format_seconds(point.ttft_parts.total_s))
        yield from _bars(point.ttft_parts)
    yield from (f"  {line}" for line in arithmetic(curve, point))


def _bars(parts: Parts) -> Iterator[str]:
    """A bar each, those of no time left out."""
    whole, shown = parts.total_s, time_parts(parts)
    widest = max(9, *(len(part.name) for part in shown))
    for part in shown:
        if part.seconds > 0:
            share = part.seconds / whole
            bar = "#" * max(1, round(share * _BAR_CELLS))
            figures = f"{format_seconds(part.seconds):>8} {numeral(share, '5.0%')}"
            yield f"    {part.name:{widest}} {figures}  {bar:{_BAR_CELLS}}  {part.what}"


def arithmetic(curve: Curve, point: Point) -> Iterator[str]:
    """From the times to the rates, by the definitions and Little's law."""
    output, tokens = point.mix.output_tokens, point.output_tokens_per_s
    if point.ttft_s is not None and point.tpot_s is not None and point.e2e_s is not None:
        text = _("E2E: {ttft} + ({output:,.10g} - 1) x {tpot} = {e2e}")
        times = {key: format_seconds(getattr(point, f"{key}_s")) for key in ("ttft", "tpot", "e2e")}
        yield text.format(output=output, **times)
        yield from _rate(point, point.e2e_s)
    yield _("output tokens/s: {rate} requests/s x {output:,.10g} tokens = {tokens:,.0f}").format(
        rate=rate(point.requests_per_s), output=output, tokens=tokens
    )
    yield _("per GPU: {tokens:,.0f} / {gpus} = {each:,.0f} tokens/s").format(
        tokens=tokens, gpus=curve.gpus, each=curve.output_tokens_per_s_per_gpu(point)
    )
    hour, cost = curve.usd_per_hour(), curve.usd_per_million_output_tokens(point)
    if hour is not None and cost is not None:
        text = _(
            "cost: {hour} an hour / ({tokens:,.0f} tokens/s x 3,600 s) x 1,000,000 = {cost} a million output tokens"
        )
        yield text.format(hour=usd(hour), tokens=tokens, cost=usd(cost))


def _rate(point: Point, e2e_s: float) -> Iterator[str]:
    """Little's law: requests in the system = requests a second x the time each is there."""
    if point.load.kind == "concurrency":
        text = _("requests/s: {n:,.10g} clients / {e2e} = {rate} (Little's law)")
        yield text.format(n=point.load.value, e2e=format_seconds(e2e_s), rate=rate(point.requests_per_s))
    elif point.load.kind == "requests_per_s":
        text = _("in the system: {rate} requests/s x {e2e} = {n} (Little's law), of which {running} run")
        inside = rate(point.requests_per_s * e2e_s)
        running = rate(point.running_requests)
        yield text.format(rate=rate(point.requests_per_s), e2e=format_seconds(e2e_s), n=inside, running=running)
    else:
        text = _("requests/s: {n:,.10g} requests in {whole} = {rate}")
        whole = format_seconds(point.load.value / point.requests_per_s)
        yield text.format(n=point.load.value, whole=whole, rate=rate(point.requests_per_s))
