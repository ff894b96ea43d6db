"""A few terms of a profile fitted to runs of one deployment, held near what the profile had: ridge in logarithms.

Residuals are log errors over what runs repeat to; a term is held by how far other deployments were off. Fitted and
predicted by the same closed forms as the shipped profile (`calibrate.fit`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bide.calibrate.fit import Problem, log_errors, predict, problem
from bide.calibrate.points import OBSERVED, Measured
from bide.calibrate.terms import Term, terms
from bide.physics.nearness import factors
from bide.physics.profile import Profile
from bide.simulate.cases import case_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]

REPEAT = {"ttft_s": 0.08, "tpot_s": 0.03, "e2e_s": 0.03, "output_tokens_per_s": 0.03}
"""Log errors of the same run on another day: 9 in 10 within 3 % (TPOT, throughput) and 22 % (TTFT) in daily repetitions
published by InferenceX; a third more for what closed forms leave out."""
_STEP_ROLES = (
    "bandwidth_of",
    "compute_of",
    "kv",
    "attention",
    "experts",
    "latent_attention",
    "sum_s",
    "link",
    "fixed_s",
    "layer_s",
    "moe_layer_s",
    "sequence_s",
)
_FIRST_ROLES = ("prefill_layer_s", "request_s", "burst")
"""Of the first token alone."""
_SEVERAL = 2.0
"""A term is a part of the whole: it is let further off than the whole was."""
_EIGHTY = 1.2816
_ROBUST_FROM = 2.0
_LEAST = -25.0
_STEP = 1e-3
_MOVES = 1e-3
_ENOUGH, _MOST_TURNS = 1e-5, 40
_AT_END = 1e-3
"""Of a term's logarithm below its end: it begins there, for the first step of all would end at it, as short as that."""


@dataclass(frozen=True, slots=True)
class FittedTerm:
    """One term. `learned`: share of its uncertainty beforehand (as variance) that the runs took away."""

    name: str
    role: str
    before: float
    after: float
    learned: float
    unit: str


@dataclass(frozen=True, eq=False)
class OwnProblem:
    """Points, the terms that their predictions depend on, and which of those are free."""

    found: Problem
    names: tuple[str, ...]
    roles: tuple[str, ...]
    units: tuple[str, ...]
    prior: Floats
    sigma: Floats
    ends: Floats
    free: Places

    def chosen(self, rows: Places) -> OwnProblem:
        return OwnProblem(
            self.found.chosen(rows), self.names, self.roles, self.units, self.prior, self.sigma, self.ends, self.free
        )


def own_problem(points: Sequence[Measured], profile: Profile) -> OwnProblem:
    """`points` are of one deployment. Raises CannotBeMet where it does not fit or names no GPU."""
    import numpy as np

    deployment = points[0].deployment
    case = case_of(deployment, True)
    known = {term.name: term for term in terms()}
    wide = factors(profile, deployment, True)
    used = {
        role: next((name for name in names if name in profile.terms), names[0])
        for role, names in case.names.items()
        if isinstance(names, tuple)
    }
    every = {name: role for role, name in reversed(used.items())}
    list_of = [_term(name, profile, known) for name in every]
    sigma = np.array([_sigma(role, wide) for role in every.values()])
    free = np.array(
        [n for n, role in enumerate(every.values()) if role in (*_STEP_ROLES, *_FIRST_ROLES)], dtype=np.intp
    )
    return OwnProblem(
        problem(points, list_of),
        tuple(every),
        tuple(every.values()),
        tuple(term.unit for term in list_of),
        np.log([term.start for term in list_of]),
        sigma,
        np.array([np.log(term.most) if term.most else 40.0 for term in list_of]),
        free,
    )


def _term(name: str, profile: Profile, known: Mapping[str, Term]) -> Term:
    """Beginning at the profile's value."""
    start = profile.terms.get(name, 1.0)
    term = known.get(name)
    most = term.most if term is not None else None
    return Term(name, start, None if most is None else max(most, start), 1.0, term.unit if term else "factor")


