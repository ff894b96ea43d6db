"""Figures of a run that a simulation and a measurement share: percentiles, how sure they are, and goodput."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bide import metrics
from bide.bootstrap import mean_interval, percentile_intervals, percentiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bide.records import RequestTable

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]


FEWEST_BEYOND = 5
"""An interval is printed where so many values lie beyond the percentile: fewer say nothing of it."""


@dataclass(frozen=True, slots=True)
class Goodput:
    """Requests that met every limit, of all that were sent in the window."""

    limits_s: Mapping[str, float]
    share: float
    low_share: float
    high_share: float
    requests_per_s: float

    def to_dict(self) -> dict[str, Any]:
        """For `--json`: limits in seconds, the share with 95 % of redrawn runs from `low` to `high`."""
        return {
            "limits_s": dict(self.limits_s),
            "share": number(self.share),
            "low": number(self.low_share),
            "high": number(self.high_share),
            "requests_per_s": number(self.requests_per_s),
        }


def number(value: float | None) -> float | None:
    """JSON has no infinity and no NaN."""
    return value if value is not None and math.isfinite(value) else None


def percentile_ends(
    times_s: Floats, values: Floats, percents: Sequence[int], blocks: int
) -> Iterator[tuple[int, float, float, float]]:
    """(percent, value, low, high), with 95 % of redrawn runs (`bide.bootstrap`); the value lies within.

    `times_s`: when each of `values` was. All values are finite, and there is one at least.
    """
    intervals = percentile_intervals(times_s, values, percents, blocks)
    for percent, value, (low, high) in zip(percents, percentiles(values, percents), intervals, strict=True):
        yield percent, value, min(low, value), max(high, value)


def mean_ends(times_s: Floats, values: Floats, blocks: int) -> tuple[float, float] | None:
    """95 % of redrawn runs have their mean between these; None where a median would have no interval either."""
    if len(values) < FEWEST_BEYOND / 0.5:
        return None
    mean = float(values.mean())
    low, high = mean_interval(times_s, values, blocks)
    return min(low, mean), max(high, mean)


def goodput_of(
    table: RequestTable, inside: Booleans, limits_s: Mapping[str, float], blocks: int, seconds: float
) -> Goodput:
    """Over the requests `inside` a window of so many `seconds`.

    `limits_s`: by latency. A request without a time between tokens meets any limit on it.
    """
    import numpy as np

    good = table.status == "ok"
    for name, limit_s in limits_s.items():
        values = metrics.latency_s(table, name)  # type: ignore[arg-type]  # checked where they are read
        good = good & ((values <= limit_s) | (np.isnan(values) & (name == "tpot")))
    met = good[inside]
    share = float(met.mean()) if len(met) else float("nan")
    low, high = mean_interval(table.arrival_s[inside], met, blocks)
    return Goodput(dict(limits_s), share, min(low, share), max(high, share), float(met.sum()) / seconds)
