"""How far off a profile is on what it was not fitted to: whole models or whole GPUs held out, one profile a fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bide.calibrate.fit import Problem, fit, log_errors, predict
from bide.calibrate.points import OBSERVED
from bide.physics.profile import Spread
from bide.runners import Runner

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_TAIL, _NEAR_TAIL = 0.07, 0.10
"""Share of errors beyond each end of a spread. A new group's errors differ from those of the others, so 7 % of theirs
leave out about 10 % of its own (see `coverage`)."""
NEAR = "near"
"""The kind of errors that are not held out."""
_FEWEST = 30
"""Points that a spread of its own is taken from."""


@dataclass(frozen=True, slots=True)
class _Fold:
    """What one process needs: plain values."""

    held_out: str
    rows: NDArray[np.intp]
    rest: NDArray[np.intp]


def held_out_predictions(
    found: Problem, groups: Sequence[str], run: Runner, start: Floats | None, most_steps: int
) -> dict[str, Floats]:
    """Each point's prediction by a profile that was fitted without the points of its group."""
    import numpy as np

    names = np.array(groups)
    folds = [_Fold(n, np.flatnonzero(names == n), np.flatnonzero(names != n)) for n in sorted(set(names))]
    result = {metric: np.full(len(groups), np.nan) for metric in OBSERVED}
    for fold, values in zip(folds, run(partial(_predicted, found, start, most_steps), folds), strict=True):
        for metric, numbers in values.items():
            result[metric][fold.rows] = numbers
    return result


def _predicted(found: Problem, start: Floats | None, most_steps: int, fold: _Fold) -> dict[str, Floats]:
    return predict(found.chosen(fold.rows), fit(found.chosen(fold.rest), start, most_steps))


@dataclass(frozen=True, slots=True)
class Score:
    """Errors |predicted / measured - 1| of one metric."""

    points: int
    median: float
    p90: float
    bias: float
    """Median of predicted / measured - 1."""


def score(found: Problem, predicted: Mapping[str, Floats], metric: str, rows: NDArray[np.bool_] | None = None) -> Score:
    """The errors of a metric over `rows`; not a number where there are none."""
    import numpy as np

    logs = log_errors(found, predicted)[metric]
    chosen = np.isfinite(logs) & (np.ones_like(logs, dtype=bool) if rows is None else rows)
    errors = np.expm1(logs[chosen])
    if not errors.size:
        return Score(0, float("nan"), float("nan"), float("nan"))
    off = np.abs(errors)
    return Score(int(errors.size), float(np.median(off)), float(np.quantile(off, 0.9)), float(np.median(errors)))


def spreads(found: Problem, held_out: Mapping[str, Mapping[str, Floats]], loops: Sequence[str]) -> dict[str, Spread]:
    """By kind of hold-out, and by kind and engine loop where there are points enough: 80 % of measured / predicted."""
    import numpy as np

    result = {}
    every = np.ones(len(loops), dtype=bool)
    for kind, predicted in held_out.items():
        logs = log_errors(found, predicted)
        tail = _NEAR_TAIL if kind == NEAR else _TAIL
        result[kind] = _spread(logs, every, None, tail)
        for loop in sorted(set(loops)):
            result[f"{kind}/{loop}"] = _spread(logs, np.array([name == loop for name in loops]), result[kind], tail)
    return result


def _spread(logs: Mapping[str, Floats], rows: NDArray[np.bool_], general: Spread | None, tail: float) -> Spread:
    """Ends by metric, of `general` where there are too few points."""
    import numpy as np

    low, high = {}, {}
    for metric, values in logs.items():
        known = -values[rows & np.isfinite(values)]  # measured / predicted
        if general is not None and known.size < _FEWEST:
            low[metric], high[metric] = general.low[metric], general.high[metric]
        else:
            low[metric], high[metric] = (float(np.quantile(known, q)) for q in (tail, 1 - tail))
    return Spread(low, high)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often an 80 % interval from other groups' errors holds a point, and how wide it is."""

    share: float
    width: float
    """Median of the upper end over the lower one."""


def coverage(
    found: Problem, predicted: Mapping[str, Floats], groups: Sequence[str], loops: Sequence[str]
) -> dict[str, Coverage]:
    """By metric: intervals of each group's points from the errors of all other groups, as `spreads` makes them."""
    import numpy as np

    names = np.array(groups)
    inside: dict[str, list[bool]] = {metric: [] for metric in predicted}
    widths: dict[str, list[float]] = {metric: [] for metric in predicted}
    errors = log_errors(found, predicted)
    for name in sorted(set(groups)):
        own, others = np.flatnonzero(names == name), np.flatnonzero(names != name)
        rest = {metric: values[others] for metric, values in predicted.items()}
        made = spreads(found.chosen(others), {"rest": rest}, [loops[int(row)] for row in others])
        for row in own:
            spread = made.get(f"rest/{loops[int(row)]}", made["rest"])
            for metric, logs in errors.items():
                if np.isfinite(logs[row]):
                    low, high = min(spread.low[metric], 0.0), max(spread.high[metric], 0.0)
                    inside[metric].append(bool(low <= -logs[row] <= high))
                    widths[metric].append(float(np.exp(high - low)))
    return {
        metric: Coverage(float(np.mean(found_in)), float(np.median(widths[metric])))
        for metric, found_in in inside.items()
        if found_in
    }
