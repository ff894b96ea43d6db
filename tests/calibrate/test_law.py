"""A server with a known step law is measured: its coefficients come back, and its profile predicts it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bide.bench.formats.assembling import run_of_table
from bide.bench.formats.values import Asked, Run
from bide.calibrate.calibration import Calibration, calibrate
from bide.calibrate.law_counts import equations_of
from bide.calibrate.law_fit import law_points
from bide.calibrate.replay import replay, user_starts_s
from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.physics.own import StepLaw
from bide.report.calibrate_text import endnotes
from bide.simulate.curve import curve_of
from bide.simulate.operating import Load, Mix
from bide.simulate.replica_setup import setup_of
from bide.simulate.scheduler.cost import StepCost
from made_runs import BUDGET, LAW, closed_table, open_table

GIB = 2**30
RAW = {
    "model": "qwen2.5-0.5b",
    "gpu": "unlisted",
    "pool_bytes_per_gpu": 4 * GIB,
    "max_num_seqs": 128,
    "max_num_batched_tokens": BUDGET,
    "max_model_len": 8192,
    "async_scheduling": False,
}
STEPS = ("fixed_s", "per_token_s", "per_kv_token_s", "per_sequence_s")


def closed(users: int, count: int, noise: float = 0.0, prompt: int = 600, output: int = 80) -> Run:
    table = closed_table(users, count, seed=users, noise=noise, prompt=prompt, output=output)
    return run_of_table(table, f"c{users}", "made", Asked("concurrency", users))


@pytest.fixture(scope="module")
def served() -> Deployment:
    return Deployment.resolve(RAW)


@pytest.fixture(scope="module")
def learned(served: Deployment) -> Calibration:
    runs = [closed(1, 60), closed(6, 120), closed(24, 200), closed(4, 60, prompt=2500, output=60)]
    return calibrate(runs, served, step_law="affine")


@pytest.mark.parametrize("name", STEPS)
def test_coefficients_come_back_from_a_closed_loop(learned: Calibration, name: str) -> None:
    assert learned.law is not None
    assert getattr(learned.law.law, name) == pytest.approx(getattr(LAW, name), rel=0.02)


def test_what_is_outside_the_steps_comes_back_too(learned: Calibration) -> None:
    assert learned.law is not None
    assert learned.law.law.request_s == pytest.approx(LAW.request_s, rel=0.05)


def test_users_of_a_replay_begin_when_they_did() -> None:
    """Together they would wait for each other's prompts, in every turn anew: answers are equally long."""
    run = closed(8, 160, prompt=1000, output=40)
    assert run.table is not None
    starts_s = user_starts_s(run.table, 8)
    assert starts_s == pytest.approx([0.125 * user for user in range(8)])
    setup = replace(setup_of(Deployment.resolve({**RAW, "gpu": "l4"})), cost=_cost(LAW), request_s=LAW.request_s)
    found = replay(run, setup)
    assert found is not None
    assert found.ratio("ttft_s") == pytest.approx(1.0, abs=0.05)
    assert found.ratio("tpot_s") == pytest.approx(1.0, abs=0.02)


def test_a_user_that_failed_to_come_is_none() -> None:
    run = closed(1, 20)
    assert run.table is not None
    assert user_starts_s(run.table, 4) == (0.0,)


def test_the_interval_is_that_of_the_runs_played_again(learned: Calibration) -> None:
    """The closed forms know means of lengths alone; the simulator plays the very requests."""
    assert learned.replayed == len(learned.points) == 4
    assert learned.profile.own is not None
    assert learned.law is not None
    # as near as runs repeat themselves: the floors of own_spread
    others = ("tpot_s", "e2e_s", "output_tokens_per_s")
    assert learned.profile.own.spread == {"ttft_s": (-0.05, 0.05), **dict.fromkeys(others, (-0.02, 0.02))}
    points = [each.point for each in learned.points]
    by_means = law_points(learned.law.law, points)
    for row, each in enumerate(learned.points):
        for metric, seen in each.point.observed.items():
            assert each.after[metric] == pytest.approx(seen, rel=0.03)
            assert abs(each.after[metric] - seen) <= abs(by_means[metric][row] - seen) + 0.01 * seen
    assert "playing the runs' own requests again" in " ".join(endnotes(learned))


def test_runs_without_requests_are_judged_by_the_closed_forms(served: Deployment) -> None:
    runs = [replace(closed(users, 60), table=None) for users in (1, 4, 12)]
    made = calibrate(runs, served, step_law="affine")
    assert made.replayed == 0
    assert "closed forms" in " ".join(endnotes(made))


def test_a_closed_loop_is_played_as_one() -> None:
    """With steps twice as slow, users wait and send later: recorded times would pile up the requests."""
    run = closed(6, 120)
    slow = replace(LAW, fixed_s=2 * LAW.fixed_s, per_token_s=2 * LAW.per_token_s, per_kv_token_s=2 * LAW.per_kv_token_s)
    setup = setup_of(Deployment.resolve({**RAW, "gpu": "l4"}))
    law = replace(setup, cost=_cost(slow), request_s=0.0)
    found = replay(run, law)
    assert found is not None
    assert 1.5 < found.ratio("tpot_s") < 2.1
    assert found.ratio("output_tokens_per_s") == pytest.approx(1 / found.ratio("tpot_s"), rel=0.15)


def _cost(law: StepLaw) -> StepCost:
    return StepCost.affine(law.fixed_s, law.per_token_s, law.per_kv_token_s, law.per_sequence_s, BUDGET)


