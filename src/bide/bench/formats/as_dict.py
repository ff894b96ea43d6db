"""A measured level of load as plain values. Times are seconds; what the result does not say is null."""

from __future__ import annotations

from typing import Any

from bide.bench.formats.values import Figures, Run


def run_dict(run: Run) -> dict[str, Any]:
    """Load, counts, rates, latencies with their percentiles, and what of it cannot be believed."""
    return {
        "name": run.name,
        "source": run.source,
        "tool": run.tool,
        "date": run.date,
        "load": {"kind": run.load.kind, "value": run.load.value, "burstiness": run.load.burstiness},
        "deployment": {key: _said(value) for key, value in run.deployment.items()},
        "completed": run.completed,
        "failed": run.failed,
        "duration_s": run.duration_s,
        "prompt_tokens": run.prompt_tokens,
        "output_tokens": run.output_tokens,
        "requests_per_s": run.requests_per_s,
        "output_tokens_per_s": run.output_tokens_per_s,
        "concurrency": run.concurrency,
        "cached_share": run.cached_share,
        "client_kept_up": run.client_kept_up,
        "latency_s": {metric: _figures(figures) for metric, figures in run.latency.items()},
        "faults": [{"code": each.code, "text": each.text, "grave": each.grave} for each in run.faults],
    }


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        "mean": figures.mean_s,
        "mean_interval": None if figures.mean_ends_s is None else list(figures.mean_ends_s),
        "std": figures.std_s,
        "count": figures.count,
        "percentiles": {f"p{percent:g}": value for percent, value in sorted(figures.percentiles.items())},
        "intervals": {f"p{percent:g}": list(ends) for percent, ends in sorted(figures.intervals.items())},
    }


def _said(value: object) -> object:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
