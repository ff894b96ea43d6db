"""All that `bide curve` says of several deployments and mixes, for whoever shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bide.errors import CannotBeMet
from bide.facts.deployment import Deployment
from bide.report.curve_said import CurvesSaid, Misfit, said
from bide.simulate.operating import Load, Mix
from bide.simulate.step_tables import Steps
from bide.sourced import Assumption


def curves_said(
    curves: Iterable[tuple[Deployment, Mix]],
    loads: Sequence[Load] | None = None,
    profile: Path | None = None,
    steps: Steps = "roofline",
    explain: bool = False,
    assumptions: tuple[Assumption, ...] = (),
) -> CurvesSaid:
    """The curves, and those that have none because the model does not fit. `loads`: as for `curve_of`."""
    from bide.simulate.curve import curves_of

    asked = list(curves)
    made = curves_of(asked, loads, profile, steps)
    found = [curve for curve in made if not isinstance(curve, CannotBeMet)]
    each = zip(asked, made, strict=True)
    misfits = [Misfit(*one, str(why)) for one, why in each if isinstance(why, CannotBeMet)]
    return said(found, misfits, explained=explain, assumptions=assumptions)


def curves_dict(said: CurvesSaid) -> dict[str, Any]:
    """The keys of `bide curve --json`."""
    from bide.simulate.curve_dict import curve_dict

    on_front = [{point for curve, point in said.front if curve == number} for number in range(len(said.curves))]
    found = zip(said.names, said.curves, on_front, strict=True)
    return {
        "curves": [{"name": name, **curve_dict(curve, front)} for name, curve, front in found],
        "not_shown": [{"name": name, "reason": why} for name, why in said.misfits],
        "assumptions": [assumption.to_dict() for assumption in said.assumptions],
    }
