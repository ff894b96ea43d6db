"""Lengths and pauses described by figures: a number, percentiles, a mean with one of them, or a named shape."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from statistics import NormalDist
from typing import Any

from bide.errors import BadInput, UnknownName, check_keys
from bide.i18n import _
from bide.sourced import Assumption, Source
from bide.units import parse_tokens
from bide.workload.arrivals import SEED, poisson_gaps
from bide.workload.modelling.distributions import Distribution, Fixed, Lognormal, Mixture, Normal, Points, Uniform
from bide.workload.requests import Workload

DRAWS = 4096
_SPREAD = 1.0
"""Sigma of the logs where only one figure is given; mean against median of five public traces gives 0.5 to 1.4."""
_KEYS = ("fixed", "max", "mean", "median", "sd", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")
_SHAPES = ("uniform", "normal", "lognormal", "mixture", "points")
_PERCENTILE = re.compile(r"p(?!0+(?:\.0+)?$)(\d{1,2}(?:\.\d+)?)")
_ENDS = 1e-4
"""Percentiles that are given go on beyond the outermost, on the same line of normal scores, to this share."""
Parse = Callable[[object, str], float]
Percentiles = list[tuple[float, float]]


def parse_lengths(given: Mapping[str, object] | object, field: str, parse: Parse = parse_tokens) -> Distribution:
    """A distribution from `{p50: 900, p95: 3800}`, `{mean: 210}`, `{fixed: 1500}` and the like; a bare number is fixed.

    Two figures make a lognormal, three percentiles or more a curve through all of them. `mean` and `pNN` are
    meant before `max` cuts off. Shapes are named: `{normal: {mean: 500, sd: 100}}`, `{uniform: {low: 1, high: 9}}`,
    `{lognormal: {mu: 6, sigma: 1}}`, `{mixture: [{weight: 2, p50: 90, p95: 300}, ...]}`,
    `{points: {0: 3, 50: 90, 100: 4000}}`. Raises BadInput for anything that cannot be.
    """
    if not isinstance(given, Mapping):
        return Fixed(parse(given, field))
    shape = next((name for name in _SHAPES if name in given), None)
    return _shaped(shape, given, field, parse) if shape else _figures(given, field, parse)


def _figures(given: Mapping[str, object], field: str, parse: Parse) -> Distribution:
    for key in given:
        if key not in _KEYS and not _PERCENTILE.fullmatch(str(key)):
            allowed = _("one of {keys}, or another percentile").format(keys=", ".join((*_KEYS, *_SHAPES)))
            raise UnknownName(f"{field}.{key}", key, (*_KEYS, *_SHAPES), allowed)
    figures = {key: parse(value, f"{field}.{key}") for key, value in given.items()}
    largest = figures.pop("max", None)
    if "median" in figures:
        figures["p50"] = figures.pop("median")
    found = ((_PERCENTILE.fullmatch(key), value) for key, value in figures.items())
    percentiles = sorted((float(match[1]) / 100, value) for match, value in found if match)
    if not _fits(figures, percentiles):
        raise BadInput(field, dict(given), _allowed())
    if largest is not None and largest < min(figures.values()):
        raise BadInput(f"{field}.max", largest, _("at least the other figures"))
    if "fixed" in figures:
        return Fixed(figures["fixed"], largest=largest)
    if "sd" in figures:
        return _by_moments(figures["mean"], figures["sd"], largest)
    if len(percentiles) > 2:
        return _through_many(percentiles, largest, field)
    if len(figures) == 1:
        return _with_assumed_spread(figures.get("mean"), percentiles, largest, field)
    through = partial(_through_mean, mean=figures["mean"]) if "mean" in figures else _through
    mu, sigma = through(percentiles, field=field)
    return Lognormal(mu, sigma, largest=largest)


def _fits(figures: Mapping[str, float], percentiles: Percentiles) -> bool:
    """Whether these figures together are one of the forms that are known."""
    others = figures.keys() - {f"p{100 * share:g}" for share, _value in percentiles}
    if not percentiles:
        return others in ({"fixed"}, {"mean"}, {"mean", "sd"})
    return not others or (others == {"mean"} and len(percentiles) == 1)


def _allowed() -> str:
    return _(
        "one figure (fixed, mean or a percentile), percentiles, a mean with a percentile or a standard deviation (sd), "
        "and a max if need be; or a shape: uniform, normal, lognormal, mixture, points"
    )


def _shaped(shape: str, given: Mapping[str, object], field: str, parse: Parse) -> Distribution:
    check_keys({str(key): value for key, value in given.items()}, (shape, "max"), field)
    largest = parse(given["max"], f"{field}.max") if "max" in given else None
    content, where = given[shape], f"{field}.{shape}"
    if shape == "mixture":
        return _mixture(content, where, largest, parse)
    if not isinstance(content, Mapping):
        raise BadInput(where, content, _("a mapping"))
    if shape == "points":
        return _points(content, where, largest, parse)
    if shape == "lognormal" and "mu" in content:
        mu, sigma = (_number(content.get(key), f"{where}.{key}", low, 60) for key, low in (("mu", -60), ("sigma", 0)))
        return Lognormal(mu, sigma, largest=largest)
    if shape == "lognormal":
        return _figures({**content, **({"max": given["max"]} if "max" in given else {})}, where, parse)
    names = ("low", "high") if shape == "uniform" else ("mean", "sd")
    check_keys(content, names, where)
    one, other = (parse(content.get(name), f"{where}.{name}") for name in names)
    if shape == "normal":
        return Normal(one, other, largest=largest)
    if one > other:
        raise BadInput(f"{where}.high", other, _("at least low"))
    return Uniform(one, other, largest=largest)


def _mixture(content: object, where: str, largest: float | None, parse: Parse) -> Mixture:
    if not isinstance(content, list) or not content:
        raise BadInput(where, content, _("a list of lognormals, each with its weight"))
    parts = []
    for number, part in enumerate(content):
        here = f"{where}[{number}]"
        if not isinstance(part, Mapping):
            raise BadInput(here, part, _("a lognormal with its weight"))
        weight = _number(part.get("weight", 1), f"{here}.weight", 1e-9, 1e9)
        shape = {key: value for key, value in part.items() if key != "weight"}
        one = _shaped("lognormal", {"lognormal": shape}, here, parse)
        if isinstance(one, Fixed):
            one = Lognormal(math.log(one.value), 0.0)
        if not isinstance(one, Lognormal):
            raise BadInput(here, dict(part), _("a lognormal: two figures"))
        parts.append((weight, one.mu, one.sigma))
    return Mixture(tuple(parts), largest=largest)


def _points(content: Mapping[Any, object], where: str, largest: float | None, parse: Parse) -> Points:
    """Percents and values, from 0 to 100 and never falling. Values may have fractions: they are interpolated anyway."""
    table = sorted(
        (_number(percent, where, 0, 100) / 100, _number(value, f"{where}.{percent}", 0, 1e12))
        for percent, value in content.items()
    )
    shares, values = (tuple(column) for column in zip(*table, strict=True)) if table else ((), ())
    if len(table) < 2 or shares[0] != 0 or shares[-1] != 1 or list(values) != sorted(values):
        raise BadInput(where, dict(content), _("percents from 0 to 100, and values that never fall"))
    return Points(shares, values, largest=largest)


def _number(given: object, field: str, low: float, high: float) -> float:
    allowed = _("a number from {low:g} to {high:g}").format(low=low, high=high)
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise BadInput(field, given, allowed)
    try:
        number = float(given)
    except ValueError as error:
        raise BadInput(field, given, allowed) from error
    if not low <= number <= high:
        raise BadInput(field, given, allowed)
    return number


def described_workload(given: Mapping[str, object], field: str) -> Workload:
    """A workload drawn from `{prompt: ..., output: ...}`, independent of each other, with Poisson arrivals."""
    prompt = parse_lengths(given["prompt"], f"{field}.prompt")
    output = parse_lengths(given["output"], f"{field}.output")
    drawn = Assumption(_("arrivals"), _("Poisson"), _("no trace was given; real traffic comes in bigger bursts"))
    paired = Assumption(_("prompt and output lengths"), _("independent"), _("only their own distributions were given"))
    return Workload(
        prompt.even(DRAWS, SEED),
        output.even(DRAWS, SEED + 1),
        poisson_gaps(DRAWS),
        Source(_("lengths as given in the service file"), kind="given"),
        (drawn, paired, *prompt.assumptions, *output.assumptions),
    )


def _z(share: float) -> float:
    return NormalDist().inv_cdf(share)


def _by_moments(mean: float, deviation: float, largest: float | None) -> Lognormal:
    """sigma^2 = ln(1 + sd^2 / mean^2), mu = ln mean - sigma^2 / 2."""
    sigma = math.sqrt(math.log1p((deviation / mean) ** 2))
    return Lognormal(math.log(mean) - sigma**2 / 2, sigma, largest=largest)


def _with_assumed_spread(mean: float | None, percentiles: Percentiles, largest: float | None, field: str) -> Lognormal:
    mu = math.log(mean) - _SPREAD**2 / 2 if mean else math.log(percentiles[0][1]) - _SPREAD * _z(percentiles[0][0])
    why = _(
        "lognormal; only one figure was given, and real lengths spread about this much; give p50 and p95 to replace it"
    )
    assumed = Assumption(_("log-spread of {field}").format(field=field), _SPREAD, why)
    return Lognormal(mu, _SPREAD, largest=largest, assumptions=(assumed,))


def _through(percentiles: Percentiles, field: str) -> tuple[float, float]:
    """ln q = mu + sigma z, through two percentiles."""
    (low, low_value), (high, high_value) = percentiles
    if low_value > high_value:
        raise _falling(percentiles, field)
    sigma = math.log(high_value / low_value) / (_z(high) - _z(low))
    return math.log(low_value) - sigma * _z(low), sigma


def _falling(percentiles: Percentiles, field: str) -> BadInput:
    given = {f"p{share * 100:g}": value for share, value in percentiles}
    return BadInput(field, given, _("a higher percentile that is at least the lower one"))


def _through_mean(percentiles: Percentiles, mean: float, field: str) -> tuple[float, float]:
    """ln mean = mu + sigma^2 / 2 and ln q = mu + sigma z: sigma^2 / 2 - sigma z + ln(q / mean) = 0 (smaller root)."""
    share, value = percentiles[0]
    z, log_ratio = _z(share), math.log(value / mean)
    square = z * z - 2 * log_ratio
    sigma = z - math.sqrt(square) if square >= 0 and z > 0 else z + math.sqrt(max(square, 0.0))
    if square < 0 or sigma < 0:
        name = f"p{share * 100:g}"
        raise BadInput(
            field, {"mean": mean, name: value}, _("a mean and a percentile that a lognormal can have together")
        )
    return math.log(value) - sigma * z, sigma


def _through_many(percentiles: Percentiles, largest: float | None, field: str) -> Points:
    """Pieces of lognormals between neighbouring percentiles, the outer ones going on as they come."""
    import numpy as np

    from bide.workload.modelling.fitting import quantile_shares

    values = [value for _share, value in percentiles]
    if values != sorted(values):
        raise _falling(percentiles, field)
    scores, logs = [_z(share) for share, _value in percentiles], [math.log(value) for value in values]
    for end, inner in ((0, 1), (-1, -2)):
        slope = (logs[end] - logs[inner]) / (scores[end] - scores[inner])
        far = _z(_ENDS) if end == 0 else -_z(_ENDS)
        if abs(far) > abs(scores[end]):
            at = 0 if end == 0 else len(scores)
            logs.insert(at, logs[end] + slope * (far - scores[end]))
            scores.insert(at, far)
    shares = quantile_shares()
    at_scores = np.array([_z(min(1 - _ENDS, max(_ENDS, share))) for share in shares.tolist()])
    at = np.exp(np.interp(at_scores, scores, logs))
    return Points(tuple(shares.tolist()), tuple(at.tolist()), largest=largest)
