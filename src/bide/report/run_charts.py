"""The charts of measured levels of load: those of a run of bide's own, from what any tool's result has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bide import metrics
from bide.bench.formats.values import Run
from bide.i18n import _, numeral
from bide.report.bench_charts import cumulative_chart, levels_chart, spread_chart
from bide.report.drawing import Drawing, drawing
from bide.report.run_text import names

_HEIGHT = 260
_CHOICE = (95.0, 99.0, 90.0, 50.0)
_SHARES = (50.0, 90.0, 95.0, 99.0)


def run_charts(runs: Sequence[Run]) -> Iterator[tuple[str, Drawing]]:
    """Title and chart of what there is enough for."""
    percent = _told(runs)
    points, which = _points(runs, percent), _("mean") if percent is None else f"p{percent:g}"
    if len(points) > 1:
        yield _("Throughput against delay, a point a level"), drawing(levels_chart(points, which), _HEIGHT)
    for name, requests in [(n, run.table) for n, run in zip(names(runs), runs, strict=True) if run.table is not None][
        -1:
    ]:
        found = {metric: metrics.latency_s(requests, metric) for metric in metrics.LATENCIES}
        title = _("Latencies: the share of requests that waited at most so long")
        yield f"{title} ({name})", drawing(cumulative_chart(found), _HEIGHT)
    spread = _spread(runs)
    if spread and not any(run.table is not None for run in runs):
        yield _("Percentiles of the first token and of the whole answer"), drawing(spread_chart(spread), _HEIGHT)


def _told(runs: Sequence[Run]) -> float | None:
    """The percentile of the whole stay that every level tells; None: the mean."""
    stays = [run.latency["e2e"] for run in runs if "e2e" in run.latency]
    return next((percent for percent in _CHOICE if all(stay.at(percent) for stay in stays)), None)


def _points(runs: Sequence[Run], percent: float | None) -> list[dict[str, Any]]:
    """Output tokens a second and that percentile of each level."""
    found = []
    for run in runs:
        stay_s = run.latency["e2e"].at(percent) if "e2e" in run.latency else None
        if stay_s and run.output_tokens_per_s:
            level = run.load.value or run.concurrency or 0.0
            text = numeral(level, ".4g") if level else ""
            found.append({"x": run.output_tokens_per_s, "y": stay_s, "level": level, "text": text})
    return found


def _spread(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Seconds by percent, a line for each level and latency."""
    return [
        {"percent": f"p{percent:g}", "s": value, "of": f"{metric.upper()}, {name}"}
        for name, run in list(zip(names(runs), runs, strict=True))[:3]
        for metric in ("ttft", "e2e")
        if metric in run.latency
        for percent in _SHARES
        if (value := run.latency[metric].at(percent))
    ]
