"""Requests in flight, and tokens asked for beside tokens that came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bide.bench.outcome import Outcome
from bide.bench.window import Window, measured
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_GROWN_OF_ARRIVALS, _FEWEST_GROWN = 0.01, 4.0


@dataclass(frozen=True, slots=True)
class Flight:
    """Requests between sending and their end: exact, at every moment. `quarters`: means over the window's quarters."""

    mean: float
    peak: int
    quarters: tuple[float, float, float, float]
    grows: bool


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Tokens asked for beside tokens that the server counted, over requests that went well."""

    prompt_off: int
    prompt_worst: int
    output_off: int
    output_asked: int
    output_got: int
    counted_by_server: int


def flight_of(table: RequestTable, outcomes: Sequence[Outcome], window: Window) -> Flight:
    """By adding up starts and ends in order of time."""
    import numpy as np

    spans = [(each.sent_s, each.end_s) for each in outcomes if each.sent_s is not None and each.end_s is not None]
    if not spans or not window.seconds:
        return Flight(0.0, len(spans), (0.0, 0.0, 0.0, 0.0), False)
    starts, ends = (np.sort(column) for column in np.array(spans).T)
    times = np.concatenate((starts, ends))
    steps = np.concatenate((np.ones(len(starts)), -np.ones(len(ends))))
    order = np.lexsort((steps, times))
    peak = int(np.cumsum(steps[order]).max())
    edges = np.linspace(window.start_s, window.end_s, 5)
    quarters = [_mean_between(starts, ends, low, high) for low, high in pairwise(edges.tolist())]
    one, two, three, four = quarters
    inside = int(measured(table, window).sum())
    grows = one < two < three < four and four - one > max(_FEWEST_GROWN, _GROWN_OF_ARRIVALS * inside)
    return Flight(float(np.mean(quarters)), peak, (one, two, three, four), bool(grows))


def _mean_between(starts: Floats, ends: Floats, low: float, high: float) -> float:
    """Requests in flight on average between two times; starts and ends are sorted, which keeps their sums."""
    import numpy as np

    return float((np.clip(ends, low, high).sum() - np.clip(starts, low, high).sum()) / (high - low))


def mismatch_of(outcomes: Sequence[Outcome]) -> Mismatch:
    good = [each for each in outcomes if each.ok]
    told = [each for each in good if each.counted_by == "server"]
    off = [abs(each.prompt_tokens - each.prompt_asked) for each in told]
    return Mismatch(
        sum(difference > 0 for difference in off),
        max(off, default=0),
        sum(each.output_tokens != each.output_asked for each in good),
        sum(each.output_asked for each in good),
        sum(each.output_tokens for each in good),
        len(told),
    )
