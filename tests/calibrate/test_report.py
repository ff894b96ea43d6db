"""The page that a calibration writes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from bide.calibrate.fit import predict, problem
from bide.calibrate.report import report
from bide.calibrate.validate import spreads
from bide.physics.profile import Profile
from planted_terms import Planted


def test_the_page_has_every_error_by_every_group(planted: Planted) -> None:
    points = [replace(planted.points[0], left_out="too odd"), *planted.points[1:]]
    found = problem(points, planted.terms)
    exact = predict(found, planted.logs)
    high = {metric: 1.1 * values for metric, values in exact.items()}
    predicted = {"in sample": exact, "model": high, "gpu": high}
    spread = spreads(found, {"near": exact, "model": high, "gpu": high}, ["vllm-v1"] * len(points))
    profile = Profile("made", "2026-01-02", {}, spread, {}, "54 points")
    terms = {"bandwidth.hopper": {"value": 0.62, "unit": "share", "started_at": 0.8}}
    page = report(points, found, predicted, profile, terms)
    # all held-out predictions are 10 % over
    assert "| models held out | 10.0% / 10% (+10%; 54) |" in page
    assert "| in sample | 0.0% / 0% (" in page
    assert "| l4 | 10.0% / 10% (+10%; 18) |" in page
    assert "| Llama-3.1-8B | 10.0% / 10% (+10%; 27) |" in page
    assert "| model | 0.91 to 0.91 |" in page
    assert "| bandwidth.hopper | 0.62 | 0.8 | share |" in page
    assert "- made, 1 points: too odd" in page
    assert "2026-01-02; do not edit. 54 points." in page


def test_tables_are_whole(planted: Planted) -> None:
    exact = predict(planted.problem, planted.logs)
    predicted = {"in sample": exact, "model": exact, "gpu": exact}
    spread = spreads(planted.problem, predicted, ["vllm-v1"] * 54)
    page = report(planted.points, planted.problem, predicted, Profile("made", "", {}, spread, {}, ""), {})
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert "nan" not in page
    assert np.isfinite(exact["tpot_s"]).all()
