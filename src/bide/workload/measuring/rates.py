"""How arrivals come: rates in windows of several widths, and how much burstier than Poisson they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

WINDOWS_S = (1.0, 10.0, 60.0)
_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class WindowStats:
    """Counts in windows of one width: requests a second, and variance over mean (1 for Poisson)."""

    window_s: float
    mean_rps: float
    p99_rps: float
    peak_rps: float
    dispersion: float

    def to_dict(self) -> dict[str, float]:
        return {
            "window_s": self.window_s,
            "mean_rps": self.mean_rps,
            "p99_rps": self.p99_rps,
            "peak_rps": self.peak_rps,
            "dispersion": self.dispersion,
        }


@dataclass(frozen=True, slots=True)
class ArrivalStats:
    """`gap_variation` is the coefficient of variation of the gaps: 1 for Poisson, 0 for a metronome.

    `peak_hour_to_mean` needs two hours or more.
    """

    mean_rps: float
    span_s: float
    gap_variation: float
    windows: tuple[WindowStats, ...]
    peak_hour_to_mean: float | None

    def to_dict(self) -> dict[str, object]:
        return {
            "mean_rps": self.mean_rps,
            "span_s": self.span_s,
            "gap_cv": self.gap_variation,
            "windows": [window.to_dict() for window in self.windows],
            "peak_hour_to_mean": self.peak_hour_to_mean,
        }


def arrival_stats(arrival_s: Floats) -> ArrivalStats | None:
    """The figures of sorted arrival times; None where they have no span."""
    import numpy as np

    span_s = float(arrival_s[-1] - arrival_s[0]) if len(arrival_s) else 0.0
    if span_s <= 0:
        return None
    gaps = np.diff(arrival_s)
    hours = counts_in(arrival_s, _HOUR_S) if span_s >= 2 * _HOUR_S else None
    return ArrivalStats(
        len(gaps) / span_s,
        span_s,
        float(gaps.std() / gaps.mean()),
        tuple(_window(arrival_s, width) for width in WINDOWS_S if span_s >= 2 * width),
        float(hours.max() / hours.mean()) if hours is not None else None,
    )


def counts_in(arrival_s: Floats, window_s: float) -> Ints:
    """Requests in each whole window from the first request on; the rest after the last whole one is left out."""
    import numpy as np

    whole = max(1, int((arrival_s[-1] - arrival_s[0]) / window_s))
    number = ((arrival_s - arrival_s[0]) / window_s).astype(np.int64)
    return np.bincount(number[number < whole], minlength=whole)


def _window(arrival_s: Floats, window_s: float) -> WindowStats:
    import numpy as np

    whole, counts = _busy(arrival_s, window_s)
    mean = float(counts.sum()) / whole
    variance = float((counts.astype(np.float64) ** 2).sum()) / whole - mean**2
    return WindowStats(
        window_s,
        mean / window_s,
        _percentile_99(counts, whole) / window_s,
        float(counts.max()) / window_s,
        variance / mean,
    )


def _busy(arrival_s: Floats, window_s: float) -> tuple[int, Ints]:
    """How many whole windows there are, and the counts of those with requests in them: a log may span a year."""
    import numpy as np

    whole = max(1, int((arrival_s[-1] - arrival_s[0]) / window_s))
    number = ((arrival_s - arrival_s[0]) / window_s).astype(np.int64)
    return whole, np.unique(number[number < whole], return_counts=True)[1]


def _percentile_99(busy: Ints, whole: int) -> float:
    """That of all windows, the empty ones included; straight between neighbours, as numpy has it."""
    import numpy as np

    place = 0.99 * (whole - 1)
    low = int(place)
    ordered = np.sort(busy)
    at = [float(ordered[each - whole]) if each >= whole - len(busy) else 0.0 for each in (low, min(low + 1, whole - 1))]
    return at[0] + (place - low) * (at[1] - at[0])
