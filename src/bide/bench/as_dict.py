"""A run as the dictionary of `bide bench --json`. Times are seconds; NaN becomes null."""

from __future__ import annotations

import math
from typing import Any

from bide.bench.objectives import broken, parse_objectives
from bide.bench.result import Bench, Cell
from bide.bench.scrape import COUNTERS, GAUGES, ServerView
from bide.bench.summary import Latency, Summary


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
    window, goodput, flight, off = summary.window, summary.goodput, summary.flight, summary.mismatch
    rates = (
        "due_per_s",
        "sent_per_s",
        "completed_per_s",
        "prompt_tokens_per_s",
        "output_tokens_per_s",
        "peak_output_tokens_per_s",
    )
    return {
        "window": {"start_s": window.start_s, "end_s": window.end_s, "whole_run": window.whole},
        "requests": summary.requests,
        "status": dict(summary.by_status),
        "errors": dict(summary.errors),
        "latency": {each.metric: _latency(each) for each in summary.latencies},
        "goodput": None
        if goodput is None
        else {
            "limits_s": dict(goodput.limits_s),
            "share": number(goodput.share),
            "low": number(goodput.low_share),
            "high": number(goodput.high_share),
            "requests_per_s": number(goodput.requests_per_s),
        },
        "rates": {name: number(getattr(summary, name)) for name in rates},
        "in_flight": {
            "mean": number(flight.mean),
            "peak": flight.peak,
            "by_quarter": [number(each) for each in flight.quarters],
            "grows": flight.grows,
        },
        "cached_share": number(summary.cached_share),
        "tokens": {
            "output_asked": off.output_asked,
            "output": off.output_got,
            "answers_of_other_length": off.output_off,
            "prompts_of_other_length": off.prompt_off,
            "worst_prompt_difference": off.prompt_worst,
            "counted_by_server": off.counted_by_server,
        },
    }


def _latency(latency: Latency) -> dict[str, Any]:
    points = {
        f"p{each.percent}_s": {"value": number(each.value), "low": number(each.low), "high": number(each.high)}
        for each in latency.percentiles
    }
    return {"count": latency.count, "mean_s": number(latency.mean_s), **points}


def server_dict(view: ServerView) -> dict[str, Any] | None:
    """Means and peaks, growth of counters, and the samples; None where the server tells nothing."""
    if not view.engine:
        return None
    gauges = {name: {"mean": number(view.mean(name)), "most": number(view.most(name))} for name in GAUGES}
    counters = {name: number(view.grown(name)) for name in COUNTERS}
    return {**gauges, **counters, "hit_share": number(view.hit_share), **view.to_dict()}


def number(value: float | None) -> float | None:
    """JSON has no infinity and no NaN."""
    return value if value is not None and math.isfinite(value) else None
