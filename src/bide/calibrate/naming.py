"""What a fitted profile is called, and what it says that it was fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from bide.calibrate.points import Measured
from bide.facts.deployment import Deployment
from bide.i18n import ngettext, numeral
from bide.physics.profile import Profile


def named(profile: Profile, deployment: Deployment, points: Sequence[Measured], name: str) -> Profile:
    """With a name and a date of its own; the rest of the profile is as it was."""
    gpu = deployment.gpu.id if deployment.gpu else "?"
    today = datetime.now(UTC).date().isoformat()
    made = profile.own
    assert made is not None
    said = _fitted_to(deployment.model.name, gpu, today, points) if points else ""
    return replace(
        profile,
        name=name or f"{deployment.model.name.rsplit('/', 1)[-1]} on {gpu}",
        date=today,
        own=replace(made, summary=said),
        path=None,
    )


def _fitted_to(model: str, gpu: str, date: str, points: Sequence[Measured]) -> str:
    return ngettext(
        "{n} run of {model} on {gpu}, {date}, prompts of {prompts} and answers of {answers} tokens",
        "{n} runs of {model} on {gpu}, {date}, prompts of {prompts} and answers of {answers} tokens",
        len(points),
    ).format(
        n=len(points),
        model=model,
        gpu=gpu,
        date=date,
        prompts=_range([point.mix.prompt_tokens for point in points]),
        answers=_range([point.mix.output_tokens for point in points]),
    )


def _range(lengths: Sequence[float]) -> str:
    low, high = (numeral(end, ",.0f") for end in (min(lengths), max(lengths)))
    return low if low == high else f"{low} - {high}"
