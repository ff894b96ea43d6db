"""How sure a percentile of one run is: blocks of time drawn with replacement.

Requests that come together wait together, so that they are not independent; blocks of time much
longer than a stay nearly are (Künsch 1989, "The jackknife and the bootstrap for general stationary
observations"). Percentiles of a draw come from counts between fine quantiles of all values.
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
_BINS = 4096
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
    ranks = np.linspace(0, len(values) - 1, min(_BINS, len(values))).astype(np.int64)
    edges = np.unique(np.sort(values)[ranks])
    spots = np.searchsorted(edges, values)
    where = _block_of(times_s, blocks)
    counts = np.bincount(where * len(edges) + spots, minlength=blocks * len(edges)).reshape(blocks, len(edges))
    drawn = np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1 / blocks), _DRAWS)
    below = drawn.astype(np.float64) @ np.cumsum(counts, axis=1, dtype=np.float64)
    return [_interval(edges, below, percent) for percent in percents]


def _block_of(times_s: Floats, blocks: int) -> NDArray[np.int64]:
    import numpy as np

    first, last = float(times_s.min()), float(times_s.max())
    if last <= first:
        return np.arange(len(times_s)) % blocks
    return np.minimum(((times_s - first) / (last - first) * blocks).astype(np.int64), blocks - 1)


def _interval(edges: Floats, below: Floats, percent: float) -> tuple[float, float]:
    import numpy as np

    wanted = percent / 100 * below[:, -1]
    place = np.array([np.searchsorted(row, most) for row, most in zip(below, wanted, strict=True) if row[-1] > 0])
    low, high = np.percentile(edges[np.minimum(place, len(edges) - 1)], _COVERED)
    return float(low), float(high)
