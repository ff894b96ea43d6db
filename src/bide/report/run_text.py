"""Measured levels of load, whoever measured them, in words and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bide.bench.formats.values import METRICS, Figures, Run
from bide.i18n import _, ngettext, numeral
from bide.report.bench_text import duration, metric_name
from bide.report.words import listed, rate

Table = tuple[list[str], list[list[str]]]
_PERCENTS = (50.0, 90.0, 95.0, 99.0)
_NONE = "-"


def sentences(runs: Sequence[Run]) -> Iterator[str]:
    """What was measured, and the best of it."""
    tools = listed(list(dict.fromkeys(run.tool for run in runs)))
    text = ngettext(
        "{n:,} level of load, measured by {tools}.", "{n:,} levels of load, measured by {tools}.", len(runs)
    )
    yield text.format(n=len(runs), tools=tools)
    best = max(
        (run for run in runs if run.output_tokens_per_s), key=lambda run: run.output_tokens_per_s or 0, default=None
    )
    if best is not None:
        yield _("Most output: {tokens} tokens/s at {load}.").format(
            tokens=rate(best.output_tokens_per_s or 0), load=best.name
        )


def names(runs: Sequence[Run]) -> list[str]:
    """The load of each; with its file where two have the same."""
    known = [run.name for run in runs]
    return [name if known.count(name) == 1 else f"{name}, {run.source}" for name, run in zip(known, runs, strict=True)]


def level_table(runs: Sequence[Run]) -> Table:
    """A row a level: requests, lengths, rates."""
    headers = [
        _("load"),
        _("requests"),
        _("failed"),
        _("prompt : answer"),
        _("requests/s"),
        _("tokens/s"),
        _("in flight"),
        _("tool"),
    ]
    return headers, [_level(name, run) for name, run in zip(names(runs), runs, strict=True)]


def _level(name: str, run: Run) -> list[str]:
    return [
        name,
        _count(run.completed),
        _count(run.failed),
        f"{_count(run.prompt_tokens)} : {_count(run.output_tokens)}",
        _rate(run.requests_per_s),
        _rate(run.output_tokens_per_s),
        _rate(run.concurrency),
        run.tool,
    ]


def _count(value: float | None) -> str:
    return _NONE if value is None else numeral(value, ",.0f")


def _rate(value: float | None) -> str:
    return _NONE if value is None else rate(value)


def latency_table(runs: Sequence[Run]) -> Table:
    """A row a level and latency: mean and percentiles, each with its interval where the result says it."""
    headers = [_("load"), _("latency"), _("mean"), *(f"p{percent:g}" for percent in _PERCENTS)]
    rows = []
    for name, run in zip(names(runs), runs, strict=True):
        for number, (metric, figures) in enumerate((m, run.latency[m]) for m in METRICS if m in run.latency):
            cells = [duration(figures.mean_s), *(_percentile(figures, percent) for percent in _PERCENTS)]
            rows.append([name if number == 0 else "", metric_name(metric), *cells])
    return headers, rows


def _percentile(figures: Figures, percent: float) -> str:
    text, ends = duration(figures.at(percent)), figures.intervals.get(percent)
    if ends is None:
        return text
    return _("{mid} ({low} to {high})").format(mid=text, low=duration(ends[0]), high=duration(ends[1]))


def endnotes(runs: Sequence[Run]) -> Iterator[str]:
    """What is to be known of the results, each once with the levels that it is of; then what they say of themselves."""
    named, seen = list(zip(names(runs), runs, strict=True)), dict[str, list[str]]()
    for name, run in named:
        for fault in run.faults:
            seen.setdefault(fault.text, []).append(name)
    for text, where in seen.items():
        yield text if len(where) == len(runs) else f"{listed(where)}: {text}"
    for name, run in named:
        stated = ", ".join(f"{key} {value}" for key, value in run.deployment.items() if value is not None)
        yield _("{load}: {tool}{date}; it states {stated}").format(
            load=name, tool=run.tool, date=f", {run.date}" if run.date else "", stated=stated or _("nothing")
        )
    yield _(
        "Percentiles and means are the tool's own where it lists no requests; intervals are 95 % where it says them."
    )
