"""A calibration as the dictionary that `bide calibrate --json` prints."""

from __future__ import annotations

import math
from typing import Any

from bide.calibrate.calibration import Calibration, PointFit
from bide.calibrate.log_rows import log_dict
from bide.calibrate.points import OBSERVED
from bide.calibrate.runs import LeftOut
from bide.figures import number


def calibration_dict(made: Calibration) -> dict[str, Any]:
    """Deployment, runs with measured and predicted, terms or law, interval, runs left out and why, warnings."""
    own = made.profile.own
    assert own is not None
    return {
        "profile": {"name": made.profile.name, "date": made.profile.date, "began_with": made.base.name},
        "deployment": dict(own.of),
        "runs": [point_dict(each) for each in made.points],
        "errors": {
            which: {metric: made.error(which, metric) for metric in made.measured_metrics}
            for which in ("before", "after", "left_out")
        },
        "interval": {metric: [math.exp(low), math.exp(high)] for metric, (low, high) in own.spread.items()},
        "terms": [
            {"name": t.name, "before": t.before, "after": t.after, "learned": round(t.learned, 3), "unit": t.unit}
            for t in made.terms
        ],
        "law": None
        if made.law is None
        else {
            **made.law.law.to_dict(),
            "relative_error": {name: number(value) for name, value in made.law.relative_error.items()},
            "requests_played": made.law.played,
            "runs_replayed": made.replayed,
        },
        "log": log_dict(made.log, made.deployment) if made.log else None,
        "unused": [unused_dict(each) for each in made.unused],
        "warnings": list(made.warnings),
    }


def point_dict(each: PointFit) -> dict[str, Any]:
    point, run = each.point, each.used.run
    return {
        "source": run.source,
        "tool": run.tool,
        "load": {point.load.kind: point.load.value},
        "requests": run.completed,
        "prompt_tokens": point.mix.prompt_tokens,
        "output_tokens": point.mix.output_tokens,
        "metrics": {
            metric: {
                "measured": point.observed[metric],
                "before": number(each.before.get(metric)),
                "after": number(each.after.get(metric)),
                "left_out": number(each.left_out.get(metric)),
            }
            for metric in OBSERVED
            if metric in point.observed
        },
        "notes": list(each.used.notes),
    }


def unused_dict(each: LeftOut) -> dict[str, Any]:
    return {"source": each.run.source, "tool": each.run.tool, "load": each.run.name, "reasons": list(each.reasons)}
