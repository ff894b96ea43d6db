"""The figures of a run: percentiles and how sure they are, goodput, rates, means over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bide import metrics
from bide.bootstrap import block_count
from bide.figures import Goodput, goodput_of, percentile_ends
from bide.simulate.fleet.run import FleetRun
from bide.simulate.fleet.served import STATUSES
from bide.simulate.summary.window import Queue, Window, measured, queue_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

Metric = Literal["ttft", "tpot", "itl", "e2e", "queue"]
METRICS: tuple[Metric, ...] = ("ttft", "tpot", "itl", "e2e", "queue")
PERCENTS = (50, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class Percentile:
    """Seconds. `low` to `high`: 95 % by the bootstrap, had the same traffic come on other days.

    `step_low` to `step_high`: with the steps at the 10th and 90th percentile of the step-time model's error.
    """

    percent: int
    value: float
    low: float
    high: float
    step_low: float | None = None
    step_high: float | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """One metric over the measured requests (`itl`: over the gaps between tokens)."""

    metric: Metric
    count: int
    mean_s: float
    percentiles: tuple[Percentile, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Over the window."""

    window: Window
    requests: int
    by_status: Mapping[str, int]
    latencies: tuple[Latency, ...]
    goodput: Goodput | None
    requests_per_s: float
    """Sent."""
    completed_per_s: float
    prompt_tokens_per_s: float
    output_tokens_per_s: float
    running: float
    waiting: float
    kv_share: float
    peak_kv_share: float
    preemptions: int
    cached_share: float
    """Of the prompt tokens of admitted requests."""
    retries: int
    queue: Queue


def values_of(run: FleetRun, metric: Metric) -> Floats:
    """Seconds of every request; NaN for those that did not go well. Not for `itl`."""
    if metric == "queue":
        return run.queue_s
    if metric == "itl":
        raise ValueError("itl: of gaps, not of requests")
    return metrics.latency_s(run.table, metric)


def summarise(
    run: FleetRun, window: Window, gaps: tuple[Floats, Floats], slo: Mapping[str, float] | None = None
) -> Summary:
    """The figures over `window`. `gaps`: (when, seconds) of times between tokens. `slo`: seconds by latency."""
    import numpy as np

    table, inside = run.table, measured(run, window)
    blocks = block_count(window.seconds, _mean_stay_s(run, inside))
    arrivals = table.arrival_s[inside]

    def seen(metric: Metric) -> tuple[Floats, Floats]:
        return gaps if metric == "itl" else (arrivals, values_of(run, metric)[inside])

    ended = (table.last_token_s >= window.start_s) & (table.last_token_s <= window.end_s)
    seconds = window.seconds or float("nan")
    admitted = inside & np.isfinite(run.first_scheduled_s)
    over = run.timeline.time_s >= window.start_s
    prompts = float(table.prompt_tokens[admitted].sum())
    return Summary(
        window=window,
        requests=int(inside.sum()),
        by_status=_by_status(table.status, inside),
        latencies=tuple(_latency(metric, *seen(metric), blocks) for metric in METRICS),
        goodput=goodput_of(table, inside, slo, blocks, seconds) if slo else None,
        requests_per_s=float(inside.sum()) / seconds,
        completed_per_s=float(ended.sum()) / seconds,
        prompt_tokens_per_s=float(table.prompt_tokens[ended].sum()) / seconds,
        output_tokens_per_s=float(table.output_tokens[ended].sum()) / seconds,
        running=float(run.timeline.running[over].mean()),
        waiting=float(run.timeline.waiting[over].mean()),
        kv_share=float(run.timeline.kv_share[over].mean()),
        peak_kv_share=float(run.timeline.kv_share[over].max()),
        preemptions=int(table.preemptions[inside].sum()),
        cached_share=float(table.cached_tokens[admitted].sum()) / prompts if prompts else 0.0,
        retries=int((run.attempts[inside] - 1).sum()),
        queue=queue_of(run, window),
    )


def _by_status(status: NDArray[np.str_], inside: Booleans) -> dict[str, int]:
    """How often each status came; compared one by one, which is faster than to sort a million words."""
    import numpy as np

    counts = {name: int(np.count_nonzero(inside & (status == name))) for name in STATUSES}
    return {name: count for name, count in counts.items() if count}


def _mean_stay_s(run: FleetRun, inside: Booleans) -> float:
    import numpy as np

    stays = (run.table.last_token_s - run.table.arrival_s)[inside & np.isfinite(run.table.last_token_s)]
    return float(stays.mean()) if len(stays) else 0.0


def _latency(metric: Metric, times_s: Floats, values: Floats, blocks: int) -> Latency:
    import numpy as np

    there = np.isfinite(values)
    times_s, values = times_s[there], values[there]
    if not len(values):
        return Latency(metric, 0, float("nan"), ())
    made = tuple(Percentile(*ends) for ends in percentile_ends(times_s, values, PERCENTS, blocks))
    return Latency(metric, len(values), float(values.mean()), made)
