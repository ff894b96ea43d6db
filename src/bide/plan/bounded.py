"""What one run says of other runs: a number as measured, and what 95 of 100 runs as long stay below.

A percentile of one run is not that of the next. The bound is from the scatter between consecutive parts of the run
(batch means: requests that come together wait together; another run scatters as much as this one, hence sqrt 2). A
percentile's bound is a higher percentile of the same run (Woodruff 1952): it does not depend on the
limit, so that a longer patience never asks for more.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

_PARTS = 16
_ERRORS = 1.753 * 2**0.5
"""Standard errors to the bound: one-sided 95 % of Student's t with 15 degrees of freedom, for two runs."""


def bounded_percentile(values: Floats, percent: float) -> tuple[float, float]:
    """The percentile, and the one that holds in 95 of 100 runs; both 0 where there is no value."""
    import numpy as np

    there = values[np.isfinite(values)]
    if not len(there):
        return 0.0, 0.0
    in_order = np.sort(there)
    value = _at_percent(in_order, percent)
    higher = percent + 100 * _ERRORS * _scatter(there > value)
    return value, _at_percent(in_order, min(100.0, higher))


def _at_percent(in_order: Floats, percent: float) -> float:
    """Linear between ranks, as `metrics.summary`."""
    rank = percent / 100 * (len(in_order) - 1)
    below = int(rank)
    above = min(below + 1, len(in_order) - 1)
    return float(in_order[below] + (rank - below) * (in_order[above] - in_order[below]))


def bounded_mean(values: Floats) -> tuple[float, float]:
    """The mean, and what that of 95 in 100 runs stays below; both 0 where there is no value."""
    import numpy as np

    there = values[np.isfinite(values)]
    value = float(there.mean()) if len(there) else 0.0
    return value, value + _ERRORS * _scatter(there)


def _scatter(values: Floats | Booleans) -> float:
    """Standard error of the mean, from the means of consecutive parts."""
    import numpy as np

    if len(values) < 2 * _PARTS:
        return float(np.std(values)) if len(values) else 0.0
    begins, sizes = _parts_of(len(values))
    off = np.add.reduceat(values, begins, dtype=np.float64) / sizes
    off -= off.mean()
    return math.sqrt(float(off @ off) / (_PARTS - 1) / _PARTS)


@lru_cache(maxsize=256)
def _parts_of(count: int) -> tuple[Ints, Ints]:
    """Where consecutive parts begin, and how many values each has."""
    import numpy as np

    begins = np.arange(_PARTS) * count // _PARTS
    return begins, np.diff(begins, append=count)
