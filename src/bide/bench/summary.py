"""The figures of a cell: percentiles and how sure they are, rates, goodput, what was asked beside what came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bide import metrics
from bide.bench.flight import Flight, Mismatch, flight_of, mismatch_of
from bide.bench.outcome import Outcome
from bide.bench.window import Window, measured, window_of
from bide.bootstrap import block_count, percentile_intervals, share_interval
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

Metric = Literal["ttft", "ttfc", "tpot", "itl", "chunk_gap", "e2e"]
METRICS: tuple[Metric, ...] = ("ttft", "ttfc", "tpot", "itl", "chunk_gap", "e2e")
"""`ttfc`: to the first token that is not reasoning. `chunk_gap`: between chunks, whatever they hold."""
PERCENTS = (50, 90, 95, 99)
_FEWEST_BEYOND = 5
"""An interval is printed where so many values lie beyond the percentile: fewer say nothing of it."""
_PEAK_S = 1.0


@dataclass(frozen=True, slots=True)
class Percentile:
    """Seconds; `low` to `high`: 95 % by the bootstrap. None where too few values lie beyond."""

    percent: int
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Latency:
    metric: Metric
    count: int
    mean_s: float
    percentiles: tuple[Percentile, ...]

    def at(self, percent: int) -> float:
        return next((each.value for each in self.percentiles if each.percent == percent), float("nan"))


@dataclass(frozen=True, slots=True)
class Goodput:
    """Requests that met every limit, of all that were due in the window, failures included."""

    limits_s: Mapping[str, float]
    share: float
    low_share: float
    high_share: float
    requests_per_s: float


@dataclass(frozen=True, slots=True)
class Summary:
    window: Window
    requests: int
    by_status: Mapping[str, int]
    errors: Mapping[str, int]
    """What the failed ones said, most frequent first."""
    latencies: tuple[Latency, ...]
    goodput: Goodput | None
    due_per_s: float
    sent_per_s: float
    completed_per_s: float
    prompt_tokens_per_s: float
    output_tokens_per_s: float
    peak_output_tokens_per_s: float
    flight: Flight
    cached_share: float
    mismatch: Mismatch

    def latency(self, metric: Metric) -> Latency | None:
        return next((each for each in self.latencies if each.metric == metric), None)

    @property
    def failed(self) -> int:
        return sum(count for status, count in self.by_status.items() if status not in ("ok", "cancelled"))


def summarise(
    outcomes: Sequence[Outcome],
    table: RequestTable,
    warm_up_s: float | None = None,
    limits_s: Mapping[str, float] | None = None,
) -> Summary:
    """The figures over the window; `table` is made of `outcomes`."""
    import numpy as np

    window = window_of(table, warm_up_s)
    inside = measured(table, window) & (table.status != "cancelled")
    seconds = window.seconds or float("nan")
    stay_s = float(np.nanmean(metrics.e2e_s(table)[inside])) if (table.status[inside] == "ok").any() else 0.0
    blocks = block_count(window.seconds, stay_s)
    ended = (table.status == "ok") & _within(table.last_token_s, window)
    stamps, tokens = _stamps(table)
    came = _within(stamps, window)
    sent = np.isfinite(table.sent_s) & _within(table.sent_s, window)
    statuses = Counter(table.status[inside].tolist())
    ok = inside & (table.status == "ok")
    prompts = int(table.prompt_tokens[ok].sum())
    return Summary(
        window,
        int(inside.sum()),
        dict(statuses),
        dict(Counter(text for text in table.error[inside].tolist() if text).most_common(8)),
        tuple(_latencies(table, inside, blocks)),
        _goodput(table, inside, limits_s, blocks, seconds) if limits_s else None,
        float(inside.sum()) / seconds,
        float(sent.sum()) / seconds,
        float(ended.sum()) / seconds,
        float(table.prompt_tokens[ended].sum()) / seconds,
        float(tokens[came].sum()) / seconds,
        _peak(stamps[came], tokens[came]),
        flight_of(table, outcomes, window),
        int(table.cached_tokens[ok].sum()) / prompts if prompts else 0.0,
        mismatch_of(outcomes),
    )


def _within(times_s: Floats, window: Window) -> Booleans:
    found: Booleans = (times_s >= window.start_s) & (times_s <= window.end_s)
    return found


def _stamps(table: RequestTable) -> tuple[Floats, Floats]:
    """When tokens came, of all requests that got any, and how many at each time."""
    import numpy as np

    kept = [times for times in table.token_times_s or () if len(times)]
    times = np.sort(np.concatenate(kept)) if kept else np.empty(0)
    return times, np.ones(len(times))


def _peak(stamps: Floats, tokens: Floats) -> float:
    """Most tokens in any one second, wherever it begins."""
    import numpy as np

    if not len(stamps):
        return 0.0
    return float((np.searchsorted(stamps, stamps + _PEAK_S) - np.arange(len(stamps))).max()) / _PEAK_S


def _latencies(table: RequestTable, inside: Booleans, blocks: int) -> list[Latency]:
    import numpy as np

    arrivals = table.arrival_s[inside]
    gap_times, gaps, gap_tokens = metrics.chunk_gaps(_rows(table, inside))
    several = bool((gap_tokens > 1).any())
    content_s = np.where(table.status == "ok", table.first_content_s - table.arrival_s, np.nan)[inside]
    reasons = bool(
        (table.first_content_s > table.first_token_s).any() or np.isnan(content_s[table.status[inside] == "ok"]).any()
    )
    spread_times = np.repeat(gap_times, gap_tokens)
    found: dict[Metric, tuple[Floats, Floats]] = {
        "ttft": (arrivals, metrics.ttft_s(table)[inside]),
        "tpot": (arrivals, metrics.tpot_s(table)[inside]),
        "itl": (spread_times, np.repeat(gaps / np.maximum(gap_tokens, 1), gap_tokens)),
        "e2e": (arrivals, metrics.e2e_s(table)[inside]),
    }
    if reasons:
        found["ttfc"] = (arrivals, content_s)
    if several:
        found["chunk_gap"] = (gap_times, gaps)
    return [_latency(metric, *found[metric], blocks) for metric in METRICS if metric in found]


def _rows(table: RequestTable, inside: Booleans) -> RequestTable:
    """The rows of `inside`."""
    import dataclasses

    import numpy as np

    kept = np.flatnonzero(inside)
    columns = {each.name: getattr(table, each.name) for each in dataclasses.fields(table)}
    times = columns.pop("token_times_s")
    return RequestTable(
        **{name: column[kept] for name, column in columns.items()},
        token_times_s=None if times is None else tuple(times[row] for row in kept.tolist()),
    )


def _latency(metric: Metric, times_s: Floats, values: Floats, blocks: int) -> Latency:
    import numpy as np

    there = np.isfinite(values)
    times_s, values = times_s[there], values[there]
    if not len(values):
        return Latency(metric, 0, float("nan"), ())
    intervals = percentile_intervals(times_s, values, PERCENTS, blocks)
    made = []
    for percent, value, (low, high) in zip(PERCENTS, np.percentile(values, PERCENTS).tolist(), intervals, strict=True):
        enough = len(values) * (1 - percent / 100) >= _FEWEST_BEYOND
        made.append(
            Percentile(percent, value, min(low, value) if enough else None, max(high, value) if enough else None)
        )
    return Latency(metric, len(values), float(values.mean()), tuple(made))


def _goodput(
    table: RequestTable, inside: Booleans, limits_s: Mapping[str, float], blocks: int, seconds: float
) -> Goodput:
    """A request without a time between tokens meets any limit on it."""
    import numpy as np

    good = table.status == "ok"
    for name, limit_s in limits_s.items():
        values = metrics.latency_s(table, name)  # type: ignore[arg-type]  # checked where they are read
        good = good & ((values <= limit_s) | (np.isnan(values) & (name == "tpot")))
    met = good[inside]
    share = float(met.mean()) if len(met) else float("nan")
    low, high = share_interval(table.arrival_s[inside], met, blocks)
    return Goodput(dict(limits_s), share, min(low, share), max(high, share), float(met.sum()) / seconds)
