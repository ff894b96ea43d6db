"""A measured run in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from bide.bench.loads import Load
from bide.bench.objectives import parse_objectives, unsure
from bide.bench.result import Bench, Cell
from bide.bench.summary import Metric
from bide.figures import FEWEST_BEYOND
from bide.i18n import _, ngettext, numeral
from bide.units import format_rate

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
        text = format_rate(load.rate or 0.0, 4)
    else:
        text = _("trace at {rate}").format(rate=format_rate(load.rate, 4)) if load.rate else _("trace")
    return (
        text if load.ramp_from is None else _("{first:.4g} growing to {text}").format(first=load.ramp_from, text=text)
    )


def shown_cell(made: Bench) -> Cell:
    """The cell that is shown in full: the best of a search, the knee of a sweep, else the last that came to its end."""
    chosen = made.found.get("slo", {}).get("highest_cell")
    if chosen is None:
        chosen = made.found.get("knee", {}).get("cell")
    if chosen is not None:
        return made.cells[int(chosen)]
    return next((cell for cell in reversed(made.cells) if not cell.interrupted), made.cells[-1])


def _nothing(cell: Cell) -> str:
    early = any(row.ok for row in cell.outcomes)
    return _("no request succeeded after the warm-up") if early else _("no request succeeded")


def sentences(made: Bench) -> Iterator[str]:
    """The answer first; then whether it can be believed."""
    cell = shown_cell(made)
    if "slo" in made.found:
        yield from _searched(made)
    elif "knee" in made.found:
        yield _knee(made, cell)
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
    if any(each.interrupted for each in made.cells):
        yield _("The run was interrupted: this is what had been measured until then.")


def _knee(made: Bench, cell: Cell) -> str:
    """Of the levels that were measured: the highest of them may well have no knee behind it."""
    if cell.load.level == max(each.load.level for each in made.cells):
        text = _("The highest level, {load}, still did most for its delay: the knee is there or beyond.")
    else:
        text = _("The knee is at {load}: beyond it delay grows faster than throughput.")
    return text.format(load=load_text(cell.load))


def _searched(made: Bench) -> Iterator[str]:
    """What was found, how sure that is, and whether it was the client that broke the objectives."""
    found = made.found["slo"]
    objectives = found["objectives"]
    if found["highest"] is None:
        reasons = "; ".join(found["reasons"]) or _("the search was cut short")
        yield _("No load that was tried meets {slo}: {reasons}.").format(slo=objectives, reasons=reasons)
    else:
        yield _edge(made, found)
        doubts = unsure(shown_cell(made), parse_objectives(objectives))
        if doubts:
            text = _("That level may as well break them: {doubts}. A longer --duration tells.")
            yield text.format(doubts="; ".join(doubts))
    broken = [each for each in made.cells if each.load.level == found["first_broken"]]
    if broken and not broken[-1].client_kept_up:
        text = _("At {load} the client itself did not keep up: the server may do more than this search could tell.")
        yield text.format(load=load_text(broken[-1].load))


def _edge(made: Bench, found: Mapping[str, Any]) -> str:
    """The highest good level and the lowest bad one."""
    unit = _("users") if made.cells[0].load.kind == "closed" else _("requests/s")
    text = _("The highest load that meets {slo} is {best:.4g} {unit}").format(
        slo=found["objectives"], best=found["highest"], unit=unit
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
        _("cached"),
        "",
    ]
    return headers, [_level(made, cell) for cell in sorted(made.cells, key=lambda each: each.load.level)]


def _level(made: Bench, cell: Cell) -> list[str]:
    summary = cell.summary
    points: tuple[tuple[Metric, int], ...] = (("ttft", 50), ("ttft", 95), ("tpot", 95), ("e2e", 95))
    latencies = [(summary.latency(metric), percent) for metric, percent in points]
    return [
        load_text(cell.load),
        numeral(summary.completed_per_s, ".4g"),
        numeral(summary.output_tokens_per_s, ",.0f"),
        numeral(summary.flight.mean, ".4g"),
        *(duration(each.at(percent)) if each else "-" for each, percent in latencies),
        numeral(summary.failed, ","),
        numeral(summary.cached_share, ".0%"),
        ", ".join(_marks(made, cell)),
    ]


def _marks(made: Bench, cell: Cell) -> Iterator[str]:
    if made.found.get("slo", {}).get("highest_cell") == cell.number:
        yield _("<- highest")
    if made.found.get("knee", {}).get("cell") == cell.number:
        yield _("<- knee")
    if not cell.client_kept_up:
        yield _("client too slow")
    elif cell.summary.window.whole:
        yield _("short run")


def latency_table(cell: Cell) -> tuple[list[str], list[list[str]]]:
    """A row for the mean and for each percentile of a metric, with its interval where there are values enough."""
    headers = [_("metric"), _("requests"), _("percentile"), _("value"), _("95 % of runs")]
    rows = []
    for latency in cell.summary.latencies:
        name, count = metric_name(latency.metric), numeral(latency.count, ",")
        rows.append(
            [name, count, _("mean"), duration(latency.mean_s), _interval(*(latency.mean_ends_s or (None, None)))]
        )
        for point in latency.percentiles:
            told = [f"p{point.percent:g}", duration(point.value), _interval(point.low, point.high)]
            rows.append(["", "", *told])
    return headers, rows


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return _("too few")
    return _("{low} to {high}").format(low=duration(low), high=duration(high))


def endnotes(made: Bench, cell: Cell) -> Iterator[str]:
    """What the figures mean, and what makes them less than they seem."""
    yield _(
        "- Times count from when a request was due, queueing in the client included; failures are in no percentile."
    )
    yield _(
        "- TTFT: to the first token; E2E: to the last; TPOT: (last - first) / (tokens - tokens of the first chunk), one"
        " value a request; ITL: each gap between tokens."
    )
    yield _("- 95 % of runs: where the percentile of 95 in 100 such runs would lie (block bootstrap in time)")
    yield _("- too few: fewer than {n} values lie beyond the percentile.").format(n=FEWEST_BEYOND)
    probe = made.settings.get("probe")
    if probe and not probe["prompt_tokens"]["verified"]:
        yield _("- Prompt lengths are words: the server does not count them.")
    elif probe and abs(probe["prompt_tokens"]["per_word"] - 1) > 0.01:
        yield _("- {n:.3g} tokens a word, as this server counts.").format(n=probe["prompt_tokens"]["per_word"])
    for text in (*cell.warnings(), *made.notes):
        yield f"- {text}"
