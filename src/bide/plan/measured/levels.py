"""The levels of load of a benchmark: at which rate a replica did what, as the plan takes it of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from bide import metrics
from bide.bench.formats.values import Metric, Run
from bide.bench.window import measured, window_of
from bide.i18n import _
from bide.plan.asks import EVERYBODY, Probe
from bide.plan.question import Goodput
from bide.plan.trial import of_requests, percent_of, taken
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_KEPT_UP = 0.95
"""Of the requests that came, at least so many a second were answered, or a queue grew as long as the run went on."""
_MOST_FAILED = 0.01
_NEVER = 1e9
"""Times its limit that a failed request takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A load and what came of it."""

    requests_per_s: float
    running: float
    """Requests there at once, on average."""
    run: Run

    @property
    def first_token_s(self) -> float:
        """On average; 0 where the result does not say."""
        figures = self.run.trusted("ttft")
        return figures.middle_s or 0.0 if figures else 0.0

    def taken(self, probe: Probe) -> tuple[float, float] | None:
        """The number of `probe`, and what 95 of 100 other runs as long stay below (as `trial.taken`).

        A result without its requests says a percentile or not, and at most how sure it is: None where it does not,
        and where a fault of the measurement spoils it.
        """
        if probe.group != EVERYBODY or self.spoilt_by(probe):
            return None
        table = self.run.table
        values = None if table is None else _values(table, probe)
        if values is not None and len(values):
            return taken(probe, values)
        measure = probe.measure
        figures = None if isinstance(measure, Goodput) else self.run.trusted(measure.latency)
        value = figures.at(percent_of(probe)) if figures else None
        if figures is None or value is None:
            return None
        _low, high = figures.intervals.get(percent_of(probe) or math.nan, (value, value))
        return value, max(value, high)

    def spoilt_by(self, probe: Probe) -> str:
        """The fault that spoils its number, in words; empty for none. Limits are spoilt where any part of one is."""
        measure = probe.measure
        asked: list[tuple[Metric, float]]
        if isinstance(measure, Goodput):
            asked = [(latency, math.inf) for latency, _limit_s in measure.limits]
        else:
            asked = [(measure.latency, measure.percent or 0.0)]
        spoils = (
            fault.text
            for fault in self.run.faults
            for latency, percent in asked
            if latency in fault.distrusts and fault.from_percent <= percent
        )
        return next(spoils, "")


def levels_of(runs: Sequence[Run]) -> tuple[Level, ...]:
    """The loads that were borne, from low to high, as far as no lower one was not; of a rate that came twice, both."""
    found = sorted((level for level in map(_level, runs) if level), key=lambda level: level.requests_per_s)
    return tuple(takewhile(lambda level: not why_not_borne(level.run), found))


def why_unusable(run: Run) -> Iterator[str]:
    """Why a run says nothing of how a replica bears a rate."""
    yield from run.unusable
    if run.load.kind == "batch":
        yield _("all requests were sent at once")
    elif _level(run) is None:
        yield _("the result does not say how many requests came a second, or how long they stayed")


def why_not_borne(run: Run) -> str:
    """Why the replica did not bear this load; empty where it did."""
    came, done, failed = _came_rps(run), _answered_rps(run), run.failed or 0
    if run.load.kind != "concurrency" and came and done is not None and done < _KEPT_UP * came:
        return _("{done:.3g} of {came:.3g} requests a second were answered").format(done=done, came=came)
    if failed > _MOST_FAILED * (failed + (run.completed or 0)):
        return _("{failed:,} requests failed").format(failed=failed)
    return ""


def _level(run: Run) -> Level | None:
    rate = _came_rps(run)
    if not rate:
        return None
    running = run.concurrency or _stay_s(run) * rate
    return Level(rate, running, run) if math.isfinite(running) else None


def _came_rps(run: Run) -> float | None:
    """Requests a second: as asked, of a closed loop those that were answered, else those of the table."""
    if run.load.kind == "requests_per_s":
        return run.load.value
    if run.load.kind == "concurrency":
        return run.requests_per_s
    arrivals_s = None if run.table is None else run.table.arrival_s
    span_s = float(arrivals_s.max() - arrivals_s.min()) if arrivals_s is not None and len(arrivals_s) > 1 else 0.0
    return (len(arrivals_s) - 1) / span_s if arrivals_s is not None and span_s > 0 else None


def _answered_rps(run: Run) -> float | None:
    """While requests came: a whole run ends with the last answer, when none has come for long.

    With the chance of such a count (two standard deviations of a Poisson one) on its side.
    """
    if run.table is None:
        drain_s = _stay_s(run) if run.load.kind == "requests_per_s" else 0.0
        came_s = (run.duration_s or 0.0) - (drain_s if math.isfinite(drain_s) else 0.0)
        return run.completed / came_s if run.completed and came_s > 0 else run.requests_per_s
    window = window_of(run.table)
    ends_s = run.table.last_token_s[run.table.status == "ok"]
    count = int(((ends_s >= window.start_s) & (ends_s <= window.end_s)).sum())
    return (count + 2 * math.sqrt(count)) / window.seconds if window.seconds else None


def _stay_s(run: Run) -> float:
    """Of a request, on average; NaN where the result does not say."""
    figures = run.trusted("e2e"), run.trusted("ttft"), run.trusted("tpot")
    whole, first, token = (each.mean_s if each else None for each in figures)
    if whole is not None:
        return whole
    if first is None or token is None or run.output_tokens is None:
        return math.nan
    return first + token * max(0.0, run.output_tokens - 1)


def _values(table: RequestTable, probe: Probe) -> Floats | None:
    """What `probe` takes of each measured request, or of each gap between tokens; None where nothing was kept."""
    import numpy as np

    inside = np.flatnonzero(measured(table, window_of(table)) & (table.status != "cancelled"))
    kept = table.taken(inside)
    if isinstance(probe.measure, Goodput):
        return np.where(kept.status == "ok", of_requests(probe, kept), _NEVER)
    if probe.measure.latency != "itl":
        return of_requests(probe, kept)
    _when_s, gaps_s, tokens = metrics.chunk_gaps(kept)
    return np.repeat(gaps_s / np.maximum(tokens, 1), tokens) if len(gaps_s) else None
