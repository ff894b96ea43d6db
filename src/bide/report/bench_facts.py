"""What was seen of a cell beside its percentiles."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bide.bench.result import Cell
from bide.bench.summary import Summary
from bide.i18n import _, ngettext, numeral
from bide.report.bench_text import duration

_ERRORS = 3


def facts(cell: Cell) -> Iterator[tuple[str, str]]:
    """Name and text of what else was seen."""
    yield from _measured(cell)
    if cell.summary.goodput:
        yield _("goodput"), _goodput(cell)
    yield from _failed(cell)
    yield from _server(cell)
    yield _("client"), _client(cell)


def _measured(cell: Cell) -> Iterator[tuple[str, str]]:
    summary, window = cell.summary, cell.summary.window
    what = _("the whole run") if window.whole else _("after the warm-up, to the last arrival")
    text = ngettext(
        "{n:,} request from {start} to {end}: {what}", "{n:,} requests from {start} to {end}: {what}", summary.requests
    )
    yield (
        _("measured"),
        text.format(n=summary.requests, start=duration(window.start_s), end=duration(window.end_s), what=what),
    )
    if window.seconds:
        yield _("rates"), _rates(summary)
    asked = _(" of {n:,} asked").format(n=cell.load.concurrency) if cell.load.kind == "closed" else ""
    text = _("{mean:.4g} on average{asked}, {peak:,} at most")
    yield _("in flight"), text.format(mean=summary.flight.mean, asked=asked, peak=summary.flight.peak)


def _rates(summary: Summary) -> str:
    text = _(
        "{sent:.4g} requests/s sent, {done:.4g} done; tokens/s: {prompt:,.0f} of prompts, {out:,.0f} of output"
        " ({peak:,.0f} in the best second)"
    )
    return text.format(
        sent=summary.sent_per_s,
        done=summary.completed_per_s,
        prompt=summary.prompt_tokens_per_s,
        out=summary.output_tokens_per_s,
        peak=summary.peak_output_tokens_per_s,
    )


def _failed(cell: Cell) -> Iterator[tuple[str, str]]:
    """By kind, then what the failed ones said most."""
    summary = cell.summary
    failed = {name: count for name, count in summary.by_status.items() if name != "ok"}
    if failed:
        said = ", ".join(f"{name} {numeral(count, ',')}" for name, count in failed.items())
        yield (
            _("failed"),
            said + "".join(f"; {text} ({numeral(n, ',')})" for text, n in list(summary.errors.items())[:_ERRORS]),
        )


def _client(cell: Cell) -> str:
    health = cell.health
    text = ngettext(
        "loop lag p99 {lag}, due to written p99 {sent}, {n} process with {cpu:.0%} of a core;"
        " {open:,} connections, {stale:,} found closed and sent again, {retried:,} retries",
        "loop lag p99 {lag}, due to written p99 {sent}, {n} processes with {cpu:.0%} of a core each;"
        " {open:,} connections, {stale:,} found closed and sent again, {retried:,} retries",
        health.processes,
    )
    spared = ngettext(
        "; {n} core is left to the server, which is on this machine",
        "; {n} cores are left to the server, which is on this machine",
        health.spared_cores,
    ).format(n=health.spared_cores)
    said = text.format(
        lag=duration(health.lag_p99_s),
        sent=duration(health.sent_p99_s),
        cpu=health.cpu_share,
        n=health.processes,
        open=cell.counts.get("connections", 0),
        stale=cell.counts.get("stale", 0),
        retried=cell.counts.get("retried", 0),
    )
    return said + spared if health.spared_cores else said


def _goodput(cell: Cell) -> str:
    found = cell.summary.goodput
    assert found is not None
    limits = ", ".join(f"{name.upper()} <= {duration(limit)}" for name, limit in found.limits_s.items())
    return _("{share:.1%} of requests ({low:.1%} to {high:.1%}), {rate:.3g}/s, within {limits}").format(
        share=found.share, low=found.low_share, high=found.high_share, rate=found.requests_per_s, limits=limits
    )


def _server(cell: Cell) -> Iterator[tuple[str, str]]:
    view = cell.server
    if not view.engine:
        yield (
            _("cache"),
            _("{share:.1%} of prompt tokens found, as answers say").format(share=cell.summary.cached_share),
        )
        return
    yield (
        _("server"),
        _(
            "{engine}: {running:.4g} running and {waiting:.4g} waiting on average, cache {kv:.0%} full at most,"
            " {preempted:,.0f} preemptions, {hits:.1%} of looked-up tokens found"
        ).format(
            engine=view.engine,
            running=_number(view.mean("running")),
            waiting=_number(view.mean("waiting")),
            kv=_number(view.most("kv_usage")),
            preempted=_number(view.grown("preemptions")),
            hits=_number(view.hit_share),
        ),
    )


def _number(value: float) -> float:
    return value if math.isfinite(value) else 0.0
