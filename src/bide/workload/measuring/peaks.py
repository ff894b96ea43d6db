"""The busiest stretch of a trace, and its rate in each hour of the day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DAY_HOURS = 24
_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Peak:
    """The window of `window_s` with most requests: when it begins, counted from the first request, and how many."""

    window_s: float
    start_s: float
    requests: int

    @property
    def rps(self) -> float:
        """Requests a second in it."""
        return self.requests / self.window_s


def peak_of(arrival_s: Floats, window_s: float) -> Peak:
    """The busiest window of sorted arrival times. A window that holds most begins at a request, so those are tried.

    >>> import numpy as np
    >>> peak_of(np.array([0.0, 5.0, 5.5, 6.0, 20.0]), 2.0)
    Peak(window_s=2.0, start_s=5.0, requests=3)
    """
    import numpy as np

    ends = np.searchsorted(arrival_s, arrival_s + window_s, side="left")
    counts = ends - np.arange(len(arrival_s))
    first = int(np.argmax(counts))
    return Peak(window_s, float(arrival_s[first] - arrival_s[0]), int(counts[first]))


def hours_of(arrival_s: Floats) -> tuple[float, ...]:
    """The mean rate in each of 24 hours, counted from the first request, as a share of the busiest.

    Whole hours only. Raises ValueError for less than 24 of them.
    """
    import numpy as np

    since_s = arrival_s - arrival_s[0]
    whole = int(since_s[-1] // _HOUR_S)
    if whole < DAY_HOURS:
        raise ValueError(f"{whole} whole hours")
    counts = np.bincount((since_s[since_s < whole * _HOUR_S] // _HOUR_S).astype(np.int64), minlength=whole)
    hour = np.arange(whole) % DAY_HOURS
    rates = np.bincount(hour, weights=counts) / np.bincount(hour)
    return tuple((rates / rates.max()).tolist())
