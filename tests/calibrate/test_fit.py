"""A fit finds again what was planted, and takes no notice of what is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bide.calibrate.fit import fit, log_errors, predict, problem
from bide.calibrate.points import OBSERVED
from bide.calibrate.terms import FAMILIES, terms
from bide.facts.gpus import all_gpus
from bide.physics.profile import load_profile
from bide.simulate.curve import points as points_of
from bide.simulate.operating import Mix
from planted_terms import PLANTED, Planted, measured


def test_planted_terms_are_found_again(planted: Planted) -> None:
    found = np.exp(fit(planted.problem, most_steps=30))
    for term, value in zip(planted.terms, found, strict=True):
        if term.name in PLANTED:
            assert value == pytest.approx(PLANTED[term.name], rel=0.06)
        else:
            assert value == pytest.approx(term.start, rel=0.03)


def test_outliers_hardly_move_a_fit(planted: Planted) -> None:
    # one point in eighteen is three times off
    odd = [
        replace(point, observed={name: 3 * value for name, value in point.observed.items()}) if row % 18 == 5 else point
        for row, point in enumerate(planted.points)
    ]
    names = [term.name for term in planted.terms]
    found = np.exp(fit(problem(odd, planted.terms), most_steps=30))
    assert found[names.index("bandwidth.hopper")] == pytest.approx(PLANTED["bandwidth.hopper"], rel=0.05)


def test_points_that_are_left_out_do_not_count(planted: Planted) -> None:
    ruined = [replace(p, left_out="ruined", observed=dict.fromkeys(OBSERVED, 1e3)) for p in planted.points[:9]]
    with_them = fit(problem([*planted.points[9:], *ruined], planted.terms), planted.logs, most_steps=5)
    without = fit(problem(planted.points[9:], planted.terms), planted.logs, most_steps=5)
    assert with_them == pytest.approx(without)


def test_shares_stay_within_their_bounds(planted: Planted) -> None:
    # as if everything were ten times as fast as it can be
    fast = [
        replace(p, observed={m: v * (10 if m == "output_tokens_per_s" else 0.1) for m, v in p.observed.items()})
        for p in planted.points
    ]
    found = np.exp(fit(problem(fast, terms()), most_steps=8))
    assert all(value <= term.most * (1 + 1e-9) for term, value in zip(terms(), found, strict=True) if term.most)


def test_terms_that_no_point_depends_on_stay_where_they_start(planted: Planted) -> None:
    found = np.exp(fit(planted.problem, most_steps=3))
    names = [term.name for term in planted.terms]
    for name in ("bandwidth.amd", "fixed_s.sglang", "experts", "compute_of.t4"):
        place = names.index(name)
        assert found[place] == pytest.approx(planted.terms[place].start)


def test_a_long_curve_weighs_less_by_the_point(planted: Planted) -> None:
    # curves of three points each
    assert planted.problem.weights == pytest.approx(3**-0.5)
    some = [measured("llama-3.1-8b", "l4", "concurrency", n, Mix(100, 100)) for n in (1, 2, 3, 4)]
    some[3] = replace(some[3], left_out="odd")
    assert problem(some, planted.terms).weights.tolist() == [0.5, 0.5, 0.5, 0.0]


def test_a_fit_predicts_what_a_curve_says(planted: Planted) -> None:
    """One formula behind both: calibrating and answering."""
    shipped = load_profile()
    logs = np.log([shipped.terms.get(term.name, 1.0) for term in planted.terms])
    predicted = predict(planted.problem, logs)
    answers = points_of([(point.deployment, point.mix, point.load) for point in planted.points])
    for metric in OBSERVED:
        assert predicted[metric] == pytest.approx([getattr(answer, metric) for answer in answers], rel=1e-9)


def test_errors_are_logarithms_of_predicted_over_measured(planted: Planted) -> None:
    exact = log_errors(planted.problem, predict(planted.problem, planted.logs))
    assert all(np.allclose(errors, 0.0) for errors in exact.values())
    double = {metric: 2 * values for metric, values in predict(planted.problem, planted.logs).items()}
    assert log_errors(planted.problem, double)["tpot_s"] == pytest.approx(np.log(2))
    partly = problem([replace(planted.points[0], observed={"tpot_s": 0.01})], planted.terms)
    errors = log_errors(partly, predict(partly, planted.logs))
    assert np.isnan(errors["ttft_s"]).all()
    assert np.isfinite(errors["tpot_s"]).all()


def test_chosen_rows_predict_as_they_did_among_all(planted: Planted) -> None:
    rows = np.array([40, 3, 17])
    whole, part = predict(planted.problem, planted.logs), predict(planted.problem.chosen(rows), planted.logs)
    for metric in OBSERVED:
        assert part[metric] == pytest.approx(whole[metric][rows])


def test_every_term_starts_within_its_bound_and_has_one_name() -> None:
    every = terms()
    assert len({term.name for term in every}) == len(every)
    assert all(0 < term.start <= (term.most or np.inf) and term.looseness > 0 for term in every)
    names = {term.name for term in every}
    assert {f"bandwidth.{family}" for family in FAMILIES} <= names
    assert {f"compute_of.{gpu.id}" for gpu in all_gpus()} <= names
