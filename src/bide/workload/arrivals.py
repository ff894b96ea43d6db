"""Gaps between arrivals, with mean 1: from recorded times, or drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SEED = 20231116
_TICK_S = 0.05
"""Time stamps this far apart or more, each with several requests, are a clock's ticks and not herds."""


def poisson_gaps(count: int, seed: int = SEED) -> Floats:
    """Exponential gaps, scaled to a mean of exactly 1."""
    import numpy as np

    gaps = np.random.default_rng(seed).exponential(1.0, count)
    return np.asarray(gaps / gaps.mean())


def recorded_gaps(times_s: Floats) -> Floats:
    """Gaps of sorted recorded times, scaled to a mean of 1; the first, which nobody saw, is a mean gap.

    Raises ValueError when all the times are the same.
    """
    import numpy as np

    gaps = np.diff(times_s)
    mean = gaps.mean() if len(gaps) else 0.0
    if mean <= 0:
        raise ValueError("all arrivals at the same time")
    return np.concatenate(([1.0], gaps / mean))


def find_tick_s(times_s: Floats) -> float | None:
    """The clock tick that the times were rounded to, or None where they were not.

    A tick shows as many requests to a time stamp (fewer than half as many stamps as requests), all
    stamps being whole numbers of the smallest step between them.
    """
    import numpy as np

    steps = np.diff(np.unique(times_s))
    if not len(steps) or 2 * (len(steps) + 1) > len(times_s):
        return None
    tick = float(steps.min())
    whole = np.abs(steps / tick - np.round(steps / tick)) < 1e-3
    return tick if tick >= _TICK_S and whole.all() else None


def spread_in_ticks(times_s: Floats, tick_s: float, seed: int = SEED) -> Floats:
    """Each time moved to a random place within its tick, sorted: rounding undone as far as it can be."""
    import numpy as np

    return np.sort(times_s + np.random.default_rng(seed).uniform(0.0, tick_s, len(times_s)))
