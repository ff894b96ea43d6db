"""Lengths described by a few figures: a fixed length, or a lognormal through what was given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from bide.errors import BadInput, UnknownName
from bide.i18n import _
from bide.sourced import Assumption, Source
from bide.units import parse_tokens
from bide.workload.arrivals import SEED, poisson_gaps
from bide.workload.requests import Workload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

DRAWS = 4096
_SPREAD = 1.0
"""Sigma of the logs where only one figure is given; mean against median of five public traces gives 0.5 to 1.4."""
_KEYS = ("fixed", "max", "mean", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")


@dataclass(frozen=True, slots=True)
class Lengths:
    """A lognormal of median `exp(mu)` and log-spread `sigma` (0: fixed), cut off at `largest` tokens."""

    mu: float
    sigma: float
    largest: int | None = None
    assumptions: tuple[Assumption, ...] = ()

    def quantile_tokens(self, share: float) -> int:
        """The length that `share` of the requests stay below; at least 1 token, at most `largest`."""
        tokens = round(math.exp(self.mu + self.sigma * _z(share)))
        return max(1, min(tokens, self.largest or tokens))

    def draw(self, count: int, seed: int) -> Ints:
        """`count` lengths: the middles of equally likely slices, shuffled: no sample is luckier than another."""
        import numpy as np

        tokens = [self.quantile_tokens((i + 0.5) / count) for i in range(count)]
        return np.random.default_rng(seed).permutation(np.array(tokens, dtype=np.int64))


def parse_lengths(given: Mapping[str, object] | object, field: str) -> Lengths:
    """Lengths from `{p50: 900, p95: 3800}`, `{mean: 210}`, `{fixed: 1500}` and the like; a bare number is fixed.

    `mean` and `pNN` are of the lognormal before `max` cuts it off. Raises BadInput for anything that
    no lognormal passes through.
    """
    if not isinstance(given, Mapping):
        return Lengths(math.log(parse_tokens(given, field)), 0.0)
    for key in given:
        if key not in _KEYS:
            raise UnknownName(f"{field}.{key}", key, _KEYS, _("one of {keys}").format(keys=", ".join(_KEYS)))
    figures = {key: parse_tokens(value, f"{field}.{key}") for key, value in given.items()}
    largest = figures.pop("max", None)
    percentiles = sorted((int(key[1:]) / 100, tokens) for key, tokens in figures.items() if key[0] == "p")
    allowed = _(
        "one figure (fixed, mean or a percentile), two percentiles, or a mean and a percentile; and a max if need be"
    )
    if not figures or len(figures) > (1 if "fixed" in figures else 2):
        raise BadInput(field, dict(given), allowed)
    if largest is not None and largest < min(figures.values()):
        raise BadInput(f"{field}.max", largest, _("at least the other figures"))
    if "fixed" in figures:
        return Lengths(math.log(figures["fixed"]), 0.0, largest)
    if len(figures) == 1:
        return _with_assumed_spread(figures.get("mean"), percentiles, largest, field)
    mu, sigma = _through_two(percentiles, figures["mean"], field) if "mean" in figures else _through(percentiles, field)
    return Lengths(mu, sigma, largest)


def described_workload(given: Mapping[str, object], field: str) -> Workload:
    """A workload drawn from `{prompt: ..., output: ...}`, independent of each other, with Poisson arrivals."""
    prompt = parse_lengths(given["prompt"], f"{field}.prompt")
    output = parse_lengths(given["output"], f"{field}.output")
    drawn = Assumption(_("arrivals"), _("Poisson"), _("no trace was given; real traffic comes in bigger bursts"))
    paired = Assumption(_("prompt and output lengths"), _("independent"), _("only their own distributions were given"))
    return Workload(
        prompt.draw(DRAWS, SEED),
        output.draw(DRAWS, SEED + 1),
        poisson_gaps(DRAWS),
        Source(_("lengths as given in the service file"), kind="given"),
        (drawn, paired, *prompt.assumptions, *output.assumptions),
    )


def _z(share: float) -> float:
    return NormalDist().inv_cdf(share)


def _with_assumed_spread(
    mean: int | None, percentiles: list[tuple[float, int]], largest: int | None, field: str
) -> Lengths:
    mu = math.log(mean) - _SPREAD**2 / 2 if mean else math.log(percentiles[0][1]) - _SPREAD * _z(percentiles[0][0])
    why = _(
        "lognormal; only one figure was given, and real lengths spread about this much; give p50 and p95 to replace it"
    )
    return Lengths(mu, _SPREAD, largest, (Assumption(_("log-spread of {field}").format(field=field), _SPREAD, why),))


def _through(percentiles: list[tuple[float, int]], field: str) -> tuple[float, float]:
    """ln q = mu + sigma z, through two percentiles."""
    (low, low_tokens), (high, high_tokens) = percentiles
    if low_tokens > high_tokens:
        given = {f"p{share * 100:g}": tokens for share, tokens in percentiles}
        raise BadInput(field, given, _("a higher percentile that is at least the lower one"))
    sigma = math.log(high_tokens / low_tokens) / (_z(high) - _z(low))
    return math.log(low_tokens) - sigma * _z(low), sigma


def _through_two(percentiles: list[tuple[float, int]], mean: int, field: str) -> tuple[float, float]:
    """ln mean = mu + sigma^2 / 2 and ln q = mu + sigma z: sigma^2 / 2 - sigma z + ln(q / mean) = 0 (smaller root)."""
    share, tokens = percentiles[0]
    z, log_ratio = _z(share), math.log(tokens / mean)
    square = z * z - 2 * log_ratio
    sigma = z - math.sqrt(square) if square >= 0 and z > 0 else z + math.sqrt(max(square, 0.0))
    if square < 0 or sigma < 0:
        name = f"p{share * 100:g}"
        raise BadInput(
            field, {"mean": mean, name: tokens}, _("a mean and a percentile that a lognormal can have together")
        )
    return math.log(tokens) - sigma * z, sigma
