"""A simulation in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bide.i18n import _, ngettext, numeral
from bide.report.words import assumption_line, seconds
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.simulation import Simulation
from bide.simulate.summary.summarise import Metric, Percentile, Summary
from bide.units import format_rate

_SURE = ("ttft", "tpot", "e2e")


def metric_name(metric: Metric) -> str:
    return {
        "ttft": _("TTFT"),
        "tpot": _("TPOT"),
        "itl": _("ITL"),
        "e2e": _("E2E"),
        "queue": _("queue wait"),
    }[metric]


def sentences(made: Simulation) -> Iterator[str]:
    """The answer first; then that it is none, where the queue grows."""
    summary, deployment, rules = made.summary, made.deployment, made.rules
    gpu = deployment.gpu.id if deployment.gpu else ""
    text = _("{replicas} x {model}, each on {gpus} {gpu}; {load}: {figures}.")
    figures = [
        _("{name} p95 {value}").format(name=metric_name(each.metric), value=seconds(_of(each.percentiles, 95).value))
        for each in summary.latencies
        if each.metric in _SURE and each.count
    ]
    yield text.format(
        replicas=_replicas(rules),
        model=deployment.model.name,
        gpus=deployment.replica_gpus,
        gpu=gpu,
        load=_load(summary, rules),
        figures=", ".join(figures) or _("no request was served"),
    )
    if summary.queue.grows:
        one, *_rest, four = summary.queue.quarters
        grown = _("Not stationary: the queue grows, from {one:,.0f} to {four:,.0f} waiting requests.")
        yield grown.format(one=one, four=four) + " " + _("A longer run would wait longer.")


def _replicas(rules: FleetRules) -> str:
    if rules.split:
        return _("({prefill} prefill + {decode} decode)").format(
            prefill=rules.prefill_replicas, decode=rules.decode_replicas
        )
    return str(rules.replicas)


def _load(summary: Summary, rules: FleetRules) -> str:
    rate = format_rate(summary.requests_per_s)
    return (
        rate
        if rules.users is None
        else ngettext("{users:,} user, {rate}", "{users:,} users, {rate}", rules.users).format(
            users=rules.users, rate=rate
        )
    )


def _of(percentiles: tuple[Percentile, ...], percent: int) -> Percentile:
    return next(each for each in percentiles if each.percent == percent)


def latency_table(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """A row a metric and percentile: the value, its interval, and what the step model's error makes of it."""
    headers = [_("metric"), _("percentile"), _("value"), _("95 % of runs")]
    told = _has_step_error(summary)
    if told:
        headers.append(_("step times off"))
    rows = []
    for latency in summary.latencies:
        for number, each in enumerate(latency.percentiles):
            name = metric_name(latency.metric) if number == 0 else ""
            row = [name, f"p{each.percent}", duration(each.value), _range(each.low, each.high)]
            rows.append([*row, _step(each)] if told else row)
    return headers, rows


def _step(each: Percentile) -> str:
    return "" if each.step_low is None or each.step_high is None else _range(each.step_low, each.step_high)


def _range(low: float, high: float) -> str:
    return _("{low} to {high}").format(low=duration(low), high=duration(high))


def duration(value: float) -> str:
    """Three digits in a readable unit; nothing for what there is not."""
    if not math.isfinite(value):
        return "-"
    if value >= 1:
        return _("{n} s").format(n=numeral(value, ",.3g" if value < 1000 else ",.0f"))
    return _("{n} ms").format(n=numeral(value * 1e3, ".3g"))


def facts(made: Simulation) -> Iterator[tuple[str, str]]:
    """Name and text of what else was seen."""
    summary = made.summary
    yield _("measured"), _measured(summary)
    yield _("rates"), _rates(summary)
    if summary.goodput:
        yield _("goodput"), _goodput(summary)
    yield _("engines"), _engines(summary)
    hits = _("{hits:.1%} of prompt tokens found; {preemptions:,} preemptions")
    yield _("cache"), hits.format(hits=summary.cached_share, preemptions=summary.preemptions)
    failed = {name: count for name, count in summary.by_status.items() if name != "ok"}
    if failed or summary.retries:
        told = [f"{name} {numeral(count, ',')}" for name, count in failed.items()]
        yield _("not served"), ", ".join([*told, _("{n:,} sent again").format(n=summary.retries)])


def _measured(summary: Summary) -> str:
    window = summary.window
    how = _("as given") if window.given else _("three mean stays, at most a fifth of the run")
    text = ngettext(
        "{n:,} request from {start} to {end}; warm-up before: {how}",
        "{n:,} requests from {start} to {end}; warm-up before: {how}",
        summary.requests,
    )
    return text.format(n=summary.requests, start=duration(window.start_s), end=duration(window.end_s), how=how)


def _rates(summary: Summary) -> str:
    text = _("{sent:.3g} requests/s sent, {done:.3g} done; tokens/s: {prompt:,.0f} of prompts, {output:,.0f} of output")
    return text.format(
        sent=summary.requests_per_s,
        done=summary.completed_per_s,
        prompt=summary.prompt_tokens_per_s,
        output=summary.output_tokens_per_s,
    )


def _engines(summary: Summary) -> str:
    text = _("{running:,.1f} running and {waiting:,.1f} waiting on average; cache {kv:.0%} full, {peak:.0%} at most")
    return text.format(
        running=summary.running, waiting=summary.waiting, kv=summary.kv_share, peak=summary.peak_kv_share
    )


def _goodput(summary: Summary) -> str:
    found = summary.goodput
    assert found is not None
    limits = ", ".join(f"{name.upper()} <= {duration(limit)}" for name, limit in found.limits_s.items())
    text = _("{share:.1%} of requests ({low:.1%} to {high:.1%}), {rate:.3g}/s, within {limits}")
    return text.format(
        share=found.share, low=found.low_share, high=found.high_share, rate=found.requests_per_s, limits=limits
    )


def endnotes(made: Simulation) -> Iterator[str]:
    """What the columns mean, what was noted and what was assumed."""
    yield _("- TTFT, TPOT (mean time per further token), E2E and queue wait: of requests, from arrival; ITL: of gaps")
    yield _("- 95 % of runs: where the percentile of 95 in 100 such runs would lie (block bootstrap in time)")
    if _has_step_error(made.summary):
        yield _("- Step times off: the same run with steps at the 10th and 90th percentile of their model's error")
    for warning in (*made.warnings, *made.traffic.notes):
        yield f"- {warning}"
    for assumption in made.assumptions:
        yield _("- Assumed: {assumption}").format(assumption=assumption_line(assumption))


def _has_step_error(summary: Summary) -> bool:
    return any(each.step_low is not None for latency in summary.latencies for each in latency.percentiles)
