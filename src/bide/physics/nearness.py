"""How near a deployment is to the runs that a profile was fitted to, and how far off its times may be for that."""

from __future__ import annotations

import math
from typing import Literal

from bide.facts.deployment import Deployment
from bide.i18n import _, translated
from bide.physics.own import identity
from bide.physics.profile import Profile, Spread
from bide.physics.reached import era
from bide.sourced import Assumption

Nearness = Literal["own", "near", "model", "gpu", "far"]
_FURTHER = 1.5
"""Intervals of kinds of hardware that no run covers are those of GPUs held out, so much wider: a guess."""


def nearness(profile: Profile, deployment: Deployment) -> Nearness:
    """`own`: measured itself; `near`: runs of this model and GPU; `model`: of the GPU; `gpu`: of its kind alone."""
    gpu = deployment.gpu
    if profile.own is not None and profile.own.fitted(deployment):
        return "own"
    if gpu is None or gpu.vendor not in ("nvidia", "amd"):
        return "far"
    if gpu.id not in profile.seen["gpus"]:
        return "gpu"
    return "near" if deployment.model.name in profile.seen["models"] else "model"


def factors(profile: Profile, deployment: Deployment, stated: bool) -> dict[str, tuple[float, float]]:
    """By metric: what to multiply a prediction with for its 10th and 90th percentile."""
    near = nearness(profile, deployment)
    if near == "own":
        return _own_factors(profile, deployment, stated)
    return _factors(profile, deployment, stated, near)


def _own_factors(profile: Profile, deployment: Deployment, stated: bool) -> dict[str, tuple[float, float]]:
    """The spread over its own points that were left out; where there were too few, that of runs near by."""
    assert profile.own is not None
    wide = _factors(profile, deployment, stated, "near")
    own = {
        metric: (math.exp(min(low, 0.0)), math.exp(max(high, 0.0)))
        for metric, (low, high) in profile.own.spread.items()
    }
    return {**wide, **own}


def _factors(profile: Profile, deployment: Deployment, stated: bool, near: Nearness) -> dict[str, tuple[float, float]]:
    kind = "gpu" if near == "far" else near
    spread: Spread = profile.spread.get(f"{kind}/{era(deployment, stated)}") or profile.spread[kind]
    wider = _FURTHER if near == "far" else 1.0
    return {
        metric: (math.exp(min(spread.low[metric], 0.0) * wider), math.exp(max(spread.high[metric], 0.0) * wider))
        for metric in spread.low
    }


def nearness_text(profile: Profile, deployment: Deployment) -> str:
    """The same in words."""
    gpu = deployment.gpu.id if deployment.gpu else ""
    texts = {
        "own": _("it was fitted to runs of this deployment"),
        "near": _("it holds runs of this model on {gpu}"),
        "model": _("it holds runs of other models on {gpu}"),
        "gpu": _("it holds no run on {gpu}: shares of its peaks are those of the nearest kind of GPU"),
        "far": _("it holds no run on hardware like {gpu}: the interval is a guess"),
    }
    text = texts[nearness(profile, deployment)].format(gpu=gpu)
    return f"{text}; {other}" if (other := _fitted_elsewhere(profile, deployment)) else text


def _fitted_elsewhere(profile: Profile, deployment: Deployment) -> str:
    """What a profile of one's own was fitted to, where that is another deployment, and what of it holds here."""
    own = profile.own
    if own is None or not (own.terms or own.law) or own.fitted(deployment):
        return ""
    here = identity(deployment)
    others = {key: f"{key} {value}" for key, value in own.of.items() if here.get(key) != value}
    shape = others.pop("shape", "")  # which is told where two models have one name
    other = ", ".join(others.values()) or shape
    if own.terms and own.same_engine(deployment):
        return _("its terms were fitted to another deployment ({other}), whose interval does not hold here").format(
            other=other
        )
    return _("what was fitted is of another deployment ({other}) and is not used here").format(other=other)


def step_assumption(profile: Profile, deployment: Deployment) -> Assumption:
    """Where the step times of `deployment` come from: every answer that has times lists it."""
    own = profile.own if profile.own is not None and profile.own.fitted(deployment) else None
    law = own is not None and own.law is not None
    text = _("step law of the profile {name} of {date}") if law else _("roofline with the profile {name} of {date}")
    value = text.format(name=profile.name, date=profile.date)
    summary = own.summary if own is not None and own.summary else translated(profile.summary)
    return Assumption("step times", value, f"{summary}; {nearness_text(profile, deployment)}")
