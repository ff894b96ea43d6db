"""A free step law fitted to runs: fixed + token x scheduled + KV token x read + sequence x sequences.

By the closed forms on the runs' means where a result has nothing else. Where requests are listed, by counting who
shared how many steps with whom (`law_counts`), and then by playing the very same requests through the simulator until
their times come out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.bench.formats.values import Run
from bide.calibrate.law_counts import Equations, equations_of
from bide.calibrate.law_play import early_s, play_errors, play_of
from bide.calibrate.own_fit import REPEAT
from bide.calibrate.points import OBSERVED, Measured
from bide.errors import BadInput
from bide.i18n import _
from bide.physics.own import StepLaw
from bide.physics.steptime import StepTable, stacked
from bide.records import RequestTable
from bide.simulate.cases import Case, case_of, mix_columns
from bide.simulate.operating import Mix
from bide.simulate.pace import Replicas
from bide.simulate.replica_setup import scheduler_config
from bide.simulate.solved import SOLVERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

    Residuals = Callable[[Floats], Floats]

FIELDS = tuple(StepLaw.__dataclass_fields__)
_ROBUST_FROM = 0.1
_STEPS = (0.1, 0.03)
"""Of a coefficient's scale, for slopes, one after the other: times of a simulation are not smooth close by."""
_LEAST_START = 1e-3
_SUREST = 1e-3
"""Standard deviation of residuals, at least: clocks and rounding."""
_FAR = 10.0
"""Log error of what has no finite prediction."""
_STARTS = (0.5, 0.1)
"""Shares of a step that each coefficient makes up at the start."""


@dataclass(frozen=True, slots=True)
class FittedLaw:
    """A law, and how sure each coefficient of it is."""

    law: StepLaw
    relative_error: dict[str, float]
    """By coefficient: one standard error over its value; infinite where the runs say nothing of it."""
    played: int
    """Requests that were played through the simulator; 0 where means alone were fitted."""


def fit_law(points: Sequence[Measured], runs: Sequence[Run], quick: bool = False) -> FittedLaw:
    """The law of the deployment of `points`; `runs` are what these were made of. `quick`: nothing is played.

    Raises BadInput for a replica of several engines, whose steps no result tells apart.
    """
    case = case_of(points[0].deployment, True)
    if case.batches > 1:
        raise BadInput("step_law", "affine", _("a replica with one engine (dp and pp 1)"))
    tables = [run.table for run in runs if run.table is not None]
    deployment = case.deployment
    counted = equations_of(tables, deployment.max_num_batched_tokens, deployment.async_scheduling) if tables else None
    begin = counted.solved() if counted is not None else None
    if counted is None or begin is None:
        return _by_means(points, case)
    if quick:
        return FittedLaw(begin, {}, 0)
    return _by_requests(tables, counted.without_outliers(begin), begin, case, _scales(points))


def law_points(law: StepLaw, points: Sequence[Measured]) -> dict[str, Floats]:
    """Each metric of each point, by the closed forms."""
    case = case_of(points[0].deployment, True)
    return _closed_forms(law, points, case)


def _closed_forms(law: StepLaw, points: Sequence[Measured], case: Case) -> dict[str, Floats]:
    import numpy as np

    stack = _replicas(law.table(case.cache, case.deployment.max_num_batched_tokens), law.request_s, points, case)
    result = {metric: np.full(len(points), np.nan) for metric in OBSERVED}
    for kind, solver in SOLVERS.items():
        rows = np.array([row for row, point in enumerate(points) if point.load.kind == kind], dtype=np.intp)
        if not len(rows):
            continue
        states = solver(stack.chosen(rows), np.array([points[row].load.value for row in rows]))
        outputs = np.array([points[row].mix.output_tokens for row in rows])
        result["ttft_s"][rows], result["tpot_s"][rows] = states.ttft_s, states.tpot_s
        result["e2e_s"][rows] = states.e2e_s
        result["output_tokens_per_s"][rows] = states.requests_per_s * outputs
    return result


def _replicas(table: StepTable, request_s: float, points: Sequence[Measured], case: Case) -> Replicas:
    """One row a point; clients of a closed loop begin spread out, so that none are in step."""
    import numpy as np

    columns = mix_columns([case] * len(points), [point.mix for point in points])
    still = np.zeros(len(points))
    return Replicas(
        table=stacked([table] * len(points)),
        **columns,
        request_s=np.full(len(points), request_s),
        burst=still,
        bunching_scale=still + 1.0,
        bunching_power=still + 1.0,
    )


