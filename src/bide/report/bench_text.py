"""A measured run in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bide.bench.loads import Load
from bide.bench.measure import Going
from bide.bench.result import Bench, Cell
from bide.bench.summary import Metric, Percentile
from bide.i18n import _, ngettext, numeral

_SAID: tuple[Metric, ...] = ("ttft", "tpot", "e2e")


def metric_name(metric: Metric) -> str:
    return {
        "ttft": _("TTFT"),
        "ttfc": _("to content"),
        "tpot": _("TPOT"),
        "itl": _("ITL"),
        "chunk_gap": _("chunk gap"),
        "e2e": _("E2E"),
    }[metric]


def duration(value: float | None) -> str:
    """Three digits in a readable unit; nothing for what there is not."""
    if value is None or not math.isfinite(value):
        return "-"
    if value >= 1:
        return _("{n} s").format(n=numeral(value, ",.3g" if value < 1000 else ",.0f"))
    return _("{n} ms").format(n=numeral(value * 1e3, ".3g"))


def load_text(load: Load) -> str:
    """The load in a few words."""
    if load.kind == "closed":
        text = ngettext("{n:,} user", "{n:,} users", load.concurrency or 0).format(n=load.concurrency)
    elif load.kind == "open":
        text = _("{rate:.4g} requests/s").format(rate=load.rate)
    else:
        text = _("trace at {rate:.4g} requests/s").format(rate=load.rate) if load.rate else _("trace")
    return (
        text if load.ramp_from is None else _("{first:.4g} growing to {text}").format(first=load.ramp_from, text=text)
    )


def progress(number: int, load: Load, going: Going) -> str:
    """One line while it goes."""
    ordered = sorted(going.ttft_s)
    ttft = (
        _("TTFT p50 {p50} p95 {p95}").format(
            p50=duration(ordered[len(ordered) // 2]), p95=duration(ordered[int(0.95 * (len(ordered) - 1))])
        )
        if ordered
        else ""
    )
    text = _(
        "{cell}: {load}, {s:.0f} s, {n:,} done ({rate:.1f}/s), {flying:,} in flight, {bad} failed of the last; {ttft}"
    )
    return text.format(
        cell=number + 1,
        load=load_text(load),
        s=going.elapsed_s,
        n=going.finished,
        rate=going.finished / going.elapsed_s if going.elapsed_s > 0 else 0.0,
        flying=going.in_flight,
        bad=going.failed,
        ttft=ttft,
    )


def share_done(load: Load, going: Going) -> float | None:
    """Of the level: by requests or by time, whichever ends it; None for a trace, whose end is not said."""
    shares = []
    if load.requests:
        shares.append(going.finished / load.requests)
    if load.duration_s:
        shares.append(going.elapsed_s / load.duration_s)
    return min(1.0, max(shares)) if shares else None


def shown_cell(made: Bench) -> Cell:
    """The cell that is shown in full: the best of a search, the knee of a sweep, else the last."""
    chosen = made.found.get("slo", {}).get("highest_cell")
    if chosen is None:
        chosen = made.found.get("knee", {}).get("cell")
    return made.cells[-1 if chosen is None else int(chosen)]


def _nothing(cell: Cell) -> str:
    early = any(row.ok for row in cell.outcomes)
    return _("no request succeeded after the warm-up") if early else _("no request succeeded")


def sentences(made: Bench) -> Iterator[str]:
    """The answer first; then whether it can be believed."""
    cell = shown_cell(made)
    if "slo" in made.found:
        yield _searched(made)
    elif "knee" in made.found:
        yield _("The knee is at {load}: beyond it delay grows faster than throughput.").format(
            load=load_text(cell.load)
        )
    figures = [
        _("{name} p95 {value}").format(name=metric_name(each.metric), value=duration(each.at(95)))
        for each in cell.summary.latencies
        if each.metric in _SAID and each.count
    ]
    timed = _("{model} at {url}, {load}: {figures}; {tokens:,.0f} output tokens/s.")
    text = timed if cell.summary.window.seconds else _("{model} at {url}, {load}: {figures}.")
    yield text.format(
        model=made.settings["model"],
        url=made.settings["url"],
        load=load_text(cell.load),
        figures=", ".join(figures) or _nothing(cell),
        tokens=cell.summary.output_tokens_per_s,
    )
    if not cell.client_kept_up:
        yield cell.warnings()[0]


def _searched(made: Bench) -> str:
    found = made.found["slo"]
    objectives = found["objectives"]
    if found["highest"] is None:
        reasons = "; ".join(found["reasons"]) or _("the search was cut short")
        return _("No load that was tried meets {slo}: {reasons}.").format(slo=objectives, reasons=reasons)
    unit = _("users") if made.cells[0].load.kind == "closed" else _("requests/s")
    text = _("The highest load that meets {slo} is {best:.4g} {unit}").format(
        slo=objectives, best=found["highest"], unit=unit
    )
    if found["first_broken"] is None:
        return text + _("; no higher one was tried.")
    return text + _("; {worst:.4g} does not: {reasons}.").format(
        worst=found["first_broken"], reasons="; ".join(found["reasons"])
    )


def level_table(made: Bench) -> tuple[list[str], list[list[str]]]:
    """A row a level, by load."""
    headers = [
        _("load"),
        _("done/s"),
        _("tokens/s"),
        _("in flight"),
        _("TTFT p50"),
        _("TTFT p95"),
        _("TPOT p95"),
        _("E2E p95"),
        _("failed"),
        _("hits"),
        "",
    ]
    return headers, [_level(made, cell) for cell in sorted(made.cells, key=lambda each: each.load.level)]


def _level(made: Bench, cell: Cell) -> list[str]:
    summary = cell.summary
    points: tuple[tuple[Metric, int], ...] = (("ttft", 50), ("ttft", 95), ("tpot", 95), ("e2e", 95))
    latencies = [(summary.latency(metric), percent) for metric, percent in points]
    mark = _("<- highest") if "slo" in made.found and made.found["slo"]["highest_cell"] == cell.number else ""
    mark = mark or (_("<- knee") if made.found.get("knee", {}).get("cell") == cell.number else "")
    return [
        load_text(cell.load),
        numeral(summary.completed_per_s, ".4g"),
        numeral(summary.output_tokens_per_s, ",.0f"),
        numeral(summary.flight.mean, ".4g"),
        *(duration(each.at(percent)) if each else "-" for each, percent in latencies),
        numeral(summary.failed, ","),
        numeral(summary.cached_share, ".0%"),
        mark or ("" if cell.client_kept_up else _("client too slow")),
    ]


def latency_table(cell: Cell) -> tuple[list[str], list[list[str]]]:
    """A row a metric: mean and percentiles, each with its interval where there are values enough."""
    headers = [_("metric"), _("requests"), _("mean"), "p50", "p90", "p95", _("p95: 95 % of runs"), "p99"]
    rows = []
    for latency in cell.summary.latencies:
        points = {each.percent: each for each in latency.percentiles}
        rows.append(
            [
                metric_name(latency.metric),
                numeral(latency.count, ","),
                duration(latency.mean_s),
                *(duration(points[percent].value if percent in points else None) for percent in (50, 90, 95)),
                _interval(points.get(95)),
                duration(points[99].value if 99 in points else None),
            ]
        )
    return headers, rows


def _interval(point: Percentile | None) -> str:
    if point is None or point.low is None or point.high is None:
        return _("too few")
    return _("{low} to {high}").format(low=duration(point.low), high=duration(point.high))


def endnotes(made: Bench, cell: Cell) -> Iterator[str]:
    """What the figures mean, and what makes them less than they seem."""
    yield _(
        "- Times count from when a request was due, queueing in the client included; failures are in no percentile."
    )
    yield _("- ITL is per token; TPOT = (last - first) / (tokens - tokens of the first chunk).")
    yield _("- 95 % of runs: block bootstrap in time.")
    probe = made.settings.get("probe")
    if probe and not probe["prompt_tokens"]["verified"]:
        yield _("- Prompt lengths are words: the server does not count them.")
    elif probe and abs(probe["prompt_tokens"]["per_word"] - 1) > 0.01:
        yield _("- {n:.3g} tokens a word, as this server counts.").format(n=probe["prompt_tokens"]["per_word"])
    for text in (*cell.warnings(), *made.notes):
        yield f"- {text}"
