"""How far off a fit is on loads that it has not seen: each left out in turn, and the interval that follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bide.calibrate.points import OBSERVED, Measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]

FEWEST_LEVELS = 3
"""Of an interval of its own: two errors say nothing of a spread."""
_NARROWEST = {"ttft_s": 0.05, "tpot_s": 0.02, "e2e_s": 0.02, "output_tokens_per_s": 0.02}
"""Runs do not repeat better than that (see `own_fit.REPEAT`)."""
_INSIDE = 0.9
"""Quantile whose two sides leave 80 % between them."""


def levels(points: Sequence[Measured]) -> list[tuple[object, ...]]:
    """By point: which level of load it is. Repetitions of one level are left out together."""
    return [
        (p.load.kind, round(math.log(p.load.value), 2), round(p.mix.prompt_tokens, -1), round(p.mix.output_tokens, -1))
        for p in points
    ]


def left_out_predictions(
    points: Sequence[Measured], predict_without: Callable[[Places, Places], Mapping[str, Floats]]
) -> dict[str, Floats]:
    """Each point's prediction by a fit that has not seen its level; `predict_without` takes (its rows, the others)."""
    import numpy as np

    names = levels(points)
    result = {metric: np.full(len(points), np.nan) for metric in OBSERVED}
    for level in dict.fromkeys(names):
        rows = np.array([row for row, name in enumerate(names) if name == level], dtype=np.intp)
        rest = np.array([row for row, name in enumerate(names) if name != level], dtype=np.intp)
        if not len(rest):
            continue
        for metric, values in predict_without(rows, rest).items():
            result[metric][rows] = values
    return result


def own_spread(points: Sequence[Measured], predicted: Mapping[str, Floats]) -> dict[str, tuple[float, float]]:
    """By metric: logarithms of measured / predicted between which 80 % are expected; none for too few levels.

    Errors are taken as normal about 0; with few of them Student's quantile widens the interval.
    """
    import numpy as np
    from scipy.stats import t

    found = {}
    names = levels(points)
    for metric, values in predicted.items():
        pairs = [
            (name, math.log(point.observed[metric] / value))
            for name, point, value in zip(names, points, values.tolist(), strict=True)
            if metric in point.observed and math.isfinite(value) and value > 0
        ]
        count = len({name for name, _error in pairs})
        if count < FEWEST_LEVELS:
            continue
        off = float(np.sqrt(np.mean([error**2 for _name, error in pairs])))
        wide = max(_NARROWEST[metric], off * float(t.ppf(_INSIDE, count - 1)))
        found[metric] = (-wide, wide)
    return found
