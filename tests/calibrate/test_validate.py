"""Held-out errors: no fold sees what it is judged by, and intervals hold what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bide.calibrate import validate
from bide.calibrate.fit import Problem, predict, problem
from bide.calibrate.points import OBSERVED
from bide.calibrate.validate import coverage, held_out_predictions, score, spreads
from bide.runners import serial
from planted_terms import Floats, Planted


def test_no_fold_is_fitted_to_the_points_that_it_predicts(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[set[tuple[float, ...]]] = []

    def seen(found: Problem) -> set[tuple[float, ...]]:
        return set(zip(*(found.observed[metric].tolist() for metric in OBSERVED), strict=True))

    def fit(found: Problem, start: Floats | None, most_steps: int) -> Floats:
        fitted.append(seen(found))
        return planted.logs

    monkeypatch.setattr(validate, "fit", fit)
    groups = [point.model for point in planted.points]
    held_out_predictions(planted.problem, groups, serial, None, 5)
    for name, used in zip(sorted(set(groups)), fitted, strict=True):
        own = np.flatnonzero([group == name for group in groups])
        assert used.isdisjoint(seen(planted.problem.chosen(own)))
        assert len(used) == len(groups) - len(own)


def test_what_is_held_out_cannot_change_its_own_prediction(planted: Planted) -> None:
    groups = [point.gpu for point in planted.points]
    ruined = [
        replace(p, observed={m: 5 * v for m, v in p.observed.items()}) if p.gpu == "l4" else p for p in planted.points
    ]
    before = held_out_predictions(planted.problem, groups, serial, planted.logs, 2)
    after = held_out_predictions(problem(ruined, planted.terms), groups, serial, planted.logs, 2)
    rows = np.array([group == "l4" for group in groups])
    for metric in OBSERVED:
        assert after[metric][rows] == pytest.approx(before[metric][rows])
        assert not np.allclose(after[metric][~rows], before[metric][~rows], rtol=1e-6)


def off_by(planted: Planted, factors: Floats) -> dict[str, Floats]:
    """Predictions that are `factors` times what was measured."""
    return {metric: values * factors for metric, values in predict(planted.problem, planted.logs).items()}


def test_a_score_by_hand(planted: Planted) -> None:
    # of 54 points half are 10 % over and half 30 % under
    factors = np.where(np.arange(54) % 2, 1.1, 0.7)
    found = score(planted.problem, off_by(planted, factors), "tpot_s")
    assert (found.points, found.p90) == (54, pytest.approx(0.3))
    assert found.median == pytest.approx(0.2)
    assert found.bias == pytest.approx(-0.1)
    odd = score(planted.problem, off_by(planted, factors), "tpot_s", np.arange(54) % 2 == 1)
    assert (odd.points, odd.median, odd.bias) == (27, pytest.approx(0.1), pytest.approx(0.1))
    none = score(planted.problem, off_by(planted, factors), "tpot_s", np.zeros(54, dtype=bool))
    assert none.points == 0
    assert np.isnan(none.median)


def test_spreads_hold_80_percent_of_measured_over_predicted(planted: Planted) -> None:
    factors = np.exp(np.linspace(-1, 0.5, 54))
    made = spreads(planted.problem, {"model": off_by(planted, factors)}, ["vllm-v1"] * 54)
    spread = made["model"]
    held = [spread.low["tpot_s"] <= -np.log(factor) <= spread.high["tpot_s"] for factor in factors]
    assert 0.78 <= np.mean(held) <= 0.9
    # measured / predicted: where predictions are low the measured are high
    assert spread.high["tpot_s"] > 0.5
    assert spread.low["tpot_s"] > -0.5


def test_an_engine_with_few_points_gets_the_general_spread(planted: Planted) -> None:
    loops = ["sglang"] * 10 + ["vllm-v1"] * 44
    factors = np.concatenate((np.full(10, 2.0), np.exp(np.linspace(-0.1, 0.1, 44))))
    made = spreads(planted.problem, {"gpu": off_by(planted, factors)}, loops)
    assert made["gpu/sglang"] == made["gpu"]
    assert made["gpu/vllm-v1"].high["tpot_s"] - made["gpu/vllm-v1"].low["tpot_s"] < 0.2
    assert made["gpu"].low["tpot_s"] < -0.2


def test_coverage_judges_each_group_by_the_errors_of_the_others(planted: Planted) -> None:
    rng = np.random.default_rng(1)
    alike = off_by(planted, np.exp(rng.normal(0, 0.2, 54)))
    groups = [point.gpu for point in planted.points]
    fair = coverage(planted.problem, alike, groups, ["vllm-v1"] * 54)["tpot_s"]
    assert 0.65 <= fair.share <= 0.95
    assert 1.4 < fair.width < 2.5
    # one GPU is far off: none of its points lie in what the others' errors say
    factors = np.where(np.array(groups) == "l4", 3.0, 1.0)
    apart = coverage(planted.problem, off_by(planted, factors), groups, ["vllm-v1"] * 54)["tpot_s"]
    assert apart.share == pytest.approx(2 / 3)