def _scales(points: Sequence[Measured]) -> Floats:
    """By coefficient: what would make up the whole of a typical step, so that all are of the order of 1."""
    import numpy as np

    def typical(values: list[float]) -> float:
        return float(np.exp(np.mean(np.log(values))))

    step_s = typical([p.observed.get("tpot_s") or p.observed.get("e2e_s", 1.0) / p.mix.output_tokens for p in points])
    first_s = typical([p.observed.get("ttft_s", step_s) for p in points])
    prompt, context = (typical([of(p.mix) for p in points]) for of in (_prompt_tokens, _context_tokens))
    running = typical([max(1.0, p.load.value if p.load.kind == "concurrency" else 4.0) for p in points])
    return np.array([step_s, step_s / prompt, step_s / (running * context), step_s / running, first_s])


def _prompt_tokens(mix: Mix) -> float:
    return max(mix.prompt_tokens, 1.0)


def _context_tokens(mix: Mix) -> float:
    return mix.prompt_tokens + mix.output_tokens / 2


def _law(part: Floats, scales: Floats) -> StepLaw:
    values = dict(zip(FIELDS, (part * scales).tolist(), strict=True))
    return StepLaw(**{**values, "fixed_s": max(values["fixed_s"], 1e-9)})


def _by_means(points: Sequence[Measured], case: Case) -> FittedLaw:
    """The best of several starts: with few points the slopes of one may lead nowhere."""
    import numpy as np

    scales = _scales(points)

    def data(part: Floats) -> Floats:
        predicted = _closed_forms(_law(part, scales), points, case)
        errors = [
            np.log(float(predicted[metric][row]) / value) / (REPEAT[metric] / REPEAT["tpot_s"])
            if np.isfinite(predicted[metric][row])
            else _FAR
            for row, point in enumerate(points)
            for metric, value in point.observed.items()
        ]
        return np.array(errors)

    tried = [_solved(data, np.full(len(FIELDS), share)) for share in _STARTS]
    best = min(tried, key=lambda part: float((data(part) ** 2).sum()))
    return FittedLaw(_law(best, scales), _errors_of(data, best), 0)


def _solved(data: Residuals, begin: Floats, step: float = _STEPS[-1]) -> Floats:
    """Coefficients from 0 on."""
    import numpy as np
    from scipy.optimize import least_squares

    solved = least_squares(
        data,
        np.maximum(begin, _LEAST_START),
        jac=lambda part: _slopes(data, part, step),
        method="dogbox",  # the reflective method crawls where a coefficient begins near 0
        loss="soft_l1",
        f_scale=_ROBUST_FROM,
        max_nfev=60,
        bounds=(np.zeros(len(begin)), np.full(len(begin), np.inf)),
    )
    return np.asarray(solved.x)


def _slopes(data: Residuals, part: Floats, step: float) -> Floats:
    """By central differences, one-sided at 0."""
    import numpy as np

    columns = []
    for place in range(len(part)):
        up, down = part.copy(), part.copy()
        up[place] += step
        down[place] = max(0.0, down[place] - step)
        columns.append((data(up) - data(down)) / (up[place] - down[place]))
    return np.array(columns).T


def _errors_of(data: Residuals, part: Floats) -> dict[str, float]:
    """Standard errors of a least-squares fit over the coefficients; infinite where these are nothing."""
    import numpy as np

    slopes, left = _slopes(data, part, _STEPS[-1]), data(part)
    free = max(1, len(left) - len(part))
    variance = max(float((left**2).sum()) / free, _SUREST**2)
    spread = np.sqrt(np.diag(np.linalg.pinv(slopes.T @ slopes + 1e-12 * np.eye(len(part)))) * variance)
    share = np.where(part > 1e-4, spread / np.maximum(part, 1e-12), np.inf)
    return dict(zip(FIELDS, share.tolist(), strict=True))


def _by_requests(
    tables: Sequence[RequestTable], counted: Equations, begin: StepLaw, case: Case, scales: Floats
) -> FittedLaw:
    """Least squares of the log errors of every request's TTFT and TPOT as played, together with what was counted.

    Each run weighs as much as another. Playing has the waits right and counting the composition of steps, on which
    a play a step out of phase is blurred.
    """
    import numpy as np

    config = scheduler_config(case)
    plays = [play for table in tables if (play := play_of(table, config)) is not None]
    if not plays:
        return FittedLaw(begin, dict.fromkeys(FIELDS, float("inf")), 0)

    def data(part: Floats) -> Floats:
        law = _law(part, scales)
        return np.concatenate([*(play_errors(play, law, config) for play in plays), counted.errors(part * scales)])

    part = np.array([getattr(begin, name) for name in FIELDS]) / scales
    for step in _STEPS:
        part = _solved(data, part, step)
    part[-1] = max(0.0, part[-1] + early_s(plays, _law(part, scales), config) / scales[-1])
    return FittedLaw(_law(part, scales), _errors_of(data, part), sum(len(play.sent_s) for play in plays))