def _sigma(role: str, wide: Mapping[str, tuple[float, float]]) -> float:
    """Of a term's logarithm beforehand: from the spread of other deployments' errors."""
    import math

    low, high = wide["ttft_s" if role in _FIRST_ROLES else "tpot_s"]
    return max(0.05, _SEVERAL * math.log(high / low) / 2 / _EIGHTY)


def fit_own(own: OwnProblem, start: Floats | None = None) -> Floats:
    """Logarithms of all terms, those that are not free or that nothing depends on where they were."""
    import numpy as np
    from scipy.optimize import least_squares

    moving = _moving(own)
    begin = (own.prior if start is None else start)[moving.free]
    ends = np.maximum(own.ends[moving.free], own.prior[moving.free])
    solved = least_squares(
        lambda part: _residuals(moving, part),
        np.where(begin > ends - _AT_END, ends, begin),
        method="dogbox",
        loss="soft_l1",
        f_scale=_ROBUST_FROM,
        ftol=_ENOUGH,
        xtol=_ENOUGH,
        max_nfev=_MOST_TURNS,
        bounds=(np.full(len(begin), _LEAST), ends),
    )
    return _full(moving, solved.x)


def _moving(own: OwnProblem) -> OwnProblem:
    """With those terms free alone that move a prediction by a thousandth of what runs repeat to, or more."""
    import numpy as np

    slopes = np.abs(_slopes(own, own.prior[own.free])) * own.sigma[own.free]
    moves = slopes.max(axis=0, initial=0.0) > _MOVES
    return replace(own, free=own.free[moves])


def _full(own: OwnProblem, part: Floats) -> Floats:
    logs = own.prior.copy()
    logs[own.free] = part
    return logs


def _residuals(own: OwnProblem, part: Floats) -> Floats:
    import numpy as np

    held = (part - own.prior[own.free]) / own.sigma[own.free]
    return np.concatenate([_data(own, part), held])


def _data(own: OwnProblem, part: Floats) -> Floats:
    """Log errors over what repeats; nothing where nothing was measured."""
    import numpy as np

    errors = log_errors(own.found, predict(own.found, _full(own, part)))
    return np.concatenate([np.nan_to_num(errors[metric]) / REPEAT[metric] for metric in OBSERVED])


def learned(own: OwnProblem, logs: Floats) -> Floats:
    """1 - variance afterwards / variance beforehand, of each free term, with the errors taken as normal."""
    import numpy as np

    scaled = _slopes(own, logs[own.free]) * own.sigma[own.free]
    after = np.linalg.inv(scaled.T @ scaled + np.eye(len(own.free)))
    return np.asarray(np.clip(1 - np.diag(after), 0.0, 1.0))


def _slopes(own: OwnProblem, part: Floats) -> Floats:
    """Of the data's residuals, by free term."""
    import numpy as np

    base = _data(own, part)
    slopes = np.zeros((len(base), len(part)))
    for place in range(len(part)):
        moved = part.copy()
        moved[place] += _STEP
        slopes[:, place] = (_data(own, moved) - base) / _STEP
    return slopes


def fitted_terms(own: OwnProblem, logs: Floats) -> tuple[FittedTerm, ...]:
    """Of the free terms, those that the runs said most about first."""
    import numpy as np

    shares = learned(own, logs)
    found = [
        FittedTerm(
            own.names[place],
            own.roles[place],
            float(np.exp(own.prior[place])),
            float(np.exp(logs[place])),
            float(share),
            own.units[place],
        )
        for place, share in zip(own.free.tolist(), shares.tolist(), strict=True)
    ]
    return tuple(sorted(found, key=lambda term: -term.learned))


def predictions(own: OwnProblem, logs: Floats) -> dict[str, Floats]:
    """Each metric of each point."""
    return predict(own.found, logs)
