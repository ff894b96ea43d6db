"""A run as the dictionary of `bide bench --json`. Times are seconds; NaN becomes null."""

from __future__ import annotations

from typing import Any

from bide.bench.flight import Flight
from bide.bench.objectives import broken, parse_objectives
from bide.bench.result import Bench, Cell
from bide.bench.scrape import COUNTERS, GAUGES, ServerView
from bide.bench.summary import Latency, Summary
from bide.figures import number

_RATES = (
    "due_per_s",
    "sent_per_s",
    "completed_per_s",
    "prompt_tokens_per_s",
    "output_tokens_per_s",
    "peak_output_tokens_per_s",
)


def bench_dict(made: Bench) -> dict[str, Any]:
    """Settings, every cell with its figures, knee or search, notes."""
    slo = made.settings.get("ask", {}).get("slo")
    objectives = parse_objectives(slo) if slo else ()
    cells = [cell_dict(cell) for cell in made.cells]
    for found, cell in zip(cells, made.cells, strict=True):
        if objectives:
            found["breaks"] = broken(cell, objectives)
    return {"settings": dict(made.settings), "cells": cells, "found": dict(made.found), "notes": list(made.notes)}


def cell_dict(cell: Cell) -> dict[str, Any]:
    return {
        "load": cell.load.to_dict(),
        **summary_dict(cell.summary),
        "client": {
            **{name: number(value) for name, value in cell.health.to_dict().items()},
            "kept_up": cell.client_kept_up,
            "tail_kept_up": not cell.tail_is_the_clients,
        },
        "connections": dict(cell.counts),
        "server": server_dict(cell.server),
        "asked_requests": cell.asked_requests,
        "missing": cell.missing,
        "interrupted": cell.interrupted,
        "resumed_at_s": list(cell.gap_s),
        "warnings": cell.warnings(),
    }


def summary_dict(summary: Summary) -> dict[str, Any]:
    """The figures of the window."""
    window = summary.window
    return {
        "window": {"start_s": window.start_s, "end_s": window.end_s, "whole_run": window.whole},
        "requests": summary.requests,
        "status": dict(summary.by_status),
        "errors": dict(summary.errors),
        "latency": {each.metric: _latency(each) for each in summary.latencies},
        "goodput": None if summary.goodput is None else summary.goodput.to_dict(),
        "rates": {name: number(getattr(summary, name)) for name in _RATES},
        "in_flight": _flight(summary.flight),
        "cached_share": number(summary.cached_share),
        "tokens": _tokens(summary),
    }


def _flight(flight: Flight) -> dict[str, Any]:
    return {
        "mean": number(flight.mean),
        "peak": flight.peak,
        "by_quarter": [number(each) for each in flight.quarters],
        "grows": flight.grows,
    }


def _tokens(summary: Summary) -> dict[str, Any]:
    """Means of the measured requests; what was asked beside what came is of all that went well."""
    off = summary.mismatch
    return {
        "mean_prompt": number(summary.mean_prompt_tokens),
        "mean_output": number(summary.mean_output_tokens),
        "output_asked": off.output_asked,
        "output": off.output_got,
        "answers_of_other_length": off.output_off,
        "prompts_of_other_length": off.prompt_off,
        "worst_prompt_difference": off.prompt_worst,
        "counted_by_server": off.counted_by_server,
    }


def _latency(latency: Latency) -> dict[str, Any]:
    points = {
        f"p{each.percent}_s": {"value": number(each.value), "low": number(each.low), "high": number(each.high)}
        for each in latency.percentiles
    }
    low, high = latency.mean_ends_s or (None, None)
    mean = {"mean_s": number(latency.mean_s), "mean_low_s": number(low), "mean_high_s": number(high)}
    return {"count": latency.count, **mean, **points}


def server_dict(view: ServerView) -> dict[str, Any] | None:
    """Means and peaks, growth of counters, and the samples; None where the server tells nothing."""
    if not view.engine:
        return None
    gauges = {name: {"mean": number(view.mean(name)), "most": number(view.most(name))} for name in GAUGES}
    counters = {name: number(view.grown(name)) for name in COUNTERS}
    return {**gauges, **counters, "hit_share": number(view.hit_share), **view.to_dict()}
