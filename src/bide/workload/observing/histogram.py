"""A histogram of buckets: what it bounds for certain, and the likely curve within its buckets.

A bucket says how many values lie between two edges, not where: a percentile is known to lie in its bucket and no
better. The mean is exact where the sum of the values is known. The likely curve keeps every bucket's count and that
mean: within a bucket, the share u of its values lies below low + width x u^k, with one exponent k for all buckets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from bide.interval import Interval

PIECES = 4
"""Straight pieces by which the curve is drawn within a bucket."""
_EXPONENTS = (1 / 64, 64.0)
_HALVINGS = 60
_HALF, _BIT = 0.5, 0.01
"""Whole numbers from 11 to 20 are what rounds to them: 10.5 to 20.5, and a bit less, for halves round to even."""
_STEP_BEYOND = 2.5
"""The widest step of 1, 2, 5, 10, ..."""
_LEAST_COUNT = 1e-6
"""Increases are extrapolated, so counts have fractions; below this there is nothing."""
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Histogram:
    """`counts[i]` values lie above `edges[i]` and up to `edges[i + 1]`; the last edge may be infinity.

    `edges` begin at 0. `total` is the sum of the values, if known. `whole`: the values are whole numbers. Nothing lies
    beyond `top`; it is infinity where no such end is known.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    total: float | None = None
    whole: bool = False
    top: float = math.inf

    @property
    def count(self) -> float:
        """How many values there are."""
        return math.fsum(self.counts)

    @property
    def open_share(self) -> float:
        """The share of values above the last finite edge."""
        return self.counts[-1] / self.count if math.isinf(self.edges[-1]) else 0.0

    @property
    def mean_bounds(self) -> tuple[float, float]:
        """The least and the largest mean that the buckets allow."""
        low = math.fsum(n * self._lowest(i) for i, n in enumerate(self.counts) if n)
        high = math.fsum(n * self._highest(i) for i, n in enumerate(self.counts) if n)
        return low / self.count, high / self.count

    @property
    def mean(self) -> Interval:
        """The mean: exact where the sum is known, else what the buckets allow with the curve's between them."""
        low, high = self.mean_bounds
        if self.total is not None:
            exact = self.total / self.count
            return Interval(exact, exact, exact)
        return Interval(low, min(max(self._curve_mean(1.0, self.end), low), high), high)

    @property
    def sum_fits(self) -> bool:
        """Whether the buckets can have that sum: not so where some of it was lost."""
        low, high = self.mean_bounds
        return self.total is None or low * (1 - 1e-3) <= self.total / self.count <= high * (1 + 1e-3)

    def quantile(self, share: float) -> Interval:
        """The bucket in which the value lies that `share` of all stay below, and the likely place in it.

        >>> Histogram((0.0, 10.0, 20.0), (4, 4), whole=True).quantile(0.75)
        Interval(low=11.0, mid=15.5, high=20.0)
        """
        place = self._bucket_at(share)
        low, high = self._lowest(place), self._highest(place)
        return Interval(low, min(max(self._likely(share), low), high), high)

    def points(self) -> dict[float, float]:
        """The likely curve: values by the percent of all that stay below, from 0 to 100."""
        percents: dict[float, float] = {}
        for share, value in self._curve(self._exponent(), self.end):
            percent = min(100.0, round(100 * share, 7))
            while percent in percents and percents[percent] != value and percent < 100:
                percent = round(percent + 1e-7, 7)  # an empty bucket: the curve jumps
            percents[percent] = value
        return percents

    def without_first(self, count: float) -> Histogram:
        """Less so many values that are 0: they lie in the first bucket and add nothing to the sum."""
        return replace(self, counts=(max(0.0, self.counts[0] - count), *self.counts[1:]))

    def _lowest(self, place: int) -> float:
        edge = self.edges[place]
        return edge + 1 if self.whole and edge > 0 else edge

    def _highest(self, place: int) -> float:
        return max(self._lowest(place), min(self.edges[place + 1], self.top))

    def _bucket_at(self, share: float) -> int:
        rank = share * self.count * (1 - _TOLERANCE)
        filled = [i for i, n in enumerate(self.counts) if n > 0]
        below = accumulate(self.counts[i] for i in filled)
        return next((i for i, reached in zip(filled, below, strict=True) if reached >= rank), filled[-1])

    def _likely(self, share: float) -> float:
        curve = list(self._curve(self._exponent(), self.end))
        for (left, low), (right, high) in pairwise(curve):
            if share <= right:
                return low + (high - low) * (share - left) / (right - left) if right > left else high
        return curve[-1][1]

    @property
    def end(self) -> float:
        """Where the likely curve ends: in an open bucket a step beyond the last edge, or as far as the mean needs."""
        finite = [edge for edge in self.edges if 0 < edge < math.inf]
        end = min(self.top, _STEP_BEYOND * finite[-1] if finite else 1.0)
        if self.total is None or not self.open_share:
            return end
        while end < self.top and self._curve_mean(_EXPONENTS[0], end) < self.total / self.count:
            end = min(self.top, 2 * end)
        return end

    def _curve(self, exponent: float, end: float) -> Iterator[tuple[float, float]]:
        """(share, value) from 0 to 1, in `PIECES` pieces a bucket that is not empty."""
        done, count = 0.0, self.count
        for low, high, n in self._filled(end):
            for piece in range(PIECES + 1):
                part = piece / PIECES
                yield (done + n * part) / count, low + (high - low) * part**exponent
            done += n

    def _filled(self, end: float) -> list[tuple[float, float, float]]:
        """Low edge, high edge and count of the buckets that hold something; the open one goes to `end`."""
        found = zip(self.edges, self.edges[1:], self.counts, strict=False)
        more, less = (_HALF + _BIT, _HALF - _BIT) if self.whole else (0.0, 0.0)
        return [(low + more, max(low, min(high, end)) + less, n) for low, high, n in found if n > _LEAST_COUNT]

    def _curve_mean(self, exponent: float, end: float) -> float:
        steps = pairwise(self._curve(exponent, end))
        return math.fsum((right - left) * (low + high) / 2 for (left, low), (right, high) in steps)

    def _exponent(self) -> float:
        """The exponent at which the curve has the known mean; 1 (evenly spread) where none is known."""
        if self.total is None:
            return 1.0
        mean, end, (small, large) = self.total / self.count, self.end, _EXPONENTS
        for _halving in range(_HALVINGS):
            middle = math.sqrt(small * large)
            small, large = (middle, large) if self._curve_mean(middle, end) > mean else (small, middle)
        return math.sqrt(small * large)


