"""What a workload is, in words and rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bide.i18n import _, numeral
from bide.metrics import ENOUGH_FOR_P99
from bide.report.words import assumption_line, count, rounded, so_many_requests
from bide.workload.measuring.description import Description
from bide.workload.measuring.lengths import LengthStats
from bide.workload.reading.report import ReadReport
from bide.workload.trace import Trace

Rows = list[list[str]]
_SHOWN_PERCENTS = (50.0, 90.0, 95.0, 99.0)


@dataclass(frozen=True, slots=True)
class WorkloadSaid:
    """The measures of a workload, with the trace that they are of and how it was read where these are at hand."""

    description: Description
    trace: Trace | None = None
    report: ReadReport | None = None


def sentence(said: WorkloadSaid) -> str:
    """How many requests, how often, how long."""
    about = said.description
    text = so_many_requests(about.requests)
    if about.arrivals:
        span, rate = duration(about.arrivals.span_s), numeral(rounded(about.arrivals.mean_rps, 3), "g")
        text += _(" in {span}, {rate} a second").format(span=span, rate=rate)
    text += _(": prompts of {prompt} tokens").format(prompt=count(about.prompt.percentiles[50.0]))
    if about.output:
        text += _(" and answers of {output}").format(output=count(about.output.percentiles[50.0]))
    return text + _(" in the median.")


def duration(seconds: float) -> str:
    """A span of time in the unit one would say.

    >>> duration(90.0), duration(3537.0), duration(86400.0)
    ('90 s', '59 min', '24 h')
    """
    for text, size, least in ((_("{n} d"), 86400.0, 3), (_("{n} h"), 3600.0, 2), (_("{n} min"), 60.0, 2)):
        if seconds >= least * size:
            n = rounded(seconds / size, 3) if size > 60 else round(seconds / size)
            return text.format(n=numeral(n, "g"))
    return _("{n} s").format(n=numeral(rounded(seconds, 3), "g"))


def reading_lines(report: ReadReport | None) -> Iterator[str]:
    """What was read, which columns were taken, what was left out and noticed."""
    if report is None:
        return
    files = report.files[0] if len(report.files) == 1 else _("{n} files").format(n=numeral(len(report.files), ","))
    kept = _("all kept") if report.kept == report.rows else _("{n} kept").format(n=count(report.kept))
    text = _("Read {files} as {format}: {rows} requests, {kept}")
    yield text.format(files=files, format=report.format, rows=count(report.rows), kept=kept)
    if report.columns:
        taken = ", ".join(_("{role} from {column}").format(role=r, column=c) for r, c in report.columns.items())
        yield "- " + _("taken: {columns}").format(columns=taken)
    for dropped in report.dropped:
        yield "- " + dropped.text
    for finding in report.findings:
        yield "- " + finding.text


def length_table(about: Description) -> tuple[list[str], Rows]:
    """Percentiles of prompts, answers and both, with the interval of the p99."""
    headers = [
        _("tokens"),
        _("mean"),
        *(f"p{percent:g}" for percent in _SHOWN_PERCENTS),
        _("p99 lies in"),
        _("largest"),
    ]
    named = ((_("prompt"), about.prompt), (_("output"), about.output), (_("together"), about.total))
    return headers, [_length_row(name, stats) for name, stats in named if stats]


def _length_row(name: str, stats: LengthStats) -> list[str]:
    shown = [count(stats.percentiles[percent]) for percent in _SHOWN_PERCENTS]
    if stats.count < ENOUGH_FOR_P99:
        shown[-1] = "?"
    span = stats.sure[99.0]
    within = _("{low} to {high}").format(low=count(span.low), high=count(span.high))
    return [name, count(stats.mean), *shown, within, count(stats.largest)]


def facts(about: Description) -> Iterator[tuple[str, str]]:
    """The measures that are one figure each, with what they mean."""
    if about.spearman is not None:
        yield _("pairs"), _("prompt and output lengths have a rank correlation of {rho:.2f}").format(rho=about.spearman)
    if about.arrivals:
        text = _("gaps vary by {cv:.2f} times their mean (1 for Poisson)").format(cv=about.arrivals.gap_variation)
        if about.arrivals.peak_hour_to_mean:
            peak = _("; the busiest hour has {ratio:.2f} times the mean rate")
            text += peak.format(ratio=about.arrivals.peak_hour_to_mean)
        yield _("arrivals"), text
    if about.resident:
        text = _("a running request holds {held} tokens on average, {bias:.2f} times the plain mean {plain}")
        held, plain = about.resident.mean_tokens, about.resident.plain_tokens
        yield _("length bias"), text.format(held=count(held), bias=about.resident.bias, plain=count(plain))
    if about.sessions:
        yield _("sessions"), _session_text(about)
    if about.cached_share is not None:
        yield (
            _("cached"),
            _("whoever served them found {share:.1%} of the prompt tokens cached").format(share=about.cached_share),
        )


def _session_text(about: Description) -> str:
    sessions = about.sessions
    assert sessions is not None
    text = _("{count} of {mean:.1f} requests on average (p95 {p95})")
    text = text.format(count=count(sessions.count), mean=sessions.mean_turns, p95=count(sessions.turns_p95))
    if sessions.think_p50_s is not None and sessions.think_p95_s is not None:
        pause = _("; pauses of {p50} in the median, p95 {p95}")
        text += pause.format(p50=duration(sessions.think_p50_s), p95=duration(sessions.think_p95_s))
    return text


def arrival_table(about: Description) -> tuple[list[str], Rows] | None:
    """Rates in windows; None without times."""
    if about.arrivals is None or not about.arrivals.windows:
        return None
    headers = [_("window"), _("mean/s"), _("p99/s"), _("peak/s"), _("variance/mean")]
    rows = [
        [
            _("{n} s").format(n=numeral(w.window_s, "g")),
            *(numeral(rounded(v, 3), ",g") for v in (w.mean_rps, w.p99_rps, w.peak_rps, w.dispersion)),
        ]
        for w in about.arrivals.windows
    ]
    return headers, rows


def reuse_table(about: Description) -> tuple[list[str], Rows] | None:
    """Prompt tokens found in a cache, by its size; None without blocks."""
    if about.reuse is None:
        return None
    rows = [
        [count(size), numeral(share, ".1%")] for size, share in about.reuse.by_size if size < about.reuse.needed_tokens
    ]
    needed = _("unlimited (from {tokens})").format(tokens=count(about.reuse.needed_tokens))
    return [_("cache, tokens"), _("prompt tokens found")], [*rows, [needed, numeral(about.reuse.unlimited, ".1%")]]


def endnotes(said: WorkloadSaid) -> Iterator[str]:
    """How far the figures can be trusted, and what was assumed."""
    about = said.description
    stats = about.output or about.prompt
    if stats.count < ENOUGH_FOR_P99:
        few = _("Fewer than {enough:,} answered requests: a p99 is no more than the range in which it lies")
        yield few.format(enough=ENOUGH_FOR_P99)
    yield _("Ranges: 90 % intervals from the order statistics, widened by how much stretches of the trace differ")
    if about.arrivals:
        yield _("Variance/mean of the counts in windows is 1 for Poisson arrivals, more where they come in bursts")
    if about.reuse:
        yield _(
            "Prefix reuse: one cache of all prompts, least recently used out first, in blocks of {tokens} tokens; "
            "several replicas share less"
        ).format(tokens=about.reuse.block_tokens)
    for assumption in about.assumptions:
        yield _("Assumed: {assumption}").format(assumption=assumption_line(assumption))


def comparison(recorded: Description | None, drawn: Description) -> tuple[list[str], Rows]:
    """What was drawn, beside what it was made from where that was a trace: the figures that capacity hangs on."""
    rows = [[name, _figure(value)] for name, value in _figures(drawn)]
    if recorded is None:
        return [_("figure"), _("drawn")], [row for row in rows if row[1]]
    before = dict(_figures(recorded))
    return [_("figure"), _("recorded"), _("drawn")], [[name, _figure(before.get(name)), value] for name, value in rows]


def _figure(value: float | None) -> str:
    return "" if value is None else numeral(rounded(value, 3), ",g")


def _figures(about: Description) -> Iterator[tuple[str, float | None]]:
    for name, stats in ((_("prompt"), about.prompt), (_("output"), about.output)):
        for percent in (50.0, 95.0, 99.0):
            yield f"{name} p{percent:g}", stats.percentiles[percent] if stats else None
        yield f"{name} " + _("mean"), stats.mean if stats else None
    yield _("rank correlation"), about.spearman
    if about.arrivals:
        yield _("requests/s"), about.arrivals.mean_rps
        yield _("variation of gaps"), about.arrivals.gap_variation
        for window in about.arrivals.windows:
            yield _("peak of {width:g} s, requests/s").format(width=window.window_s), window.peak_rps
        for window in about.arrivals.windows:
            yield _("variance/mean in {width:g} s").format(width=window.window_s), window.dispersion
    if about.reuse:
        for size, share in about.reuse.by_size:
            yield _("prefix reuse, {size} tokens").format(size=count(size)), share
        yield _("prefix reuse, unlimited"), about.reuse.unlimited
