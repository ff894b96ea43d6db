"""How near a case is to what was measured, and the interval that follows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from bide.facts.deployment import Deployment
from bide.physics.nearness import Nearness, factors, nearness, nearness_text, step_assumption
from bide.physics.own import Own, StepLaw, identity
from bide.physics.profile import METRICS, Profile, Spread


def spread(low: float, high: float) -> Spread:
    return Spread(dict.fromkeys(METRICS, low), dict.fromkeys(METRICS, high))


LLAMA = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"}).model.name
PROFILE = Profile(
    "made",
    "2026-01-02",
    {},
    {"near": spread(-0.1, 0.1), "model": spread(-0.2, 0.2), "gpu": spread(-0.4, 0.4), "near/sglang": spread(0.05, 0.3)},
    {"gpus": ("h100-sxm",), "models": (LLAMA,)},
    "two points",
)


def deployed(model: str = "llama-3.1-8b", gpu: str = "h100-sxm", **raw: object) -> Deployment:
    return Deployment.resolve({"model": model, "gpu": gpu, **raw})


@pytest.mark.parametrize(
    ("model", "gpu", "near"),
    [
        ("llama-3.1-8b", "h100-sxm", "near"),
        ("qwen3-8b", "h100-sxm", "model"),
        ("llama-3.1-8b", "l40s", "gpu"),
        ("qwen3-8b", "mi300x", "gpu"),
        ("llama-3.1-8b", "tpu-v6e", "far"),
    ],
)
def test_what_the_runs_cover_decides(model: str, gpu: str, near: Nearness) -> None:
    assert nearness(PROFILE, deployed(model, gpu)) == near
    assert gpu in nearness_text(PROFILE, deployed(model, gpu)) or near == "near"


def test_farther_cases_have_wider_intervals() -> None:
    cases = [deployed(), deployed("qwen3-8b"), deployed(gpu="l40s"), deployed(gpu="tpu-v6e")]
    ends = [factors(PROFILE, case, True)["tpot_s"] for case in cases]
    # the last is that of a GPU held out, half as wide again: exp(0.6)
    assert [high for _low, high in ends] == pytest.approx([math.exp(x) for x in (0.1, 0.2, 0.4, 0.6)])
    assert [low for low, _high in ends] == pytest.approx([math.exp(-x) for x in (0.1, 0.2, 0.4, 0.6)])


def test_an_engine_with_points_enough_has_a_spread_of_its_own_and_no_interval_leaves_the_prediction_out() -> None:
    low, high = factors(PROFILE, deployed(engine="sglang"), True)["tpot_s"]
    assert (low, high) == pytest.approx((1.0, math.exp(0.3)))


def test_every_answer_can_say_where_its_times_come_from() -> None:
    said = step_assumption(PROFILE, deployed())
    assert (said.name, said.value) == ("step times", "roofline with the profile made of 2026-01-02")
    assert "two points" in said.why
    assert "runs of this model" in said.why


def test_a_profile_of_another_deployment_is_named() -> None:
    """What was fitted to one deployment says nothing of another; whoever passes it should know that it was not used."""
    own = Own(identity(deployed()), {}, {}, law=StepLaw(0.01, 1e-5, 1e-7, 1e-4))
    mine = replace(PROFILE, own=own)
    assert nearness_text(mine, deployed()) == "it was fitted to runs of this deployment"
    said = nearness_text(mine, deployed(gpu="l40s", tp=2))
    assert said.endswith("what was fitted is of another deployment (gpu h100-sxm, tp 1) and is not used here")
    terms = replace(PROFILE, own=Own(identity(deployed()), {"a": 1.0}, {}))
    assert nearness_text(terms, deployed(tp=2)).endswith(
        "its terms were fitted to another deployment (tp 1), whose interval does not hold here"
    )
    namesake = replace(PROFILE, own=replace(own, of={**own.of, "shape": "llama 2 x 64, 4 heads"}))
    assert "another deployment (shape llama 2 x 64, 4 heads)" in nearness_text(namesake, deployed())
