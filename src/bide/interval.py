"""A number and how far off it may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """`mid` is the likely value; the truth is expected between `low` and `high`.

    Raises ValueError when they are not in order.

    >>> Interval(1.0, 2.0, 4.0).map(lambda seconds: seconds * 1e3)
    Interval(low=1000.0, mid=2000.0, high=4000.0)
    """

    low: float
    mid: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.mid <= self.high:
            raise ValueError(f"not in order: {self.low}, {self.mid}, {self.high}")

    def map(self, function: Callable[[float], float]) -> Interval:
        """The interval of `function`, which may rise or fall but must not turn."""
        ends = sorted((function(self.low), function(self.high)))
        return Interval(ends[0], function(self.mid), ends[1])

    def to_dict(self) -> dict[str, float]:
        return {"low": self.low, "mid": self.mid, "high": self.high}


def spanning(low: float, mid: float, high: float) -> Interval:
    """The interval over three values of which `mid` is the likely one, whichever way the ends fall.

    >>> spanning(3.0, 2.0, 1.0)
    Interval(low=1.0, mid=2.0, high=3.0)
    """
    return Interval(min(low, mid, high), mid, max(low, mid, high))
