"""A few runs of one deployment correct the shipped profile, and say what they could not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bide.bench.formats.values import Asked, Fault, Figures, Run
from bide.calibrate.calibration import Calibration, calibrate
from bide.calibrate.fit import log_errors
from bide.calibrate.left_out import own_spread
from bide.calibrate.own_fit import fit_own, own_problem, predictions
from bide.calibrate.runs import sorted_out
from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.physics.nearness import factors, nearness
from bide.physics.profile import load_profile
from bide.simulate.cases import case_of
from bide.simulate.curve import curve_of, points
from bide.simulate.operating import Load, LoadKind, Mix
from bide.simulate.replica_setup import setup_of
from bide.simulate.step_tables import one_table

MIX = Mix(1000, 200)
LOADS: tuple[tuple[LoadKind, float], ...] = (
    ("concurrency", 2),
    ("concurrency", 8),
    ("concurrency", 32),
    ("requests_per_s", 4),
)


@pytest.fixture(scope="module")
def served() -> Deployment:
    return Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm", "engine_version": "0.19.0"})


def runs_of(
    deployment: Deployment, slower: float = 1.3, loads: tuple[tuple[LoadKind, float], ...] = LOADS
) -> list[Run]:
    """What the shipped profile says, all times `slower` times as long (rates of an open loop as they are)."""
    asked = [(deployment, MIX, Load(kind, value)) for kind, value in loads]
    made = []
    for (_d, mix, load), point in zip(asked, points(asked), strict=True):
        assert point.ttft_s is not None
        assert point.tpot_s is not None
        made.append(
            Run(
                f"{load.kind} {load.value:g}",
                "made",
                Asked(load.kind, load.value),
                completed=500,
                failed=0,
                prompt_tokens=mix.prompt_tokens,
                output_tokens=mix.output_tokens,
                requests_per_s=point.requests_per_s,
                latency={"ttft": Figures(point.ttft_s * slower), "tpot": Figures(point.tpot_s * slower)},
            )
        )
    return made


@pytest.fixture(scope="module")
def fitted(served: Deployment) -> Calibration:
    return calibrate(runs_of(served), served, name="mine")


def test_a_fit_takes_the_error_away_and_tells_what_loads_left_out_would_show(fitted: Calibration) -> None:
    made = fitted
    # the profile is 1 / 1.3 of what was measured
    assert made.error("before", "tpot_s") == pytest.approx(1 - 1 / 1.3, rel=1e-6)
    after, held = made.error("after", "tpot_s"), made.error("left_out", "tpot_s")
    assert after is not None
    assert held is not None
    # an open loop of slower steps waits more than 1.3 times as long: not all of it goes away
    assert after < 0.03
    assert held < 0.07


def test_three_points_are_enough_for_a_first_correction(served: Deployment, tmp_path: Path) -> None:
    made = calibrate(runs_of(served)[:3], served)
    unseen = points([(served, MIX, Load("concurrency", 16))])[0].tpot_s
    assert unseen is not None
    fitted = points([(served, MIX, Load("concurrency", 16))], _saved(made, tmp_path / "p.json"))[0].tpot_s
    assert fitted == pytest.approx(1.3 * unseen, rel=0.03)


def _saved(made: Calibration, path: Path) -> Path:
    made.save(path)
    return path


def test_the_saved_profile_narrows_the_interval_of_this_deployment_alone(
    served: Deployment, fitted: Calibration, tmp_path: Path
) -> None:
    file = _saved(fitted, tmp_path / "p.json")
    mine, shipped = load_profile(file), load_profile()
    assert nearness(mine, served) == "own"
    low, high = factors(mine, served, True)["tpot_s"]
    wide_low, wide_high = factors(shipped, served, True)["tpot_s"]
    assert wide_low < low < 1 < high < wide_high
    other = replace(served, tp=2)
    assert nearness(mine, other) == nearness(shipped, other)
    assert factors(mine, other, True) == factors(shipped, other, True)


def test_the_terms_hold_for_the_engine_on_the_gpu_and_nowhere_else(
    served: Deployment, fitted: Calibration, tmp_path: Path
) -> None:
    file = _saved(fitted, tmp_path / "p.json")
    mine = load_profile(file)
    assert mine.own is not None
    assert mine.applied(replace(served, tp=2)).terms["bandwidth_of.h100-sxm"] == mine.own.terms["bandwidth_of.h100-sxm"]
    elsewhere = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "a100-80g-sxm"})
    assert mine.applied(elsewhere).terms == load_profile().terms


def test_curve_and_simulate_take_the_profile(served: Deployment, fitted: Calibration, tmp_path: Path) -> None:
    file = _saved(fitted, tmp_path / "p.json")
    curve, before = (curve_of(served, MIX, [Load("concurrency", 8)], profile) for profile in (file, None))
    mine, shipped = curve.points[0].tpot_s, before.points[0].tpot_s
    assert mine is not None
    assert shipped is not None
    assert mine == pytest.approx(1.3 * shipped, rel=0.03)
    assert "runs of this deployment" in curve.step_source
    assert setup_of(served, file).cost.fixed_s != setup_of(served).cost.fixed_s


def test_what_the_runs_cannot_tell_stays_where_it_was(fitted: Calibration) -> None:
    terms = {term.name: term for term in fitted.terms}
    # a single GPU sends nothing, and a dense model has no experts
    for name in ("link.vllm-v1", "sum_s.vllm-v1", "experts", "moe_layer_s.vllm-v1", "latent_attention"):
        assert terms[name].after == pytest.approx(terms[name].before)
        assert terms[name].learned < 0.01
    assert terms["bandwidth_of.h100-sxm"].learned > 0.8


def test_terms_are_held_by_how_far_other_deployments_were_off(served: Deployment) -> None:
    usable, _left = sorted_out(runs_of(served), served)
    problem = own_problem([each.point for each in usable], load_profile())
    # TTFT is off further than TPOT, and so is let further
    sigma = dict(zip(problem.roles, problem.sigma.tolist(), strict=True))
    assert sigma["request_s"] > sigma["fixed_s"] > 0.05


def test_a_term_that_begins_at_its_end_does_not_stop_the_fit() -> None:
    """Faster runs push it beyond, and the first step of all would be as short as the way that it has left."""
    moe = Deployment.resolve({"model": "qwen3-30b-a3b", "gpu": "h100-sxm", "engine_version": "0.19.0"})
    usable, _left = sorted_out(runs_of(moe, slower=0.85), moe)
    shipped = load_profile()
    at_end = replace(shipped, terms={**shipped.terms, "experts": 1.0})
    problem = own_problem([each.point for each in usable], at_end)
    before, fitted = problem.prior, fit_own(problem)
    off_before, off = (
        np.abs(log_errors(problem.found, predictions(problem, logs))["tpot_s"]).max() for logs in (before, fitted)
    )
    assert off < 0.5 * off_before
    # a fit that begins where another ended, as those of levels left out do
    some = problem.chosen(np.array([0, 1], dtype=np.intp))
    again, afresh = fit_own(some, fitted), fit_own(some)
    one, other = (predictions(some, logs)["tpot_s"] for logs in (again, afresh))
    assert one == pytest.approx(other, rel=0.01)
    assert np.abs(again - fitted).max() > 0.01


def test_two_levels_give_no_interval_of_their_own(served: Deployment) -> None:
    made = calibrate(runs_of(served)[:2], served)
    assert made.profile.own is not None
    assert made.profile.own.spread == {}
    assert any("levels of load: 2" in text for text in made.warnings)


def test_what_no_fit_compares_has_an_interval_of_its_own_too(served: Deployment, tmp_path: Path) -> None:
    """E2E is TTFT and TPOT together, and stands in the results: its interval is not the shipped one."""
    runs = [
        replace(run, latency={**run.latency, "e2e": Figures(ttft + 199 * tpot)})
        for run in runs_of(served)
        if (ttft := run.latency["ttft"].mean_s) and (tpot := run.latency["tpot"].mean_s)
    ]
    made = calibrate(runs, served)
    assert set(made.measured_metrics) == {"ttft_s", "tpot_s"}
    mine, shipped = load_profile(_saved(made, tmp_path / "p.json")), load_profile()
    (low, high), (wide_low, wide_high) = (factors(profile, served, True)["e2e_s"] for profile in (mine, shipped))
    assert wide_low < low < 1 < high < wide_high
    assert high < 1.2


def test_repetitions_of_a_level_are_left_out_together(served: Deployment) -> None:
    twice = [replace(run, source=f"{turn}/{run.source}") for turn in range(3) for run in runs_of(served)[:2]]
    made = calibrate(twice, served)
    assert made.profile.own is not None
    assert made.profile.own.spread == {}


def test_an_interval_of_few_errors_is_wider_than_their_size(served: Deployment) -> None:
    usable, _left = sorted_out(runs_of(served), served)
    some = [each.point for each in usable][:3]
    off = {"tpot_s": np.array([point.observed["tpot_s"] / 1.1 for point in some])}
    # three errors of log 1.1; Student's 90 % quantile of 2 degrees of freedom is 1.886
    assert own_spread(some, off)["tpot_s"][1] == pytest.approx(1.886 * np.log(1.1), rel=1e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"deployment": {"gpu": "NVIDIA A100-SXM4-80GB"}}, "measured on a100-80g-sxm"),
        ({"deployment": {"tp": 4}}, "tp 4, not 1"),
        ({"deployment": {"engine": "sglang"}}, "sglang, not vllm"),
        ({"deployment": {"weights": "FP8"}}, "weights FP8, not auto"),
        ({"deployment": {"model": "qwen3-8b"}}, "measured with Qwen/Qwen3-8B"),
        ({"faults": (Fault("prefix_hits", "hits", "unusable"),)}, "hits"),
        ({"faults": (Fault("speculative", "drafts"),)}, "--speculative-tokens"),
        ({"prompt_tokens": None}, "how long prompts"),
        ({"load": Asked("unknown")}, "what load"),
        ({"latency": {}}, "no latency"),
    ],
)
def test_runs_of_no_use_are_left_out_and_say_why(served: Deployment, change: dict[str, object], words: str) -> None:
    good, bad = runs_of(served)[0], replace(runs_of(served)[1], **change)  # type: ignore[arg-type]
    usable, left = sorted_out([good, bad], served)
    assert [each.run for each in usable] == [good]
    assert words in left[0].reasons[0]
    with pytest.raises(CannotBeMet, match="no run can be used"):
        calibrate([bad], served)


def test_doubts_can_be_overruled_but_gaps_cannot(served: Deployment) -> None:
    doubtful = replace(runs_of(served)[0], faults=(Fault("few_requests", "few", "unusable"),))
    usable, _left = sorted_out([doubtful], served, forced=True)
    assert usable[0].notes == ("few",)
    assert sorted_out([replace(doubtful, output_tokens=None)], served, forced=True)[0] == []


def test_a_served_name_that_nobody_knows_is_no_other_model(served: Deployment) -> None:
    run = replace(runs_of(served)[0], deployment={"model": "my-finetune"})
    assert sorted_out([run], served)[1] == []


def test_the_same_model_by_another_path_is_no_other(served: Deployment) -> None:
    renamed = replace(served, model=replace(served.model, name="/models/mine"))
    run = replace(runs_of(served)[0], deployment={"model": "llama-3.1-8b"})
    assert sorted_out([run], renamed)[1] == []


@pytest.mark.parametrize("weights", ["bf16", "fp16", "auto", "Q4_K_M"])
def test_the_format_of_weights_that_the_model_has_anyway_is_no_other(served: Deployment, weights: str) -> None:
    run = replace(runs_of(served)[0], deployment={"weights": weights})
    assert sorted_out([run], served)[1] == []


def test_a_closed_loop_counts_as_what_was_in_flight(served: Deployment) -> None:
    run = replace(runs_of(served)[2], concurrency=24.0)
    usable, _left = sorted_out([run], served)
    assert usable[0].point.load == Load("concurrency", 24.0)


def test_far_too_slow_runs_raise_the_question_whether_something_else_was_measured(served: Deployment) -> None:
    made = calibrate(runs_of(served, slower=4.0)[:1], served)
    assert any("check that GPU" in text for text in made.warnings)


def test_the_shipped_profile_is_what_a_fit_begins_with_even_from_a_fitted_one(
    served: Deployment, fitted: Calibration, tmp_path: Path
) -> None:
    file = _saved(fitted, tmp_path / "p.json")
    again = calibrate(runs_of(served)[:1], served, profile=file)
    assert again.error("before", "tpot_s") == pytest.approx(1 - 1 / 1.3, rel=1e-6)
    assert (again.base.path, again.profile.path) == (file, None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("terms", {"bandwidth_of.h100-sxm": -1}),
        ("spread", {"tpot_s": [1]}),
        ("spread", {"tpot_s": ["a", "b"]}),
        ("law", {"fixed_s": 1}),
        ("law", dict.fromkeys(("fixed_s", "per_token_s", "per_kv_token_s", "per_sequence_s", "request_s"), 0.0)),
        ("pool_bytes_per_gpu", -5),
        ("of", 3),
    ],
)
def test_a_damaged_profile_is_refused(served: Deployment, tmp_path: Path, key: str, value: object) -> None:
    file = _saved(calibrate(runs_of(served)[:2], served), tmp_path / "p.json")
    record = json.loads(file.read_text())
    record["own"][key] = value
    file.write_text(json.dumps(record))
    with pytest.raises(BadInput, match="profile"):
        load_profile(file)


def test_a_profile_without_a_term_is_named_by_its_file(fitted: Calibration, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"profile: got 'p\.json'; allowed: one that has the term mass"):
        load_profile(_saved(fitted, tmp_path / "p.json")).term("mass")


def test_a_plan_takes_the_profile_too(served: Deployment, fitted: Calibration, tmp_path: Path) -> None:
    mine = load_profile(_saved(fitted, tmp_path / "p.json"))
    case = case_of(served, True)
    (own, _found), (shipped, _reached) = one_table(mine, case), one_table(load_profile(), case)
    assert own.decode_s(1, 0.0) == pytest.approx(1.3 * shipped.decode_s(1, 0.0), rel=0.02)
