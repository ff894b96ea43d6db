"""How sure a percentile of one run is: blocks of time drawn with replacement.

Requests that come together wait together, so that they are not independent; blocks of time much
longer than a stay nearly are (Künsch 1989, "The jackknife and the bootstrap for general stationary
observations"). Percentiles of a draw come from counts in bins of a 256th of an octave, 0.3 % wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST_BLOCKS, _MOST_BLOCKS = 8, 64
_DRAWS = 400
_BIN_SHIFT = 52 - 8
"""Of a double's bits: its exponent and the first eight digits of its fraction stay."""
_COVERED = (2.5, 97.5)
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
    counts = np.bincount(where * bins + spots, minlength=blocks * bins).reshape(blocks, bins)
    drawn = np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1 / blocks), _DRAWS)
    below = drawn.astype(np.float64) @ np.cumsum(counts, axis=1, dtype=np.float64)
    return [_interval(middles, below, percent) for percent in percents]


def _bins(values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The bin of each value, which are 0 or more, and the mean value in each bin, NaN where it is empty."""
    import numpy as np

    bits = np.maximum(values, 0.0).view(np.int64) >> _BIN_SHIFT
    positive = bits[bits > 0]
    first = int(positive.min()) - 1 if len(positive) else 0
    spots = np.maximum(bits - first, 0)
    counts = np.bincount(spots)
    sums = np.bincount(spots, weights=values)
    return spots, np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)


def share_interval(times_s: Floats, met: NDArray[np.bool_], blocks: int) -> tuple[float, float]:
    """95 % of the shares of redrawn runs lie between these; `met` says which requests count."""
    import numpy as np

    if not len(met):
        return float("nan"), float("nan")
    edges = np.linspace(float(times_s.min()), float(times_s.max()), blocks + 1)[1:-1]
    block = np.searchsorted(edges, times_s)
    sent = np.bincount(block, minlength=blocks)
    good = np.bincount(block, weights=met, minlength=blocks)
    drawn = np.random.default_rng(0).multinomial(blocks, np.full(blocks, 1 / blocks), _DRAWS)
    shares = (drawn @ good) / np.maximum(drawn @ sent, 1)
    low, high = np.percentile(shares, _COVERED)
    return float(low), float(high)


def _block_of(times_s: Floats, blocks: int) -> NDArray[np.int64]:
    import numpy as np

    first, last = float(times_s.min()), float(times_s.max())
    if last <= first:
        return np.arange(len(times_s)) % blocks
    return np.minimum(((times_s - first) / (last - first) * blocks).astype(np.int64), blocks - 1)


def _interval(middles: Floats, below: Floats, percent: float) -> tuple[float, float]:
    import numpy as np

    wanted = percent / 100 * below[:, -1]
    place = np.array([np.searchsorted(row, most) for row, most in zip(below, wanted, strict=True) if row[-1] > 0])
    low, high = np.percentile(middles[np.minimum(place, len(middles) - 1)], _COVERED)
    return float(low), float(high)
