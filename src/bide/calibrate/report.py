"""What a calibration found, as Markdown: the terms, and the errors by suite, GPU, weights and engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bide.calibrate.fit import Problem
from bide.calibrate.points import OBSERVED, Measured
from bide.calibrate.validate import coverage, score
from bide.physics.profile import Profile
from bide.physics.reached import era

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Predicted = Mapping[str, Mapping[str, "Floats"]]
_HELD_OUT = {"model": "models held out", "gpu": "GPUs held out", "in sample": "in sample"}
_GROUPS: dict[str, Callable[[Measured], str]] = {
    "suite": lambda point: point.suite,
    "GPU": lambda point: point.gpu,
    "weights": lambda point: point.deployment.weights,
    "engine": lambda point: era(point.deployment, point.stated),
    "load": lambda point: point.load.kind,
    "model": lambda point: point.model,
}


def report(
    points: Sequence[Measured],
    found: Problem,
    predicted: Predicted,
    profile: Profile,
    terms: Mapping[str, Mapping[str, object]],
) -> str:
    """The page docs/calibration.md."""
    import numpy as np

    every = np.ones(len(points), dtype=bool)
    lines = [
        "# Calibration of the shipped profile",
        "",
        f"Written by `tools/calibrate.py` on {profile.date}; do not edit. {profile.summary}.",
        "",
        "Points: `calibration/points.csv` (each with its source and licence; figures only). Predictions of every fold:",
        "`calibration/predictions.csv`. Model, formula and terms: [step-times.md](step-times.md).",
        "",
        "A cell is median / 90th percentile of |predicted / measured - 1|, and the bias in brackets.",
        "",
        "## All points",
        "",
        *_table(
            "profile", {_HELD_OUT[kind]: (kind, every) for kind in _HELD_OUT if kind in predicted}, found, predicted
        ),
    ]
    if "model" in predicted:
        lines += ["", "## Intervals", "", *_intervals(points, found, predicted)]
    for title, group in _GROUPS.items():
        names = np.array([group(point) for point in points])
        rows = {str(name): ("model", names == name) for name in sorted(set(names))}
        lines += ["", f"## Models held out, by {title}", "", *_table(title, rows, found, predicted)]
    lines += ["", "## 80 % of measured / predicted lie in", "", *_spreads(profile)]
    lines += ["", "## Terms", "", "| term | value | began at | unit |", "|---|---:|---:|---|"]
    lines += [f"| {name} | {term['value']} | {term['started_at']} | {term['unit']} |" for name, term in terms.items()]
    lines += ["", "## Left out of the fit (not of the errors above)", "", *_left_out(points)]
    return "\n".join(lines) + "\n"


def _left_out(points: Sequence[Measured]) -> list[str]:
    counts = Counter((point.suite, point.left_out) for point in points if point.left_out)
    return [f"- {suite}, {count} points: {why}" for (suite, why), count in sorted(counts.items())]


def _table(
    title: str, rows: Mapping[str, tuple[str, NDArray[np.bool_]]], found: Problem, predicted: Predicted
) -> list[str]:
    lines = [f"| {title} | " + " | ".join(OBSERVED) + " |", "|---" * (len(OBSERVED) + 1) + "|"]
    for name, (kind, chosen) in rows.items():
        cells = [_cell(found, predicted[kind], metric, chosen) for metric in OBSERVED]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def _intervals(points: Sequence[Measured], found: Problem, predicted: Predicted) -> list[str]:
    """Coverage by metric, every group's interval made from the held-out errors of the other groups."""
    loops = [era(point.deployment, point.stated) for point in points]
    lines = [
        "How often an interval of 80 % held what was measured, each made from the held-out errors of the other models",
        "(GPUs), and its median width (upper end over lower end).",
        "",
        "| held out | " + " | ".join(OBSERVED) + " |",
        "|---" * (len(OBSERVED) + 1) + "|",
    ]
    for kind, name in (("model", "model"), ("gpu", "GPU")):
        covered = coverage(found, predicted[kind], [_GROUPS[name](point) for point in points], loops)
        cells = [f"{covered[m].share:.0%}, {covered[m].width:.2f} x" for m in OBSERVED]
        lines.append(f"| {name}s | " + " | ".join(cells) + " |")
    return lines


def _cell(found: Problem, predicted: Mapping[str, Floats], metric: str, rows: NDArray[np.bool_]) -> str:
    off = score(found, predicted, metric, rows)
    if not off.points:
        return "-"
    return f"{off.median:.1%} / {off.p90:.0%} ({off.bias:+.0%}; {off.points})"


def _spreads(profile: Profile) -> list[str]:
    lines = ["| case | " + " | ".join(OBSERVED) + " |", "|---" * (len(OBSERVED) + 1) + "|"]
    from math import exp

    for name, spread in profile.spread.items():
        cells = [f"{exp(spread.low[metric]):.2f} to {exp(spread.high[metric]):.2f}" for metric in OBSERVED]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines
