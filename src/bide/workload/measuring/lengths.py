"""Percentiles of lengths with how sure they are, and how prompts and outputs go together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.interval import Interval, spanning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

PERCENTS = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
SURE_PERCENTS = (50.0, 90.0, 95.0, 99.0)
"""Those that come with an interval."""
_BATCHES = 50
_Z90 = 1.6448536269514722
"""Of a normal distribution 90 % lie within so many standard deviations."""


@dataclass(frozen=True, slots=True)
class LengthStats:
    """Of one length, in tokens. `sure` has 90 % intervals of the percentiles in `SURE_PERCENTS`."""

    count: int
    mean: float
    deviation: float
    smallest: int
    largest: int
    percentiles: dict[float, float]
    sure: dict[float, Interval]

    def to_dict(self) -> dict[str, object]:
        return {
            "count": self.count,
            "mean": self.mean,
            "standard_deviation": self.deviation,
            "min": self.smallest,
            **{f"p{percent:g}": value for percent, value in self.percentiles.items()},
            "max": self.largest,
            "interval_90": {f"p{percent:g}": [span.low, span.high] for percent, span in self.sure.items()},
        }


def length_stats(tokens: Ints) -> LengthStats:
    """The figures of a column of at least one length; requests stand in the order of their arrival."""
    import numpy as np

    ordered = np.sort(tokens)
    values = np.percentile(ordered, PERCENTS)
    percentiles = {percent: float(value) for percent, value in zip(PERCENTS, values, strict=True)}
    sure = {percent: _sure(tokens, ordered, percent, percentiles[percent]) for percent in SURE_PERCENTS}
    deviation = float(tokens.std())
    return LengthStats(
        len(tokens), float(tokens.mean()), deviation, int(ordered[0]), int(ordered[-1]), percentiles, sure
    )


def _sure(tokens: Ints, ordered: Ints, percent: float, value: float) -> Interval:
    """The 90 % interval of a percentile from the order statistics around it.

    The number of requests below the true percentile is binomial, widened by how much more that number
    varies between stretches of the trace than independent requests would make it (the design effect).
    """
    share, count = percent / 100, len(ordered)
    spread = _Z90 * math.sqrt(share * (1 - share) * design_effect(tokens > value, 1 - share) / count)
    low, high = (ordered[_rank(share + sign * spread, count)] for sign in (-1, 1))
    return spanning(float(low), value, float(high))


def _rank(share: float, count: int) -> int:
    return min(count - 1, max(0, round(share * (count - 1))))


def design_effect(happens: NDArray[np.bool_], share: float) -> float:
    """How many times the variance of a share is that of independent requests; at least 1.

    Told from 50 stretches of equal length; 1 where the stretches would be too short to tell.
    """
    size = len(happens) // _BATCHES
    if size < 2 or size * share < 1:
        return 1.0
    means = happens[: size * _BATCHES].reshape(_BATCHES, size).mean(axis=1)
    return max(1.0, float(means.var(ddof=1)) * size / (share * (1 - share)))


def spearman(one: Ints, other: Ints) -> float | None:
    """Rank correlation of two columns of lengths, ties sharing their mean rank; None where a column is constant.

    >>> import numpy as np
    >>> round(spearman(np.array([1, 2, 3, 4]), np.array([10, 20, 30, 25])), 3)
    0.8
    """
    import numpy as np

    first, second = _ranks(one), _ranks(other)
    if first.std() == 0 or second.std() == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(tokens: Ints) -> Floats:
    """Mean ranks, by counting: lengths are small whole numbers of which many are equal."""
    import numpy as np

    _values, inverse, counts = np.unique(tokens, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse], dtype=np.float64)
