"""When requests come: recorded times, rates over time with gaps of a shape, or rates that wander by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from bide.workload.arrivals import Gaps
from bide.workload.measuring.rates import counts_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DAY_S = 86400.0
_DAY_PARTS = 96
_PEAK_HOUR = 14.0
_MOST_PERSISTENT = 0.99
_EVENEST = 1e6
"""Shape of gamma gaps that vary by a thousandth of their mean: a metronome, as far as anybody can tell."""


class Arrivals(Protocol):
    """Sorted times in seconds, none before 0, at a mean rate."""

    @property
    def mean_rps(self) -> float: ...

    def times_s(self, count: int, rng: np.random.Generator) -> Floats: ...

    def at(self, rps: float) -> Arrivals:
        """The same pattern at another mean rate."""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """Recorded times, again and again until there are enough; `speed` plays them faster."""

    arrival_s: Floats
    speed: float = 1.0

    @property
    def mean_rps(self) -> float:
        return self.speed * len(self.arrival_s) / self._cycle_s()

    def _cycle_s(self) -> float:
        """The recorded span and one mean gap before it begins again."""
        return float(self.arrival_s[-1]) * len(self.arrival_s) / max(1, len(self.arrival_s) - 1)

    def times_s(self, count: int, rng: np.random.Generator) -> Floats:
        import numpy as np

        number = np.arange(count)
        rounds, row = np.divmod(number, len(self.arrival_s))
        return (rounds * self._cycle_s() + self.arrival_s[row]) / self.speed

    def at(self, rps: float) -> Replay:
        return replace(self, speed=self.speed * rps / self.mean_rps)


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests a second in windows of equal width, which repeat."""

    window_s: float
    rps: tuple[float, ...]

    @property
    def mean_rps(self) -> float:
        return sum(self.rps) / len(self.rps)

    def seconds(self, expected: Floats) -> Floats:
        """The times by which so many requests are expected (the inverse of the rates' integral)."""
        import numpy as np

        reached = np.concatenate(([0.0], np.cumsum(self.rps))) * self.window_s
        rounds, rest = np.divmod(expected, reached[-1])
        edges = np.arange(len(self.rps) + 1) * self.window_s
        return np.asarray(rounds * edges[-1] + np.interp(rest, reached, edges))


@dataclass(frozen=True, slots=True)
class Paced:
    """Independent gaps, stretched by the rate at the time: Poisson, gamma renewal, constant, diurnal, piecewise."""

    rates: Rates
    gaps: Gaps

    @property
    def mean_rps(self) -> float:
        return self.rates.mean_rps

    def times_s(self, count: int, rng: np.random.Generator) -> Floats:
        import numpy as np

        return self.rates.seconds(np.cumsum(self.gaps.draw(count, rng)))

    def at(self, rps: float) -> Paced:
        factor = rps / self.mean_rps
        return replace(self, rates=replace(self.rates, rps=tuple(factor * each for each in self.rates.rps)))


@dataclass(frozen=True, slots=True)
class Wandering:
    """Poisson arrivals whose rate is gamma distributed from window to window and lingers.

    `variation` is the coefficient of variation of the rate, `persistence` the correlation of its normal
    scores from one window to the next. Counts then are negative binomial.
    """

    mean_rps: float
    window_s: float
    variation: float
    persistence: float = 0.0

    def times_s(self, count: int, rng: np.random.Generator) -> Floats:
        import numpy as np

        expected = np.cumsum(rng.exponential(1.0, count))
        windows = 16 + math.ceil(1.2 * count / (self.mean_rps * self.window_s))
        return Rates(self.window_s, tuple(self._rates(windows, rng).tolist())).seconds(expected)

    def _rates(self, windows: int, rng: np.random.Generator) -> Floats:
        """Gamma rates by the ranks of an autoregressive normal series, scaled to the mean exactly."""
        import numpy as np
        from scipy.special import gammaincinv, ndtr

        if self.variation == 0:
            return np.full(windows, self.mean_rps)
        scores = rng.standard_normal(windows)
        fresh = math.sqrt(1 - self.persistence**2)
        for window in range(1, windows):
            scores[window] = self.persistence * scores[window - 1] + fresh * scores[window]
        shape = 1 / self.variation**2
        rates = gammaincinv(shape, ndtr(scores)) / shape
        if not rates.any():
            rates[np.argmax(scores)] = 1.0
        return np.asarray(rates * (self.mean_rps / rates.mean()))

    def at(self, rps: float) -> Wandering:
        return replace(self, mean_rps=rps)


