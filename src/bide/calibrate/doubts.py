"""What makes a fitted profile less than it seems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from bide.calibrate.left_out import FEWEST_LEVELS, levels
from bide.calibrate.runs import Usable
from bide.i18n import _

if TYPE_CHECKING:
    from bide.calibrate.calibration import Calibration

_FAR_OFF = 0.5
"""Before a fit: a profile that is so far off says that something else was measured than was said."""
_FAR_LEFT_OUT, _STANDS_OUT = 0.2, 4.0
"""As logarithms, and times the median: from here on one level makes the interval."""
_OTHER = 1.5
"""Lengths further apart than so many times are not the same."""
_SAID_LITTLE = 0.5
"""A term (or, as relative error, a coefficient) of which the runs took away less is hardly known."""


def doubts(made: Calibration, usable: Sequence[Usable]) -> list[str]:
    """Sentences for whoever will use it."""
    found = []
    count = len(set(levels([each.point for each in usable])))
    if count < FEWEST_LEVELS:
        text = _(
            "levels of load: {n}; an interval of its own needs {least}, until then that of the shipped profile stands"
        )
        found.append(text.format(n=count, least=FEWEST_LEVELS))
    for metric in made.measured_metrics:
        off = made.error("before", metric)
        if off is not None and off > _FAR_OFF:
            text = _(
                "the profile was {off:.0%} off in {metric} before: check that GPU, model, tp and formats are those"
            )
            found.append(text.format(off=off, metric=metric.removesuffix("_s").upper()))
    found += [*_alone(made), *_of_one_length(made), *_unknown(made)]
    versions = {
        str(each.run.deployment["engine_version"]) for each in usable if each.run.deployment.get("engine_version")
    }
    if len(versions) > 1:
        found.append(_("runs of several engine versions: {versions}").format(versions=", ".join(sorted(versions))))
    return found


def _alone(made: Calibration) -> Iterator[str]:
    """A level that no other stands for: left out it is far off, and the interval of every load is as wide."""
    for metric in made.measured_metrics:
        pairs = [
            (each.left_out.get(metric), each.point.observed.get(metric), each.used.run.name) for each in made.points
        ]
        errors = sorted((abs(math.log(x / y)), name) for x, y, name in pairs if x and y and math.isfinite(x) and x > 0)
        if len(errors) < FEWEST_LEVELS:
            continue
        worst, name = errors[-1]
        if worst > max(_FAR_LEFT_OUT, _STANDS_OUT * median(error for error, _name in errors)):
            text = _(
                "the interval of {metric} is so wide for {load} alone, which no other level tells: measure near it too"
            )
            yield text.format(metric=metric.removesuffix("_s").upper(), load=name)


def _of_one_length(made: Calibration) -> Iterator[str]:
    """On public curves 8 in 10 intervals hold at the lengths that were measured, at others 7 (TPOT) and 4 (TTFT)."""
    mixes = [each.point.mix for each in made.points]
    lengths = ([mix.prompt_tokens for mix in mixes], [mix.output_tokens for mix in mixes])
    if made.profile.own and made.profile.own.spread and all(max(each) < _OTHER * min(each) for each in lengths):
        yield _(
            "all runs had prompts and answers of about the same length: the interval holds for such, not for others"
        )


def _unknown(made: Calibration) -> list[str]:
    """Of what these runs say nothing."""
    if made.law is not None:
        vague = [n for n, off in made.law.relative_error.items() if not off <= _SAID_LITTLE]
        text = _("the runs hardly tell {names} apart: measure at other concurrencies and other lengths of prompt")
        return [text.format(names=", ".join(vague))] if vague else []
    if made.terms and all(term.learned < _SAID_LITTLE for term in made.terms):
        return [_("no single term is known by these runs, only what they make together: other loads may differ")]
    return []
