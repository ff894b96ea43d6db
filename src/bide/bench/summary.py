"""The figures of a cell: percentiles and how sure they are, rates, goodput, what was asked beside what came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bide import metrics
from bide.bench.flight import Flight, Mismatch, flight_of, mismatch_of
from bide.bench.outcome import Outcome
from bide.bench.window import Window, measured, window_of
from bide.bootstrap import block_count
from bide.figures import FEWEST_BEYOND, Goodput, goodput_of, mean_ends, percentile_ends
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]
    Ints = NDArray[np.int64]

Metric = Literal["ttft", "ttfc", "tpot", "itl", "chunk_gap", "e2e"]
METRICS: tuple[Metric, ...] = ("ttft", "ttfc", "tpot", "itl", "chunk_gap", "e2e")
"""`ttfc`: to the first token that is not reasoning. `chunk_gap`: between chunks, whatever they hold."""
PERCENTS = (50, 90, 95, 99)
_PEAK_S = 1.0
_AT_ONCE = 1 << 16


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
    mean_ends_s: tuple[float, float] | None = None
    """95 % of such runs have the mean between these; None for a few values."""

    def at(self, percent: int) -> float:
        return next((each.value for each in self.percentiles if each.percent == percent), float("nan"))


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
    mean_prompt_tokens: float
    """Of the measured requests that went well; NaN where there is none, as are the output tokens."""
    mean_output_tokens: float

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
    came, peak = _came(table, window)
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
        goodput_of(table, inside, limits_s, blocks, seconds) if limits_s else None,
        float(inside.sum()) / seconds,
        float(sent.sum()) / seconds,
        float(ended.sum()) / seconds,
        float(table.prompt_tokens[ended].sum()) / seconds,
        came / seconds,
        peak,
        flight_of(table, outcomes, window),
        int(table.cached_tokens[ok].sum()) / prompts if prompts else 0.0,
        mismatch_of(outcomes),
        prompts / int(ok.sum()) if ok.any() else float("nan"),
        float(table.output_tokens[ok].mean()) if ok.any() else float("nan"),
    )


def _within(times_s: Floats, window: Window) -> Booleans:
    found: Booleans = (times_s >= window.start_s) & (times_s <= window.end_s)
    return found


def _came(table: RequestTable, window: Window) -> tuple[int, float]:
    """Tokens that came in the window, of whatever request, and the most of them in any second."""
    import numpy as np

    kept = [times for times in table.token_times_s or () if len(times)]
    if not kept:
        return 0, 0.0
    stamps = np.concatenate(kept)
    stamps = stamps[_within(stamps, window)]
    stamps.sort()
    return len(stamps), max((_most(stamps, at) for at in range(0, len(stamps), _AT_ONCE)), default=0) / _PEAK_S


def _most(stamps: Floats, at: int) -> int:
    """Most stamps in the second after one of those from the `at`-th on, of which so many are looked at together."""
    import numpy as np

    part = stamps[at : at + _AT_ONCE]
    return int((np.searchsorted(stamps, part + _PEAK_S) - np.arange(at, at + len(part))).max())


def _latencies(table: RequestTable, inside: Booleans, blocks: int) -> Iterator[Latency]:
    """Each metric that there is, in the order of METRICS; long columns are held no longer than needed."""
    import numpy as np

    arrivals = table.arrival_s[inside]
    yield _latency("ttft", arrivals, metrics.ttft_s(table)[inside], blocks)
    content_s = np.where(table.status == "ok", table.first_content_s - table.arrival_s, np.nan)[inside]
    if (table.first_content_s > table.first_token_s).any() or np.isnan(content_s[table.status[inside] == "ok"]).any():
        yield _latency("ttfc", arrivals, content_s, blocks)
    yield _latency("tpot", arrivals, metrics.tpot_s(table)[inside], blocks)
    yield from _gaps(*metrics.chunk_gaps(table.taken(np.flatnonzero(inside))), blocks)
    yield _latency("e2e", arrivals, metrics.e2e_s(table)[inside], blocks)


def _gaps(times_s: Floats, gaps_s: Floats, tokens: Ints, blocks: int) -> Iterator[Latency]:
    """Between tokens, and between chunks where some hold several. Takes the columns, of which it keeps no copy."""
    if not (tokens > 1).any():
        del tokens
        yield _latency("itl", times_s, gaps_s, blocks)
        return
    chunks = _latency("chunk_gap", times_s, gaps_s, blocks)
    times_s, gaps_s = metrics.token_gaps(times_s, gaps_s, tokens)
    del tokens
    yield _latency("itl", times_s, gaps_s, blocks)
    yield chunks


def _latency(metric: Metric, times_s: Floats, values: Floats, blocks: int) -> Latency:
    import numpy as np

    there = np.isfinite(values)
    if not there.all():
        times_s, values = times_s[there], values[there]
    if not len(values):
        return Latency(metric, 0, float("nan"), ())
    made = []
    for percent, value, low, high in percentile_ends(times_s, values, PERCENTS, blocks):
        enough = len(values) * (1 - percent / 100) >= FEWEST_BEYOND
        made.append(Percentile(percent, value, low if enough else None, high if enough else None))
    return Latency(metric, len(values), float(values.mean()), tuple(made), mean_ends(times_s, values, blocks))
