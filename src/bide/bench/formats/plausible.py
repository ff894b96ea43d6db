"""Figures that no client can have measured: another unit than the name says, or a broken file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from bide.bench.formats.values import Asked, Fault, Figures, Run
from bide.i18n import _

_LONGEST_S = 1e7
"""Four months: no request takes that long."""
_SHORTEST_S = 1e-7
"""Of a mean; zero stands for what there is not."""
_MOST = {
    "prompt_tokens": 1e8,
    "output_tokens": 1e8,
    "requests_per_s": 1e7,
    "output_tokens_per_s": 1e10,
    "concurrency": 1e7,
    "completed": 1e12,
    "duration_s": 1e9,
}


def plausible(runs: Sequence[Run]) -> list[Run]:
    """`runs` without the figures that cannot be; nothing is to be learned from a level that had one, and it says so.

    Raises ValueError naming the level and its first such figure where no level is without.
    """
    whys = [next(_impossible(run), "") for run in runs]
    if runs and all(whys):
        raise ValueError(f"{runs[0].name}: {whys[0]}")
    return [_without(run, why) if why else run for run, why in zip(runs, whys, strict=True)]


def _without(run: Run, why: str) -> Run:
    changes: dict[str, Any] = {name: None for name in _MOST if not _can_be(run, name)}
    if not _is_load(run.load):
        changes["load"] = Asked("unknown")
    latency = {metric: figures for metric, figures in run.latency.items() if not any(_wrong_times(metric, figures))}
    fault = Fault("impossible_figure", why, "unusable")
    return replace(run, table=None, latency=latency, faults=(fault, *run.faults), **changes)


def _impossible(run: Run) -> Iterator[str]:
    if not _is_load(run.load):
        yield _("a load of {value:.3g}").format(value=run.load.value)
    for name in _MOST:
        if not _can_be(run, name):
            yield _("{name} of {value:.3g}").format(name=name, value=getattr(run, name))
    for metric, figures in run.latency.items():
        yield from _wrong_times(metric, figures)


def _is_load(load: Asked) -> bool:
    return load.value is None or load.value <= _MOST["concurrency"]


def _can_be(run: Run, name: str) -> bool:
    value = getattr(run, name)
    return value is None or 0 <= value <= _MOST[name]


def _wrong_times(metric: str, figures: Figures) -> Iterator[str]:
    for name, seconds in _times(metric, figures):
        if not (seconds == 0 or _SHORTEST_S <= seconds <= _LONGEST_S):
            yield _("{name} of {value:.3g} s; is its unit what it should be?").format(name=name, value=seconds)


def _times(metric: str, figures: Figures) -> Iterator[tuple[str, float]]:
    """The mean, and the percentiles that are not too short to be one: gaps of chunks that were read together are."""
    if figures.mean_s is not None:
        yield f"{metric}_mean", figures.mean_s
    for percent, value in figures.percentiles.items():
        yield f"{metric}_p{percent:g}", value if value < 0 else max(value, _SHORTEST_S)
