"""Observed traffic in words and rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from bide.i18n import _, numeral
from bide.interval import Interval
from bide.metrics import ENOUGH_FOR_P99
from bide.report.words import assumption_line, count, listed, rate, rounded, so_many_requests, span
from bide.report.workload_text import duration
from bide.units import format_seconds
from bide.workload.observing.histogram import Histogram
from bide.workload.observing.observation import LATENCIES, LENGTHS, PERCENTS, Observation, moment
from bide.workload.observing.rates import Level

Table = tuple[list[str], list[list[str]]]
Shown = Callable[[Interval], str]


def sentence(seen: Observation) -> str:
    """Who answered how many requests, in which time, and the rate to plan for."""
    requests = so_many_requests(round(seen.requests))
    text = _("{model} on {engine} answered {requests} in {window}: {mean} a second, {peak} at the peak.")
    return text.format(
        model=seen.served.model,
        engine=seen.served.engine,
        requests=requests,
        window=duration(seen.looking.window_s),
        mean=rate(seen.rates.mean_rps),
        peak=rate(seen.rates.peak_rps),
    )


def length_table(seen: Observation) -> Table:
    """Tokens of prompts and answers, with the bucket in which each percentile lies."""
    named = dict(zip(LENGTHS, (_("prompt"), _("output"), _("max_tokens asked")), strict=True))
    rows = [[name, *_row(seen.histograms[role], _tokens)] for role, name in named.items() if role in seen.histograms]
    return [_("tokens"), *_figures()], rows


def latency_table(seen: Observation) -> Table:
    """Measured latencies, with the bucket in which each percentile lies."""
    names = (_("TTFT"), _("TPOT"), _("between tokens"), _("E2E"), _("queue wait"))
    named = dict(zip(LATENCIES, names, strict=True))
    rows = [[name, *_row(seen.histograms[role], _seconds)] for role, name in named.items() if role in seen.histograms]
    return [_("measured"), *_figures()], rows


def _figures() -> list[str]:
    return [_("mean"), *(f"p{percent:g}" for percent in PERCENTS)]


def _row(of: Histogram, shown: Shown) -> list[str]:
    return [shown(of.mean), *(shown(of.quantile(percent / 100)) for percent in PERCENTS)]


def _tokens(value: Interval) -> str:
    """`1,500 (1,001 to 2,000)`; one figure where it is exact."""
    if value.low == value.high:
        return count(value.mid)
    if math.isinf(value.high):
        return _("over {low}").format(low=count(value.low - 1))
    return _("{mid} ({low} to {high})").format(mid=count(value.mid), low=count(value.low), high=count(value.high))


def _seconds(value: Interval) -> str:
    if value.low == value.high:
        return format_seconds(rounded(value.mid, 3))
    if math.isinf(value.high):
        return _("over {low}").format(low=format_seconds(value.low))
    return span(value)


def facts(seen: Observation) -> Iterator[tuple[str, str]]:
    """The figures that are one each: rate, load, cache, how requests ended."""
    yield _("rate"), _rate_text(seen)
    yield from _load(seen)
    if seen.prefix_hit_rate is not None:
        yield _("prefix cache"), _("{share:.1%} of the prompt tokens were found").format(share=seen.prefix_hit_rate)
    if "preemptions" in seen.counts:
        yield _("preemptions"), _per_request(seen.counts["preemptions"], seen.requests)
    if seen.reasons:
        total = sum(seen.reasons.values()) or 1.0
        parts = [f"{name} {numeral(number / total, '.1%')}" for name, number in seen.reasons.items() if number > 0]
        yield _("ended by"), listed(parts)
    if seen.counts.get("aborted"):
        yield _("aborts"), _per_request(seen.counts["aborted"], seen.requests)


def _rate_text(seen: Observation) -> str:
    rates = seen.rates
    text = _("mean {mean}/s, peak {peak}/s in the {step} before {at:%Y-%m-%d %H:%M} UTC").format(
        mean=rate(rates.mean_rps), peak=rate(rates.peak_rps), step=format_seconds(rates.step_s), at=seen.peak_at
    )
    if rates.busiest_hour_rps is not None:
        text += _("; busiest hour {hour}/s").format(hour=rate(rates.busiest_hour_rps))
    if rates.dispersion is not None:
        text += _("; variance/mean of the counts {ratio:.3g}").format(ratio=rates.dispersion)
    return text


def _load(seen: Observation) -> Iterator[tuple[str, str]]:
    for name, of in ((_("running"), seen.running), (_("waiting"), seen.waiting)):
        if of is not None:
            yield name, _level(of)
    if seen.kv_usage is not None:
        text = _("mean {mean:.0%}, p95 {p95:.0%}").format(mean=seen.kv_usage.mean, p95=seen.kv_usage.p95)
        if seen.kv_fullest is not None:
            text += _("; the fullest replica {share:.0%}").format(share=seen.kv_fullest)
        yield _("KV in use"), text
    if seen.replicas is not None:
        yield (
            _("replicas"),
            _("mean {mean:.3g}, at most {most:.0f}").format(mean=seen.replicas.mean, most=seen.replicas.largest),
        )


def _level(of: Level) -> str:
    return _("mean {mean:.3g}, p95 {p95:.3g}, at most {most:.3g}").format(mean=of.mean, p95=of.p95, most=of.largest)


def _per_request(number: float, requests: float) -> str:
    share = number / requests if requests else 0.0
    return _("{n}, {share:.2%} of the requests").format(n=count(number), share=share)


def endnotes(seen: Observation) -> Iterator[str]:
    """What the figures rest on."""
    yield _("From {address}, {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} UTC, metrics {prefix}*").format(
        address=seen.address,
        since=moment(seen.looking.since_s),
        until=moment(seen.looking.until_s),
        prefix=seen.served.prefix,
    )
    yield _("In brackets the histogram's bucket, in which the value lies for certain; before them the likely value")
    yield _how_counted(seen)
    if seen.requests < ENOUGH_FOR_P99:
        text = _("Only {n} requests: percentiles above p90 are rough; look at a longer time")
        yield text.format(n=count(seen.requests))
    yield from seen.notes
    if seen.missing:
        yield _("Not told by these servers: {names}").format(names=listed(seen.missing))
    for assumption in seen.assumptions:
        yield _("Assumed: {assumption}").format(assumption=assumption_line(assumption))


def _how_counted(seen: Observation) -> str:
    if seen.rates.queue_known:
        text = _("Rates: requests that got their first token, and the growth of the queue, in steps of {step}")
    else:
        text = _("Rates: requests that were answered, in steps of {step}")
    scrape = seen.scrape_s
    text += _(" (scraped every {scrape})").format(scrape=format_seconds(rounded(scrape))) if scrape else ""
    return text.format(step=format_seconds(seen.rates.step_s)) + _("; a peak shorter than a step is not seen")
