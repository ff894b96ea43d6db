"""Robust least squares of a profile's terms on measured points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.calibrate.points import OBSERVED, Measured
from bide.calibrate.terms import Term
from bide.physics.reached import ROLES, Reached
from bide.physics.steptime import Amounts, roofline
from bide.simulate.cases import case_of, mix_columns, replicas, stacked_amounts
from bide.simulate.loops import States
from bide.simulate.solved import SOLVERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WEIGHTS = {"ttft_s": 0.35, "tpot_s": 1.0, "e2e_s": 1.0, "output_tokens_per_s": 1.0}
"""Of a metric's log errors: TTFT repeats ten times worse than the others."""
_ROBUST_FROM = 0.15
"""Log errors beyond this count less and less (soft L1)."""
_PRIOR_WEIGHT = 0.075
_FITTED = tuple(role for role in ROLES if role != "separate_prefill")


@dataclass(frozen=True, eq=False)
class Problem:
    """Points with everything that does not change while terms are fitted."""

    terms: Sequence[Term]
    kinds: NDArray[np.str_]
    """Of load, by point."""
    loads: Floats
    amounts: Amounts
    """Of the distinct cases."""
    case_of_point: NDArray[np.intp]
    index: Mapping[str, NDArray[np.intp]]
    """By role: where in the vector of terms (with 1 behind it) each distinct case's number stands."""
    separate: Floats
    columns: Mapping[str, Floats]
    observed: Mapping[str, Floats]
    weights: Floats

    def chosen(self, rows: NDArray[np.intp]) -> Problem:
        """The points of `rows` alone."""
        return Problem(
            self.terms,
            self.kinds[rows],
            self.loads[rows],
            self.amounts,
            self.case_of_point[rows],
            self.index,
            self.separate,
            {name: values[rows] for name, values in self.columns.items()},
            {name: values[rows] for name, values in self.observed.items()},
            self.weights[rows],
        )


def problem(points: Sequence[Measured], terms: Sequence[Term]) -> Problem:
    """`points` made ready. A curve counts as the square root of its points, whatever is left out not at all."""
    import numpy as np

    cases = [case_of(point.deployment, point.stated) for point in points]
    distinct = list({id(case): case for case in cases}.values())
    number = {id(case): place for place, case in enumerate(distinct)}
    where = {term.name: place for place, term in enumerate(terms)}
    index = {role: np.array([_place(case.names[role], where) for case in distinct]) for role in _FITTED}
    separate = np.array([case.names["separate_prefill"] for case in distinct])
    observed = {m: np.array([p.observed.get(m, np.nan) for p in points]) for m in OBSERVED}
    sizes = Counter(point.curve for point in points)
    weights = np.array([0.0 if p.left_out else sizes[p.curve] ** -0.5 for p in points])
    return Problem(
        terms,
        np.array([point.load.kind for point in points]),
        np.array([point.load.value for point in points]),
        stacked_amounts(distinct),
        np.array([number[id(case)] for case in cases]),
        index,
        separate,
        mix_columns(cases, [p.mix for p in points]),
        observed,
        weights,
    )


def _place(name: object, where: Mapping[str, int]) -> int:
    """Where the first of a role's names stands; behind the last for the number 1."""
    if isinstance(name, tuple):
        return next((where[found] for found in name if found in where), len(where))
    return len(where)


def predict(found: Problem, logs: Floats) -> dict[str, Floats]:
    """Each metric of each point, with terms of these logarithms."""
    import numpy as np

    values = np.append(np.exp(logs), 1.0)
    made = Reached(**{role: values[places] for role, places in found.index.items()}, separate_prefill=found.separate)
    stack = replicas(found.columns, roofline(found.amounts, made), made, found.case_of_point)
    result = {metric: np.full(len(found.loads), np.nan) for metric in OBSERVED}
    for kind, solver in SOLVERS.items():
        rows = np.flatnonzero(found.kinds == kind)
        if rows.size:
            states = solver(stack.chosen(rows), found.loads[rows])
            for metric, numbers_of in _metrics(states, found.columns["output_tokens"][rows]).items():
                result[metric][rows] = numbers_of
    return result


def _metrics(states: States, output_tokens: Floats) -> dict[str, Floats]:
    return {
        "ttft_s": states.ttft_s,
        "tpot_s": states.tpot_s,
        "e2e_s": states.e2e_s,
        "output_tokens_per_s": states.requests_per_s * output_tokens,
    }


def log_errors(found: Problem, predicted: Mapping[str, Floats]) -> dict[str, Floats]:
    """log(predicted / measured) by metric; not a number where nothing was measured or no time exists."""
    import numpy as np

    errors = {}
    for metric, values in predicted.items():
        known = np.isfinite(values) & np.isfinite(found.observed[metric])
        ratio = np.where(known, values, 1.0) / np.where(known, found.observed[metric], 1.0)
        errors[metric] = np.where(known, np.log(ratio), np.nan)
    return errors


def fit(found: Problem, start: Floats | None = None, most_steps: int = 40) -> Floats:
    """Logarithms of the terms: least squares of log errors with a soft L1 loss, held near where the terms start."""
    import numpy as np
    from scipy.optimize import least_squares

    prior = np.log([term.start for term in found.terms])
    looseness = np.array([term.looseness for term in found.terms])
    ends = np.array([np.log(term.most) if term.most else 40.0 for term in found.terms])
    free = _used(found)
    roots = np.sqrt(found.weights)

    def full(part: Floats) -> Floats:
        logs = prior.copy()
        logs[free] = part
        return logs

    def residuals(part: Floats) -> Floats:
        errors = log_errors(found, predict(found, full(part)))
        parts = [WEIGHTS[metric] * np.nan_to_num(roots * errors[metric]) for metric in OBSERVED]
        return np.concatenate([*parts, _PRIOR_WEIGHT * (part - prior[free]) / looseness[free]])

    begin = (prior if start is None else start)[free]
    solved = least_squares(
        residuals,
        np.minimum(begin, ends[free] - 1e-3),
        method="dogbox",  # the reflective method stops early beside the bounds that many shares end at
        loss="soft_l1",
        f_scale=_ROBUST_FROM,
        max_nfev=most_steps,
        bounds=(np.full(len(begin), -40.0), ends[free]),
    )
    return full(solved.x)


def _used(found: Problem) -> NDArray[np.intp]:
    """The terms that some point that counts depends on; the others stay where they start."""
    import numpy as np

    counted = np.unique(found.case_of_point[found.weights > 0])
    places = [found.index[role][counted] for role in _FITTED]
    used = np.unique(np.concatenate(places))
    return used[used < len(found.terms)].astype(np.intp)
