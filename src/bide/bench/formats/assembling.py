"""A run from a request table: its figures by the one definition of each latency, and its faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bide import metrics
from bide.bench.formats.faults import client_behind, warnings_of_counts, warnings_of_table
from bide.bench.formats.values import Asked, Fault, Figures, Metric, Run
from bide.bench.summary import PERCENTS
from bide.bench.window import Window, measured, window_of
from bide.bootstrap import block_count
from bide.figures import FEWEST_BEYOND, mean_ends, percentile_ends
from bide.i18n import _
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

_LATEST_S = 1e12
"""Seconds since 1970 are fewer for 30,000 years."""


def run_of_table(
    table: RequestTable,
    source: str,
    tool: str,
    load: Asked,
    faults: Iterable[Fault] = (),
    warm_up_s: float | None = None,
    **said: Any,
) -> Run:
    """The figures of the steady window of `table`; `said` are further fields of the run.

    Raises ValueError for times that no clock shows.
    """
    check_times(table)
    ok = table.status == "ok"
    window = _window(table, load, warm_up_s)
    inside = ok & measured(table, window)
    completed, failed = int(ok.sum()), int((~ok & (table.status != "cancelled")).sum())
    hits = float(table.cached_tokens[ok].sum() / max(1, table.prompt_tokens[ok].sum())) if completed else 0.0
    flight = _in_flight(table, window)
    common: dict[str, Any] = {
        "completed": completed,
        "failed": failed,
        "duration_s": _span_s(table),
        "prompt_tokens": _mean(table.prompt_tokens[inside]),
        "output_tokens": _mean(table.output_tokens[inside]),
        **_rates(table, inside, window, load, flight),
        "concurrency": flight,
        "cached_share": hits,
        "latency": latencies(table, inside, window),
    }
    common |= {name: value for name, value in said.items() if value is not None}
    found = [
        *faults,
        *warnings_of_counts(completed, failed, common["cached_share"], load),
        *warnings_of_table(table, load),
        *client_behind(load, flight if not window.whole else None),
    ]
    return Run(source, tool, load, table=table, faults=tuple(found), **common)


def check_times(table: RequestTable) -> None:
    """Raises ValueError for times that no clock shows, whose sums would be infinite."""
    import numpy as np

    for column in (table.arrival_s, table.sent_s, table.first_token_s, table.last_token_s):
        far = column[np.abs(column) > _LATEST_S]
        if len(far):
            raise ValueError(_("a time of {time:.3g} s; is it in seconds?").format(time=far[0]))


def _window(table: RequestTable, load: Asked, warm_up_s: float | None) -> Window:
    """The steady part; all of a batch."""
    found = window_of(table, warm_up_s)
    return Window(found.start_s, found.end_s, True) if load.kind == "batch" else found


def _mean(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None


def _span_s(table: RequestTable) -> float | None:
    import numpy as np

    ends = table.last_token_s[np.isfinite(table.last_token_s)]
    return float(ends.max() - table.arrival_s.min()) if len(ends) and len(table) else None


def _rates(
    table: RequestTable, inside: Booleans, window: Window, load: Asked, flight: float | None
) -> dict[str, float | None]:
    """Requests and tokens a second: by Little's law in the steady window of a closed loop (its edges cut through
    requests), counted otherwise; over the whole run of a batch."""
    ok, span_s = table.status == "ok", _span_s(table)
    tokens = _mean(table.output_tokens[inside]) or 0.0
    if load.kind == "concurrency" and not window.whole and flight and inside.any():
        per_s = flight / float((table.last_token_s - table.sent_s)[inside].mean())
        return {"requests_per_s": per_s, "output_tokens_per_s": per_s * tokens}
    if load.kind == "batch" or window.whole:
        ended, seconds = ok, span_s
    else:
        ended = ok & (table.last_token_s >= window.start_s) & (table.last_token_s <= window.end_s)
        seconds = window.seconds
    if not seconds:
        return {"requests_per_s": None, "output_tokens_per_s": None}
    return {
        "requests_per_s": float(ended.sum()) / seconds,
        "output_tokens_per_s": float(table.output_tokens[ended].sum()) / seconds,
    }


def _in_flight(table: RequestTable, window: Window) -> float | None:
    """Mean requests between sending and the last token, over the window."""
    import numpy as np

    known = np.isfinite(table.sent_s) & np.isfinite(table.last_token_s)
    if not known.any() or window.seconds <= 0:
        return None
    low, high = window.start_s, window.end_s
    starts, ends = (np.clip(column[known], low, high) for column in (table.sent_s, table.last_token_s))
    return float((ends - starts).sum() / window.seconds)


def latencies(table: RequestTable, inside: Booleans, window: Window) -> Mapping[Metric, Figures]:
    """By metric, with 95 % intervals by the bootstrap over blocks of time."""
    import numpy as np

    stay_s = float(np.nanmean(metrics.e2e_s(table)[inside])) if inside.any() else 0.0
    blocks = block_count(window.seconds, stay_s)
    arrivals = table.arrival_s[inside]
    found: dict[Metric, Figures] = {}
    for metric in metrics.LATENCIES:
        made = _figures(arrivals, metrics.latency_s(table, metric)[inside], blocks)
        if made:
            found[metric] = made
    made = _figures(*metrics.token_gaps(*metrics.chunk_gaps(table.taken(np.flatnonzero(inside)))), blocks)
    if made:
        found["itl"] = made
    return found


def _figures(times_s: Floats, values: Floats, blocks: int) -> Figures | None:
    import numpy as np

    there = np.isfinite(values)
    times_s, values = times_s[there], values[there]
    if not len(values):
        return None
    points, sure = {}, {}
    for percent, value, low, high in percentile_ends(times_s, values, PERCENTS, blocks):
        points[float(percent)] = value
        if len(values) * (1 - percent / 100) >= FEWEST_BEYOND:
            sure[float(percent)] = (low, high)
    ends = mean_ends(times_s, values, blocks)
    return Figures(float(values.mean()), points, len(values), float(values.std()), sure, ends)
