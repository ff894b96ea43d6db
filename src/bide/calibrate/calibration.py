"""`bide.calibrate`: measured runs of one deployment to a profile of it, with how far off that is on loads left out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from bide.bench.formats.reading import read_runs
from bide.bench.formats.values import Run
from bide.calibrate import replay
from bide.calibrate.doubts import doubts
from bide.calibrate.law_fit import FittedLaw, fit_law, law_points
from bide.calibrate.left_out import left_out_predictions, own_spread
from bide.calibrate.log_rows import pool_bytes_of
from bide.calibrate.logs import EngineLog, read_log
from bide.calibrate.naming import named
from bide.calibrate.own_fit import FittedTerm, fit_own, fitted_terms, own_problem, predictions
from bide.calibrate.points import OBSERVED, Measured
from bide.calibrate.runs import LeftOut, Usable, judged, sorted_out
from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.facts.gpus import UNLISTED
from bide.i18n import _
from bide.physics.own import Own, identity, pool_identity, with_own_pool
from bide.physics.profile import Profile, load_profile, profile_dict
from bide.simulate.cases import case_of, reached_of
from bide.simulate.replica_setup import ReplicaSetup, setup_of_case

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

StepLawKind = Literal["roofline", "affine"]


@dataclass(frozen=True, slots=True, eq=False)
class PointFit:
    """One run beside its predictions. NaN: the profile it began with has none for this hardware."""

    used: Usable
    before: Mapping[str, float]
    after: Mapping[str, float]
    left_out: Mapping[str, float]
    """By a fit that had not seen its level of load."""

    @property
    def point(self) -> Measured:
        return self.used.point


@dataclass(frozen=True, eq=False)
class Calibration:
    """A fitted profile and what it rests on. Without runs it holds the pool of a log alone."""

    deployment: Deployment
    profile: Profile
    base: Profile
    points: tuple[PointFit, ...] = ()
    unused: tuple[LeftOut, ...] = ()
    terms: tuple[FittedTerm, ...] = ()
    law: FittedLaw | None = None
    replayed: int = 0
    """Runs of a fitted law that were judged by playing their requests through the simulator; the others by the closed
    forms."""
    log: EngineLog | None = None
    warnings: tuple[str, ...] = ()

    def error(self, which: Literal["before", "after", "left_out"], metric: str) -> float | None:
        """The median of |predicted / measured - 1| over the runs; None where nothing was measured or predicted."""
        pairs = [(getattr(each, which).get(metric), each.point.observed.get(metric)) for each in self.points]
        errors = [abs(guess / seen - 1) for guess, seen in pairs if guess and seen and math.isfinite(guess)]
        return median(errors) if errors else None

    @property
    def measured_metrics(self) -> tuple[str, ...]:
        return tuple(m for m in OBSERVED if any(m in each.point.observed for each in self.points))

    def to_dict(self) -> dict[str, Any]:
        from bide.calibrate.as_dict import calibration_dict

        return calibration_dict(self)

    def save(self, path: Path) -> None:
        """The profile, for `--profile` and BIDE_PROFILE. Raises BadInput where it cannot be written."""
        made = self.profile
        terms = {name: {"value": value} for name, value in made.terms.items()}
        text = json.dumps(profile_dict(made, terms, began_with=self.base.name), indent=1, allow_nan=False)
        try:
            path.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise BadInput("save", str(path), _("a file that can be written"), str(error.strerror)) from error


def calibrate(
    results: Sequence[Path | str | Run],
    deployment: Deployment,
    *,
    profile: Path | None = None,
    step_law: StepLawKind = "roofline",
    log: Path | str | EngineLog | None = None,
    force: bool = False,
    name: str = "",
) -> Calibration:
    """Fit a profile to measured runs of `deployment`: files of any known client, or runs.

    `force`: use runs that there are doubts about too. Raises BadInput for files that cannot be read, CannotBeMet where
    no run can be used.
    """
    if step_law not in ("roofline", "affine"):
        raise BadInput("step_law", step_law, _("roofline or affine"))
    base = replace(load_profile(profile), own=None)
    read = log if isinstance(log, EngineLog) or log is None else read_log(Path(log))
    own = Own(identity(deployment), {}, {}, pool_of=pool_identity(deployment))
    if read is not None:
        own = replace(own, pool_bytes_per_gpu=pool_bytes_of(read, deployment))
    runs = [run for each in results for run in ([each] if isinstance(each, Run) else read_runs(Path(each)))]
    if not runs:
        return _of_log(deployment, base, own, read, name)
    served = with_own_pool(deployment, own, _("of the log"))
    usable, unused = sorted_out(runs, served, force)
    if not usable:
        raise CannotBeMet(_why_none(unused))
    made = _fitted(usable, base, own, step_law)
    warnings = tuple(doubts(made, usable))
    return replace(
        made,
        deployment=deployment,
        profile=named(made.profile, deployment, [each.point for each in usable], name),
        unused=tuple(unused),
        log=read,
        warnings=warnings,
    )


def _of_log(deployment: Deployment, base: Profile, own: Own, read: EngineLog | None, name: str) -> Calibration:
    """Nothing but what the log says."""
    if read is None:
        raise BadInput("results", None, _("a measured run, or --log"))
    return Calibration(deployment, named(replace(base, own=own), deployment, [], name), base, log=read)


def _why_none(unused: Sequence[LeftOut]) -> str:
    lines = [f"{each.run.source} ({each.run.name}): " + "; ".join(each.reasons) for each in unused]
    return _("no run can be used ({why}); --force uses those that have figures").format(why=" | ".join(lines[:3]))


def _fitted(usable: Sequence[Usable], base: Profile, own: Own, step_law: StepLawKind) -> Calibration:
    """The fit, its predictions before and after, those of levels left out, and the spread."""
    points = [each.point for each in usable]
    if step_law == "affine":
        return _fitted_law(usable, points, base, own)
    case = case_of(points[0].deployment, True)
    reached_of(base, case)  # raises for hardware that has no roofline
    problem = own_problem(points, base)
    logs = fit_own(problem)

    def without(rows: NDArray[np.intp], rest: NDArray[np.intp]) -> Mapping[str, Floats]:
        return predictions(problem.chosen(rows), fit_own(problem.chosen(rest), logs))

    found, held_out = fitted_terms(problem, logs), left_out_predictions(points, without)
    terms = {term.name: term.after for term in found}
    made = replace(base, own=replace(own, terms=terms, spread=own_spread(_judged(usable), held_out)))
    columns = (predictions(problem, problem.prior), predictions(problem, logs), held_out)
    return Calibration(points[0].deployment, made, base, _point_fits(usable, *columns), terms=found)


def _fitted_law(usable: Sequence[Usable], points: Sequence[Measured], base: Profile, own: Own) -> Calibration:
    runs, whole = [each.run for each in usable], _judged(usable)
    found = fit_law(points, runs)

    def without(rows: NDArray[np.intp], rest: NDArray[np.intp]) -> Mapping[str, Floats]:
        kept = [int(row) for row in rest]
        law = fit_law([points[row] for row in kept], [runs[row] for row in kept], quick=True).law
        some, theirs = [whole[int(row)] for row in rows], [runs[int(row)] for row in rows]
        made = replace(base, own=replace(own, law=law))
        return replay.predictions(some, theirs, lambda: _setup(points, made), law_points(law, some))

    held_out = left_out_predictions(points, without)
    made = replace(base, own=replace(own, law=found.law, spread=own_spread(whole, held_out)))
    after = replay.predictions(points, runs, lambda: _setup(points, made), law_points(found.law, points))
    fits = _point_fits(usable, _before(points, runs, base), after, held_out)
    played = sum(replay.is_listed(run) for run in runs)
    return Calibration(points[0].deployment, made, base, fits, law=found, replayed=played)


def _judged(usable: Sequence[Usable]) -> list[Measured]:
    """The points with all that was measured: an interval is wanted of what no fit compares too."""
    return [replace(each.point, observed=judged(each.run)) for each in usable]


def _setup(points: Sequence[Measured], profile: Profile) -> ReplicaSetup:
    return setup_of_case(case_of(points[0].deployment, True), profile)


def _before(points: Sequence[Measured], runs: Sequence[Run], base: Profile) -> Mapping[str, Floats]:
    """What the profile said at first; nothing for hardware that no catalogue knows."""
    import numpy as np

    gpu = points[0].deployment.gpu
    if gpu is None or gpu.id == UNLISTED:
        return {metric: np.full(len(points), np.nan) for metric in OBSERVED}
    problem = own_problem(points, base)
    return replay.predictions(points, runs, lambda: _setup(points, base), predictions(problem, problem.prior))


def _point_fits(
    usable: Sequence[Usable], before: Mapping[str, Floats], after: Mapping[str, Floats], held_out: Mapping[str, Floats]
) -> tuple[PointFit, ...]:
    def row(columns: Mapping[str, Floats], place: int) -> dict[str, float]:
        return {metric: float(values[place]) for metric, values in columns.items()}

    return tuple(
        PointFit(each, row(before, place), row(after, place), row(held_out, place)) for place, each in enumerate(usable)
    )
