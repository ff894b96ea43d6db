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
_DRAWS, _DRAWS_AT_ONCE = 400, 40
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
    reached = np.cumsum(counts, axis=1, dtype=np.float64)
    found = np.concatenate([_drawn_percentiles(edges, part @ reached, percents) for part in _parts(drawn)])
    lows, highs = np.percentile(found, _COVERED, axis=0)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


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


def _parts(drawn: NDArray[np.int64]) -> list[Floats]:
    """A few draws at a time: all at once would be the largest thing in memory."""
    import numpy as np

    return [part.astype(np.float64) for part in np.array_split(drawn, _DRAWS // _DRAWS_AT_ONCE)]


def _drawn_percentiles(edges: Floats, below: Floats, percents: Sequence[float]) -> Floats:
    """A row for each draw that has any value; `below` counts each draw's values up to each edge."""
    import numpy as np

    rows = below[below[:, -1] > 0]
    places = [[np.searchsorted(row, percent / 100 * row[-1]) for percent in percents] for row in rows]
    return np.asarray(edges[np.minimum(np.array(places, dtype=np.int64).reshape(-1, len(percents)), len(edges) - 1)])
