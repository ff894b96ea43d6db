"""What a calibration says against itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bide.bench.formats.values import Asked, Run
from bide.calibrate.calibration import Calibration, PointFit
from bide.calibrate.doubts import doubts
from bide.calibrate.points import Measured
from bide.calibrate.runs import Usable
from bide.facts.deployment import Deployment
from bide.physics.own import Own, identity
from bide.physics.profile import load_profile
from bide.report.calibrate_text import endnotes, sentences
from bide.simulate.operating import Load, Mix

SERVED = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm", "tp": 2, "engine_version": "0.19.0"})


def made(*left_out: float) -> Calibration:
    """A run of 10 ms a token at 1, 2, 4, ... users, and what a fit without it said."""
    points = []
    for place, guess_s in enumerate(left_out):
        run = Run(f"{place}.json", "made", Asked("concurrency", float(2**place)))
        point = Measured(
            "", "", SERVED, True, Mix(100, 10), Load("concurrency", 2.0**place), {"tpot_s": 0.01}, "", "", ""
        )
        points.append(PointFit(Usable(run, point), {}, {"tpot_s": 0.01}, {"tpot_s": guess_s}))
    own = Own(identity(SERVED), {"a": 1.0}, {"tpot_s": (-0.7, 0.7)})
    base = load_profile()
    profile = type(base)("mine", "2026-01-02", base.terms, base.spread, base.seen, "", own=own)
    return Calibration(SERVED, profile, base, tuple(points))


@pytest.mark.parametrize(
    ("left_out", "alone"),
    [
        ((0.004, 0.0101, 0.0098, 0.0102), True),  # log errors of 0.92, 0.01, 0.02, 0.02
        ((0.009, 0.0101, 0.0098, 0.0102), False),  # 0.105: none is far
        ((0.006, 0.014, 0.007, 0.014), False),  # all are
        ((0.004, 0.0101), False),  # too few to tell
    ],
)
def test_a_level_that_alone_makes_the_interval_is_named(left_out: tuple[float, ...], alone: bool) -> None:
    found = made(*left_out)
    said = doubts(found, [each.used for each in found.points])
    assert (
        "the interval of TPOT is so wide for c=1 alone, which no other level tells: measure near it too" in said
    ) == (alone)


@pytest.mark.parametrize(("longest", "said"), [(140, True), (160, False)])
def test_an_interval_of_one_length_of_prompts_is_said_to_be_of_it(longest: int, said: bool) -> None:
    found = made(0.01, 0.01, 0.01)
    longer = replace(found.points[0].used.point, mix=Mix(longest, 10))
    other = replace(found.points[0], used=Usable(found.points[0].used.run, longer))
    mixed = replace(found, points=(other, *found.points[1:]))
    warnings = doubts(mixed, [each.used for each in mixed.points])
    assert any("about the same length" in text for text in warnings) == said


def test_half_and_twice_are_equally_far() -> None:
    assert any("within TPOT -50% to +101%" in text for text in sentences(made(0.01)))  # exp(-0.7), exp(0.7)


def test_what_was_fitted_to_is_said_for_the_files_may_have_said_it() -> None:
    notes = list(endnotes(made(0.01)))
    assert (
        "- fitted for meta-llama/Llama-3.1-8B, h100-sxm, vllm 0.19.0, tp 2, as flags, log and results say it" in notes
    )