def stepwise(window_s: float, rps: tuple[float, ...]) -> Paced:
    """Poisson arrivals at one rate after another, each for a window, and again from the first."""
    return Paced(Rates(window_s, rps), Gaps("exponential"))


def poisson(rps: float) -> Paced:
    """One rate, exponential gaps."""
    return Paced(Rates(1.0, (rps,)), Gaps("exponential"))


def constant(rps: float) -> Paced:
    """A metronome."""
    return Paced(Rates(1.0, (rps,)), Gaps("constant"))


def gamma_renewal(rps: float, burstiness: float) -> Paced:
    """Gamma gaps as `vllm bench serve --burstiness` draws them: below 1 bursts, 1 Poisson, above 1 more even."""
    return Paced(Rates(1.0, (rps,)), Gaps("gamma", burstiness))


def diurnal(rps: float, peak_to_mean: float, hours: tuple[float, ...] = ()) -> Paced:
    """Poisson arrivals over a day: 24 hourly weights, or one smooth hump at 14:00 of the given height.

    The hump is exp(k cos(angle)), which stays above 0 at any height; k by bisection.
    """
    if hours:
        mean = sum(hours) / len(hours)
        return Paced(Rates(DAY_S / len(hours), tuple(rps * hour / mean for hour in hours)), Gaps("exponential"))
    low, high = 0.0, 60.0
    for _step in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if max(_hump(middle)) < peak_to_mean else (low, middle)
    return Paced(Rates(DAY_S / _DAY_PARTS, tuple(rps * part for part in _hump(low))), Gaps("exponential"))


def _hump(steepness: float) -> list[float]:
    """A day of mean 1 in quarters of an hour."""
    angle = 2 * math.pi / 24
    hours = [(part + 0.5) * 24 / _DAY_PARTS for part in range(_DAY_PARTS)]
    heights = [math.exp(steepness * (math.cos(angle * (hour - _PEAK_HOUR)) - 1)) for hour in hours]
    mean = sum(heights) / len(heights)
    return [height / mean for height in heights]


def measured_rates(arrival_s: Floats, window_s: float) -> Paced:
    """Poisson arrivals at the recorded rates, window by window."""
    counts = counts_in(arrival_s, window_s)
    return Paced(Rates(window_s, tuple((counts / window_s).tolist())), Gaps("exponential"))


def measured_renewal(arrival_s: Floats) -> Paced:
    """Gamma gaps with the recorded mean and variation (shape = 1 / variation^2)."""
    import numpy as np

    gaps = np.diff(arrival_s)
    variation = max(float(gaps.std() / gaps.mean()), _EVENEST**-0.5)
    return gamma_renewal(1 / float(gaps.mean()), variation**-2)


def measured_wandering(arrival_s: Floats, window_s: float) -> Wandering:
    """Rates with the recorded excess of the counts' variance over Poisson's, and its lingering.

    variation^2 = (variance - mean) / mean^2; the covariance of neighbouring counts is that of their rates.
    """
    import numpy as np

    counts = counts_in(arrival_s, window_s).astype(np.float64)
    mean, excess = float(counts.mean()), max(0.0, float(counts.var() - counts.mean()))
    neighbours = float(np.mean((counts[1:] - mean) * (counts[:-1] - mean))) if len(counts) > 1 else 0.0
    lingers = min(_MOST_PERSISTENT, max(0.0, neighbours / excess)) if excess else 0.0
    return Wandering(mean / window_s, window_s, math.sqrt(excess) / mean, lingers)
