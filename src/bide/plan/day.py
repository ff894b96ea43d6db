"""The course of a day: a rate for each hour, reached in its middle, straight lines between, the next day alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

HOURS = 24


@dataclass(frozen=True, slots=True)
class Day:
    """`shares` of the peak, one for each hour from midnight on. Raises ValueError unless there are 24, none below 0.

    >>> Day((0.0, 1.0) * 12).at(1.0)
    0.5
    """

    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.shares) != HOURS or min(self.shares) < 0:
            raise ValueError(f"24 shares of 0 or more, not {self.shares}")

    @property
    def mean(self) -> float:
        """Of the shares; the straight lines between have the same mean."""
        return sum(self.shares) / HOURS

    def at(self, hour: float) -> float:
        """The share at a time of the day, in hours after midnight (beyond a day: of the next)."""
        place = hour - 0.5
        before = math.floor(place)
        one, other = self.shares[before % HOURS], self.shares[(before + 1) % HOURS]
        return one + (other - one) * (place - before)

    def hours_above(self, level: float, widened_h: float = 0.0) -> float:
        """Hours of the day above `level`, each stretch of them `widened_h` hours longer on one side.

        On which side is the same in length: a stretch at or below the level shrinks by so much, and is gone where it
        was shorter.
        """
        if max(self.shares) <= level:
            return 0.0
        return HOURS - sum(max(0.0, gap - widened_h) for gap in self._gaps(level))

    def _gaps(self, level: float) -> Iterator[float]:
        """Lengths of the stretches at or below `level`, begun at an hour above it, around the clock."""
        first = self.shares.index(max(self.shares))
        around = [self.shares[(first + step) % HOURS] for step in range(HOURS + 1)]
        gap = 0.0
        for one, other in pairwise(around):
            gap += _part_below(one, other, level)
            if other > level:
                yield gap
                gap = 0.0

    def steepest(self, ahead_h: float, over: float = 0.0) -> float:
        """The largest factor (1 or more) by which the rate grows to more than `over` in up to `ahead_h` hours.

        Infinite where it grows from nothing. Between corners of the two lines the quotient of rates only rises or only
        falls, so that the largest is at a corner: of the end, of the beginning, or where the end passes `over`.
        """
        corners = [hour + 0.5 for hour in range(HOURS)]
        tops = [time for time in (*corners, *(corner + ahead_h for corner in corners)) if self.at(time) > over]
        return max((self._growth_to(end, ahead_h) for end in (*tops, *self._passes(over))), default=1.0)

    def _growth_to(self, end: float, ahead_h: float) -> float:
        """The rate at `end` over the lowest one of the `ahead_h` hours before."""
        corners = (hour + 0.5 + day for hour in range(HOURS) for day in (-HOURS, 0, HOURS))
        begins = (end, end - ahead_h, *(corner for corner in corners if 0 < end - corner < ahead_h))
        low = min(self.at(begin) for begin in begins)
        return self.at(end) / low if low > 0 else math.inf

    def _passes(self, level: float) -> Iterator[float]:
        """Times at which the rate crosses `level`."""
        for hour in range(HOURS):
            one, other = self.shares[hour], self.shares[(hour + 1) % HOURS]
            if min(one, other) < level < max(one, other):
                yield hour + 0.5 + (level - one) / (other - one)


def _part_below(one: float, other: float, level: float) -> float:
    """How much of the way from `one` to `other` lies at or below `level`."""
    low, high = min(one, other), max(one, other)
    if high <= level:
        return 1.0
    return (level - low) / (high - low) if low <= level else 0.0
