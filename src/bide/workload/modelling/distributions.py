"""Distributions of lengths and pauses, each a function from shares (0 to 1) to values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bide.sourced import Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_LEAST_SHARE = 1e-12
_MOST_TOKENS = 10**12
"""As many as a number of tokens may say; the tail of a wide lognormal would go on."""
_GRID = 4001
_FAR = 6.0
"""A mixture is tabulated to so many standard deviations of its parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution(ABC):
    """Values in tokens or seconds, never above `largest`; `assumptions` name what nobody said."""

    largest: float | None = None
    assumptions: tuple[Assumption, ...] = ()

    @abstractmethod
    def _at(self, shares: Floats) -> Floats:
        """The values that those shares of all stay below, before `largest` cuts them off."""

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """What `parse` makes this distribution of again."""

    def values(self, shares: Floats) -> Floats:
        """Quantiles, from 0 to `largest`."""
        import numpy as np

        return np.clip(self._at(np.clip(shares, _LEAST_SHARE, 1 - _LEAST_SHARE)), 0.0, self.largest)

    def tokens(self, shares: Floats) -> Ints:
        """Quantiles as whole numbers from 1 on."""
        import numpy as np

        return np.clip(np.rint(self.values(shares)), 1, _MOST_TOKENS).astype(np.int64)

    def quantile_tokens(self, share: float) -> int:
        """The length that `share` of the requests stay below."""
        import numpy as np

        return int(self.tokens(np.array([share]))[0])

    def even(self, count: int, seed: int) -> Ints:
        """`count` lengths: the middles of equally likely slices, shuffled: no sample is luckier than another."""
        import numpy as np

        tokens = self.tokens((np.arange(count) + 0.5) / count)
        return np.random.default_rng(seed).permutation(tokens)


@dataclass(frozen=True, slots=True)
class Fixed(Distribution):
    """Always the same."""

    value: float

    def _at(self, shares: Floats) -> Floats:
        import numpy as np

        return np.full(len(shares), self.value)

    def describe(self) -> dict[str, object]:
        return {"fixed": self.value}


@dataclass(frozen=True, slots=True)
class Uniform(Distribution):
    """Everything from `low` to `high` alike."""

    low: float
    high: float

    def _at(self, shares: Floats) -> Floats:
        return self.low + (self.high - self.low) * shares

    def describe(self) -> dict[str, object]:
        return {"uniform": {"low": self.low, "high": self.high}}


@dataclass(frozen=True, slots=True)
class Normal(Distribution):
    """Normal; what falls below the least (1 token, 0 seconds) becomes that."""

    mean: float
    deviation: float

    def _at(self, shares: Floats) -> Floats:
        import numpy as np
        from scipy.special import ndtri

        return np.asarray(self.mean + self.deviation * ndtri(shares))

    def describe(self) -> dict[str, object]:
        return {"normal": {"mean": self.mean, "sd": self.deviation}, **_max(self)}


@dataclass(frozen=True, slots=True)
class Lognormal(Distribution):
    """Logs are normal with mean `mu` and standard deviation `sigma`: the median is exp(mu)."""

    mu: float
    sigma: float

    def _at(self, shares: Floats) -> Floats:
        import numpy as np
        from scipy.special import ndtri

        return np.asarray(np.exp(self.mu + self.sigma * ndtri(shares)))

    def describe(self) -> dict[str, object]:
        return {"lognormal": {"mu": self.mu, "sigma": self.sigma}, **_max(self)}


@dataclass(frozen=True, slots=True)
class Mixture(Distribution):
    """Lognormals, each with its weight: what one hump cannot follow. `parts` are (weight, mu, sigma)."""

    parts: tuple[tuple[float, float, float], ...]

    def _at(self, shares: Floats) -> Floats:
        import numpy as np
        from scipy.special import ndtr

        low = min(mu - _FAR * sigma for _weight, mu, sigma in self.parts) - 1e-9
        high = max(mu + _FAR * sigma for _weight, mu, sigma in self.parts) + 1e-9
        logs = np.linspace(low, high, _GRID)
        total = sum(weight for weight, _mu, _sigma in self.parts)
        below = sum(w / total * ndtr((logs - mu) / max(sigma, 1e-9)) for w, mu, sigma in self.parts)
        return np.exp(np.interp(shares, below, logs))

    def describe(self) -> dict[str, object]:
        parts = [{"weight": weight, "mu": mu, "sigma": sigma} for weight, mu, sigma in self.parts]
        return {"mixture": parts, **_max(self)}


@dataclass(frozen=True, slots=True)
class Points(Distribution):
    """Measured quantiles with straight lines between them. `shares` go from 0 to 1."""

    shares: tuple[float, ...]
    at: tuple[float, ...] = field(repr=False)

    def _at(self, shares: Floats) -> Floats:
        import numpy as np

        return np.interp(shares, self.shares, self.at)

    def describe(self) -> dict[str, object]:
        points = {f"{100 * share:.10g}": value for share, value in zip(self.shares, self.at, strict=True)}
        return {"points": points, **_max(self)}


def _max(given: Distribution) -> dict[str, object]:
    return {} if given.largest is None else {"max": given.largest}
