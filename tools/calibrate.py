"""Fit the shipped profile to calibration/points.csv, hold models and GPUs out, and write profile and report.

    python tools/calibrate.py [--quick]

Writes src/bide/physics/data/profile.json and docs/calibration.md. Takes some 15 minutes on two cores; `--quick` keeps
the spreads of the profile that is there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bide.calibrate.fit import Problem, fit, predict, problem
from bide.calibrate.points import OBSERVED, Measured, read_points
from bide.calibrate.report import Predicted, report
from bide.calibrate.terms import Term, terms
from bide.calibrate.validate import NEAR, held_out_predictions, score, spreads
from bide.physics.profile import Profile, load_profile, profile_dict
from bide.physics.reached import era
from bide.runners import processes

ROOT = Path(__file__).resolve().parent.parent
POINTS = ROOT / "calibration" / "points.csv"
PROFILE = ROOT / "src" / "bide" / "physics" / "data" / "profile.json"
REPORT = ROOT / "docs" / "calibration.md"
PROCESSES = 2
DATE = "2026-11-29"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    points = read_points(POINTS)
    found = problem(points, terms())
    logs = fit(found)
    predicted = {"in sample": predict(found, logs)}
    loops = [era(point.deployment, point.stated) for point in points]
    if quick:
        spread = load_profile(PROFILE).spread
    else:
        run = processes(PROCESSES)
        predicted["model"] = held_out_predictions(found, [p.model for p in points], run, None, 10)
        predicted["gpu"] = held_out_predictions(found, [p.gpu for p in points], run, None, 10)
        kinds = {NEAR: predicted["in sample"], "model": predicted["model"], "gpu": predicted["gpu"]}
        spread = spreads(found, kinds, loops)
        _write_predictions(predicted)
    profile = Profile("bide", DATE, {}, spread, _seen(points, loops), _summary(points, found, predicted))
    values = {t.name: _term(t, v) for t, v in zip(found.terms, logs, strict=True) if not _idle(t, v)}
    PROFILE.write_text(json.dumps(profile_dict(profile, values, source=_source(points)), indent=1) + "\n")
    if not quick:
        REPORT.write_text(report(points, found, predicted, profile, values))
    print(profile.summary)
    return 0


def _write_predictions(predicted: Predicted) -> None:
    """calibration/predictions.csv: a row for each of points.csv, with every profile's prediction."""
    columns = {f"{metric} ({kind})": values for kind, found in predicted.items() for metric, values in found.items()}
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join("" if np.isnan(v) else f"{v:.5g}" for v in row) for row in rows)]
    (ROOT / "calibration" / "predictions.csv").write_text("\n".join(lines) + "\n")


def _idle(term: Term, log: float) -> bool:
    """A GPU's own factor that no run moved."""
    return "_of." in term.name and abs(log) < 1e-12


def _term(term: Term, log: float) -> dict[str, object]:
    return {"value": float(f"{np.exp(log):.4g}"), "unit": term.unit, "started_at": term.start}


def _seen(points: Sequence[Measured], loops: Sequence[str]) -> dict[str, tuple[str, ...]]:
    fitted = [(point, loop) for point, loop in zip(points, loops, strict=True) if not point.left_out]
    return {
        "gpus": tuple(sorted({point.gpu for point, _loop in fitted})),
        "models": tuple(sorted({point.deployment.model.name for point, _loop in fitted})),
        "loops": tuple(sorted({loop for _point, loop in fitted})),
    }


def _summary(points: Sequence[Measured], found: Problem, predicted: Predicted) -> str:
    held_out = predicted.get("model", predicted["in sample"])
    counted = sum(not point.left_out for point in points)
    names = dict(zip(OBSERVED, ("TTFT", "TPOT", "E2E", "throughput"), strict=True))
    parts = [f"{names[metric]} {score(found, held_out, metric).median:.0%}" for metric in OBSERVED]
    of = "models held out" if "model" in predicted else "in sample"
    return f"{counted} measured points; median error, {of}: " + ", ".join(parts)


def _source(points: Sequence[Measured]) -> list[str]:
    return sorted({f"{point.suite}: {point.source.split(' ')[0]} ({point.licence})" for point in points})


if __name__ == "__main__":
    sys.exit(main())
