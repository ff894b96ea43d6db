"""Gaps between arrivals: recorded, or drawn with mean 1; and the clock ticks that recorded times were rounded to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SEED = 20231116
_TICK_S = 0.05
"""Time stamps this far apart or more, each with several requests, are a clock's ticks and not herds."""
_ROUND_TICKS_S = (60.0, 10.0, 1.0, 0.1)
_JITTER = 0.01
_SHARED = 0.05
Kind = Literal["exponential", "gamma", "weibull", "constant"]


@dataclass(frozen=True, slots=True)
class Gaps:
    """Independent gaps of mean 1. `shape` is that of a gamma (vLLM's burstiness) or a Weibull distribution.

    A gamma's coefficient of variation is 1 / sqrt(shape): below 1 the shape makes bursts.
    """

    kind: Kind
    shape: float = 1.0

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """`count` gaps."""
        import numpy as np

        if self.kind == "gamma":
            return rng.gamma(self.shape, 1.0 / self.shape, count)
        if self.kind == "weibull":
            return np.asarray(rng.weibull(self.shape, count) / math.gamma(1.0 + 1.0 / self.shape))
        return rng.exponential(1.0, count) if self.kind == "exponential" else np.ones(count)


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
    """The clock tick that sorted times were rounded to, or None where they were not.

    Either most requests share their time stamp with another and all stamps are whole numbers of one step,
    within a hundredth of it; or some share it and all are whole numbers of 60, 10, 1 or 0.1 s.
    """
    import numpy as np

    stamps = np.unique(times_s)
    if len(stamps) < 3 or len(stamps) == len(times_s):
        return None
    return _by_sharing(stamps, len(times_s)) or _by_roundness(stamps, times_s)


def _by_sharing(stamps: Floats, requests: int) -> float | None:
    import numpy as np

    steps = np.diff(stamps)
    if 2 * len(stamps) > requests:
        return None
    tick = float(np.median(steps[steps < 1.5 * steps.min()]))
    whole = np.abs(steps / tick - np.round(steps / tick)) < _JITTER
    return round(tick, 6) if tick >= _TICK_S and whole.all() else None


def _by_roundness(stamps: Floats, times_s: Floats) -> float | None:
    import numpy as np

    if len(times_s) - len(stamps) < _SHARED * len(times_s):
        return None
    since = stamps - stamps[0]
    return next((t for t in _ROUND_TICKS_S if (np.abs(since / t - np.round(since / t)) < 1e-6).all()), None)


def spread_in_ticks(times_s: Floats, tick_s: float, seed: int = SEED) -> Floats:
    """Each time moved to a random place within its tick, sorted: rounding undone as far as it can be."""
    import numpy as np

    return np.sort(times_s + np.random.default_rng(seed).uniform(0.0, tick_s, len(times_s)))