def from_cumulative(
    at_most: Mapping[float, float], total: float | None = None, whole: bool = False
) -> Histogram | None:
    """The histogram of counts at or below each edge (Prometheus's `le`), None where it holds nothing.

    >>> from_cumulative({10.0: 5.0, math.inf: 8.0})
    Histogram(edges=(0.0, 10.0, inf), counts=(5.0, 3.0), total=None, whole=False, top=inf)
    """
    edges = sorted(edge for edge in at_most if edge > 0)
    risen = list(accumulate((at_most[edge] for edge in edges), max))
    if not risen or risen[-1] <= _LEAST_COUNT:
        return None
    counts = (high - low for low, high in pairwise([0.0, *risen]))
    return Histogram((0.0, *edges), tuple(counts), total, whole)


def next_in_series(edge: float) -> float:
    """The edge after `edge` in 1, 2, 5, 10, 20, 50, ...

    >>> next_in_series(5000), next_in_series(200)
    (10000.0, 500.0)
    """
    power = 10.0 ** math.floor(math.log10(edge) + _TOLERANCE)
    return power * next(step for step in (2, 5, 10) if step * power > edge * (1 + _TOLERANCE))


def is_1_2_5(edges: tuple[float, ...]) -> bool:
    """Whether the finite edges above 0, in any order, are 1, 2, 5, 10, ... with none left out."""
    finite = sorted(edge for edge in edges if 0 < edge < math.inf)
    return bool(finite) and finite[0] == 1 and all(next_in_series(low) == high for low, high in pairwise(finite))
