"""Figures that no client can have measured: another unit than the name says, or a broken file."""

from __future__ import annotations

from collections.abc import Iterator

from bide.bench.formats.values import Run
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


def check_plausible(run: Run) -> None:
    """Raises ValueError naming the level and its first figure that cannot be."""
    why = next(_impossible(run), None)
    if why is not None:
        raise ValueError(f"{run.name}: {why}")


def _impossible(run: Run) -> Iterator[str]:
    if run.load.value is not None and run.load.value > _MOST["concurrency"]:
        yield _("a load of {value:.3g}").format(value=run.load.value)
    for name, most in _MOST.items():
        value = getattr(run, name)
        if value is not None and not 0 <= value <= most:
            yield _("{name} of {value:.3g}").format(name=name, value=value)
    for name, seconds in _times(run):
        if not (seconds == 0 or _SHORTEST_S <= seconds <= _LONGEST_S):
            yield _("{name} of {value:.3g} s; is its unit what it should be?").format(name=name, value=seconds)


def _times(run: Run) -> Iterator[tuple[str, float]]:
    """Means, and the percentiles that are not too short to be one: gaps of chunks that were read together are."""
    for metric, figures in run.latency.items():
        if figures.mean_s is not None:
            yield f"{metric}_mean", figures.mean_s
        for percent, value in figures.percentiles.items():
            yield f"{metric}_p{percent:g}", value if value < 0 else max(value, _SHORTEST_S)
