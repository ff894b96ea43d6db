"""How sure a percentile of one run is: blocks of time drawn with replacement.

Requests that come together wait together, so that they are not independent; blocks of time much
longer than a stay nearly are (Künsch 1989, "The jackknife and the bootstrap for general stationary
observations"). Redrawing B blocks understates how far B blocks stray, by (B-1)/B and as a normal
falls short of Student's t: the ends are taken further out for it (Hesterberg 2015, "What teachers
should know about the bootstrap", section 5.3). Percentiles of a draw come from counts in bins of a
256th of an octave, 0.3 % wide. `benchmarks/interval_coverage.py` counts how often the truth lies within.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST_BLOCKS, _MOST_BLOCKS = 8, 64
_DRAWS = 400
_AT_ONCE = 40
"""Draws whose counts are held at one time: all of them would take several times the memory of the values."""
_BIN_SHIFT = 52 - 8
"""Of a double's bits: its exponent and the first eight digits of its fraction stay."""
_COVERED = 0.95
_STAYS = 10.0
"""A block is this many mean stays long, where the window has room for so many blocks."""


def block_count(window_s: float, stay_s: float) -> int:
    """Blocks that a window is cut into."""
    return int(min(_MOST_BLOCKS, max(_FEWEST_BLOCKS, window_s / (_STAYS * stay_s) if stay_s > 0 else _MOST_BLOCKS)))


def percentile_intervals(
    times_s: Floats, values: Floats, percents: Sequence[float], blocks: int, seed: int = 0
) -> list[tuple[float, float]]:
    """95 % of the percentiles of redrawn runs lie between these; `times_s` say which block a value is in."""
    import numpy as np

    if not len(values):
        return [(float("nan"), float("nan"))] * len(percents)
    spots, middles = _bins(values)
    bins = len(middles)
    where = _block_of(times_s, blocks)
    where *= bins
    where += spots
    counts = np.bincount(where, minlength=blocks * bins).reshape(blocks, bins)
    below = np.cumsum(counts, axis=1, dtype=np.float64)
    drawn = np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1 / blocks), _DRAWS).astype(np.float64)
    shares = np.asarray(percents) / 100
    places = np.concatenate([_places(part @ below, shares) for part in np.split(drawn, _DRAWS // _AT_ONCE)])
    found = middles[np.minimum(places, bins - 1)]
    return [(low, high) for low, high in (percentiles(column, _ends(blocks)) for column in found.T)]


def _bins(values: Floats) -> tuple[NDArray[np.int32], Floats]:
    """The bin of each value, which are 0 or more, and the mean value in each bin, of those that hold any.

    Values are many: what can be done in place is.
    """
    import numpy as np

    spots = np.maximum(values, 0.0).view(np.int64)
    spots >>= _BIN_SHIFT
    positive = spots > 0
    if positive.any():
        spots -= spots.min(initial=np.iinfo(np.int64).max, where=positive) - 1
        np.maximum(spots, 0, out=spots)
    counts = np.bincount(spots)
    held = counts > 0
    sums = np.bincount(spots, weights=values)
    return (np.cumsum(held, dtype=np.int32) - 1)[spots], sums[held] / counts[held]


def mean_interval(times_s: Floats, values: Floats | NDArray[np.bool_], blocks: int) -> tuple[float, float]:
    """95 % of the means of redrawn runs lie between these; of flags that is their share."""
    import numpy as np

    if not len(values):
        return float("nan"), float("nan")
    block = _block_of(times_s, blocks)
    counts = np.bincount(block, minlength=blocks)
    sums = np.bincount(block, weights=values, minlength=blocks)
    drawn = np.random.default_rng(0).multinomial(blocks, np.full(blocks, 1 / blocks), _DRAWS)
    held = drawn @ counts
    low, high = percentiles(((drawn @ sums) / np.maximum(held, 1))[held > 0], _ends(blocks))
    return low, high


def percentiles(values: Floats, percents: Sequence[float]) -> list[float]:
    """Linear between ranks, as `numpy.percentile`, which is ten times as slow for few values and imports numpy.ma.

    >>> import numpy as np
    >>> percentiles(np.array([3.0, 1.0, 2.0]), (0, 50, 75))
    [1.0, 2.0, 2.5]
    """
    import numpy as np

    ordered = np.sort(values)
    ranks = np.asarray(percents) / 100 * (len(ordered) - 1)
    below = ranks.astype(np.int64)
    low, high = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    found: list[float] = (low + (high - low) * (ranks - below)).tolist()
    return found


def _block_of(times_s: Floats, blocks: int) -> NDArray[np.int32]:
    import numpy as np

    first, last = float(times_s.min()), float(times_s.max())
    if last <= first:
        return np.arange(len(times_s), dtype=np.int32) % blocks
    shares = times_s - first
    shares /= last - first
    shares *= blocks
    found = shares.astype(np.int32)
    return np.minimum(found, blocks - 1, out=found)


def _places(below: Floats, shares: Floats) -> NDArray[np.int64]:
    """The bin of each percentile in each redrawn run, which is a row of running counts; empty runs have none."""
    import numpy as np

    found = [row.searchsorted(shares * row[-1]) for row in below if row[-1] > 0]
    return np.array(found, dtype=np.int64).reshape(-1, len(shares))


def _ends(blocks: int) -> tuple[float, float]:
    """The percents of redrawn runs between which 95 % of true runs lie.

    Student's quantile comes from the normal one by three terms of its expansion in 1 / freedoms
    (Abramowitz and Stegun 26.7.5), within 0.4 % from seven freedoms on.

    >>> [round(low, 2) for low, _high in (_ends(8), _ends(64), _ends(10**9))]
    [0.59, 2.2, 2.5]
    """
    normal, freedoms = NormalDist(), blocks - 1
    z = normal.inv_cdf((1 + _COVERED) / 2)
    student = z + (z**3 + z) / (4 * freedoms) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedoms**2)
    low = 100 * normal.cdf(-student * (blocks / freedoms) ** 0.5)
    return low, 100 - low