def test_coefficients_come_back_from_an_open_loop(served: Deployment) -> None:
    runs = [
        run_of_table(open_table(rate, 200, seed=3), f"{rate}/s", "made", Asked("requests_per_s", rate))
        for rate in (2, 8, 14)
    ]
    long = open_table(3, 100, seed=4, prompt=2500, output=60)
    runs.append(run_of_table(long, "long", "made", Asked("requests_per_s", 3)))
    made = calibrate(runs, served, step_law="affine")
    assert made.law is not None
    for name in STEPS:
        assert getattr(made.law.law, name) == pytest.approx(getattr(LAW, name), rel=0.05)


def test_coefficients_come_back_through_a_noisy_network(served: Deployment) -> None:
    runs = [
        closed(1, 60, 0.02),
        closed(6, 120, 0.02),
        closed(24, 200, 0.02),
        closed(4, 60, 0.02, prompt=2500, output=60),
    ]
    made = calibrate(runs, served, step_law="affine")
    assert made.law is not None
    for name in STEPS:
        assert getattr(made.law.law, name) == pytest.approx(getattr(LAW, name), rel=0.05)


def test_counting_alone_finds_the_law_of_decoding() -> None:
    # without a word about schedulers: who shared steps with whom is in the times
    equations = equations_of([closed_table(users, 100, seed=users) for users in (2, 8)], BUDGET)
    law = equations.solved()
    assert law is not None
    assert law.fixed_s == pytest.approx(LAW.fixed_s, rel=0.02)
    assert law.per_token_s == pytest.approx(LAW.per_token_s, rel=0.03)


def test_the_saved_law_predicts_a_load_that_was_not_fitted(
    served: Deployment, learned: Calibration, tmp_path: Path
) -> None:
    learned.save(tmp_path / "p.json")
    unseen = closed(12, 150)
    assert unseen.prompt_tokens is not None
    assert unseen.output_tokens is not None
    mix = Mix(unseen.prompt_tokens, unseen.output_tokens)
    curve = curve_of(served, mix, [Load("concurrency", 12)], tmp_path / "p.json")
    assert curve.points[0].tpot_s == pytest.approx(unseen.latency["tpot"].mean_s, rel=0.05)
    assert curve.points[0].e2e_s == pytest.approx(unseen.latency["e2e"].mean_s, rel=0.05)
    assert "step law" in curve.step_source


def test_the_simulator_takes_the_law_as_it_is(served: Deployment, learned: Calibration, tmp_path: Path) -> None:
    learned.save(tmp_path / "p.json")
    assert learned.law is not None
    cost = setup_of(served, tmp_path / "p.json").cost
    assert cost.prompts_read_cache
    assert cost.fixed_s == learned.law.law.fixed_s
    assert cost.per_kv_token_s == learned.law.law.per_kv_token_s


def test_parts_of_a_token_sum_to_it(served: Deployment, learned: Calibration, tmp_path: Path) -> None:
    learned.save(tmp_path / "p.json")
    point = curve_of(served, Mix(600, 80), [Load("concurrency", 16)], tmp_path / "p.json").points[0]
    assert point.tpot_parts is not None
    assert point.tpot_parts.total_s == pytest.approx(point.tpot_s)
    assert point.tpot_parts.weights_s == 0


def test_means_alone_give_a_law_that_fits_them_and_says_what_it_cannot_tell(served: Deployment) -> None:
    runs = [replace(run, table=None) for run in (closed(1, 60), closed(6, 120), closed(24, 200))]
    made = calibrate(runs, served, step_law="affine")
    off = made.error("after", "tpot_s")
    assert off is not None
    assert off < 0.02
    assert any("apart" in text for text in made.warnings)


def test_unlisted_hardware_has_no_times_without_a_law_of_its_own(
    served: Deployment, learned: Calibration, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="unlisted"):
        curve_of(served, Mix(600, 80), [Load("concurrency", 1)])
    learned.save(tmp_path / "p.json")
    other = Deployment.resolve({**RAW, "model": "llama-3.2-3b"})
    with pytest.raises(BadInput, match="unlisted"):
        curve_of(other, Mix(600, 80), [Load("concurrency", 1)], tmp_path / "p.json")


def test_unlisted_hardware_has_no_roofline_to_correct(served: Deployment) -> None:
    with pytest.raises(BadInput, match="unlisted"):
        calibrate([closed(1, 60)], served)


def test_a_law_wants_one_engine(served: Deployment) -> None:
    several = Deployment.resolve({**RAW, "dp": 2})
    with pytest.raises(BadInput, match="step_law"):
        calibrate([closed(1, 60)], several, step_law="affine")


def test_runs_that_are_too_short_are_not_fitted(served: Deployment) -> None:
    with pytest.raises(CannotBeMet, match="too few"):
        calibrate([closed(1, 12)], served, step_law="affine")


def test_a_law_by_bytes_is_the_law_by_tokens() -> None:
    from bide.facts.layers import Cost

    law = StepLaw(1e-3, 2e-6, 3e-9, 4e-6)
    table = law.table(Cost(1000.0, (), 0.0), 512)
    # 5 sequences of 200 tokens: 1 ms + 5 x 2 us + 1,000 x 3 ns + 5 x 4 us
    assert float(table.decode_s(5, 200_000)) == pytest.approx(1e-3 + 10e-6 + 3e-6 + 20e-6)
