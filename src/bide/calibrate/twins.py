"""The same requests in two files: a client's summary beside its list of requests, our journal beside its JSON.

Counted twice they would outweigh what a profile held before, and a level left out would still be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bide.bench.formats.values import Metric, Run
from bide.bootstrap import percentiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SAME_LEVEL = 0.05
_SAME_STAY_S = 1e-3
_ROUNDING = 0.25
"""Of how much requests differ: files of one run differ from each other by rounding, which is less."""
_SAME_SHARE, _US = 1e-4, 1e-6
"""Of percentiles: two runs do not repeat that well in several of them. Our journal has microseconds."""
_PERCENTS = (50, 90, 99)
_TOLD: tuple[Metric, ...] = ("e2e", "ttft")
_Seen = Mapping[tuple[str, float], float]


def twins(runs: Sequence[Run]) -> dict[int, int]:
    """By place of a run that is here already: the place of the one to keep, which lists its requests if any does."""
    found: dict[int, int] = {}
    order = sorted(range(len(runs)), key=lambda place: (runs[place].table is None, place))
    for rank, place in enumerate(order):
        kept = (other for other in order[:rank] if other not in found)
        same = next((other for other in kept if _are_twins(runs[other], runs[place])), None)
        if same is not None:
            found[place] = same
    return found


def _are_twins(one: Run, two: Run) -> bool:
    """Levels of one file are measurements of their own, however alike, and so are those of two dates of one tool."""
    if one.source == two.source and one.load == two.load and one.latency == two.latency:
        return True  # the same file was named twice
    if _file(one) == _file(two) or (one.tool == two.tool and one.date and two.date and one.date != two.date):
        return False
    if one.load.kind != two.load.kind or not one.load.value or not two.load.value:
        return False
    if abs(one.load.value / two.load.value - 1) > _SAME_LEVEL:
        return False
    if one.table is not None and two.table is not None:
        return _same_stays(_stays_s(one), _stays_s(two))
    return any(_alike(first, second) for first in _percentiles(one) for second in _percentiles(two))


def _file(run: Run) -> str:
    return run.source.partition("#")[0]


def _stays_s(run: Run) -> Floats:
    """From sending to the last token, of requests that went well, in order of arrival."""
    table = run.table
    assert table is not None
    found: Floats = (table.last_token_s - table.sent_s)[table.status == "ok"]
    return found


def _same_stays(one: Floats, two: Floats) -> bool:
    if not len(one) == len(two) > 0:
        return False
    off_s = abs(one - two)
    return bool(off_s.max() <= _SAME_STAY_S and off_s.mean() <= _ROUNDING * one.std() + _US)


def _percentiles(run: Run) -> Iterator[_Seen]:
    """Of E2E and TTFT in the steady part; where requests are listed of E2E in all of the run too.

    A summary may take for the first token what its list shows to be a chunk without one.
    """
    yield {
        (metric, percent): run.latency[metric].percentiles[percent]
        for metric in _TOLD
        if metric in run.latency
        for percent in _PERCENTS
        if percent in run.latency[metric].percentiles
    }
    if run.table is not None and len(stays_s := _stays_s(run)):
        shown = zip(_PERCENTS, percentiles(stays_s, _PERCENTS), strict=True)
        yield {("e2e", percent): value for percent, value in shown}


def _alike(one: _Seen, two: _Seen) -> bool:
    """In E2E at every percentile, and in TTFT where both tell it."""
    whole = all(("e2e", percent) in one and ("e2e", percent) in two for percent in _PERCENTS)
    return whole and all(abs(one[key] - two[key]) <= _SAME_SHARE * one[key] + _US for key in one.keys() & two.keys())
