"""Distributions from recorded lengths: measured quantiles, a lognormal by its moments, a mixture of three."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bide.workload.modelling.distributions import Lognormal, Mixture, Points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_ROUNDS = 300
_ENOUGH = 1e-9
_LEAST_SIGMA = 0.02
"""A part of a mixture narrower than 2 % would be a spike, which the empirical quantiles are for."""
_STEPS = 500
"""Logs are counted to the 500th, 0.2 % of a length: far finer than the narrowest part."""


def quantile_shares() -> Floats:
    """0 to 0.98 by hundredths, finer above: the tail is what capacity hangs on."""
    import numpy as np

    body = np.arange(0.0, 0.98, 0.01)
    tail = np.arange(0.98, 0.998, 0.001)
    return np.round(np.concatenate((body, tail, [0.998, 0.9985, 0.999, 0.9995, 0.9999, 1.0])), 6).astype(np.float64)


def quantiles_of(tokens: Ints) -> Points:
    """The measured quantiles, the default: no shape is assumed."""
    import numpy as np

    shares = quantile_shares()
    at = np.percentile(tokens, 100 * shares)
    return Points(tuple(shares.tolist()), tuple(at.tolist()), largest=float(tokens.max()))


def lognormal_of(tokens: Ints) -> Lognormal:
    """Through mean and variance, cut off at the observed maximum.

    sigma^2 = ln(1 + variance / mean^2), mu = ln mean - sigma^2 / 2. The maximum-likelihood fit of the logs is
    not taken: it overstates the load where short lengths are many (28 % on Mooncake's conversations).
    """
    mean, variance = float(tokens.mean()), float(tokens.var())
    sigma = math.sqrt(math.log1p(variance / mean**2))
    return Lognormal(math.log(mean) - sigma**2 / 2, sigma, largest=float(tokens.max()))


def mixture_of(tokens: Ints, parts: int = 3) -> Mixture:
    """Lognormals by expectation maximisation over the logs of lengths, cut off at the observed maximum.

    Begun twice, with the parts at equal shares of the requests and at equal steps of the logs; the likelier is taken.
    """
    import numpy as np

    steps, counts = np.unique(np.rint(np.log(tokens) * _STEPS), return_counts=True)
    logs, weights = steps / _STEPS, counts / counts.sum()
    middles = (np.arange(parts) + 0.5) / parts
    starts = (np.interp(middles, np.cumsum(weights), logs), logs[0] + middles * (logs[-1] - logs[0]))
    _likelihood, found = max((_maximised(logs, weights, start) for start in starts), key=lambda each: each[0])
    return Mixture(tuple(sorted(found, key=lambda part: part[1])), largest=float(tokens.max()))


def _maximised(logs: Floats, weights: Floats, mu: Floats) -> tuple[float, list[tuple[float, float, float]]]:
    """Mean log-likelihood and (weight, mu, sigma) of each part, from where the parts begin."""
    import numpy as np

    mean = float(np.average(logs, weights=weights))
    spread = math.sqrt(float(np.average((logs - mean) ** 2, weights=weights)))
    sigma = np.full(len(mu), max(_LEAST_SIGMA, spread / len(mu)))
    share = np.full(len(mu), 1.0 / len(mu))
    likelihood = -math.inf
    for _round in range(_ROUNDS):
        density = share * np.exp(-0.5 * ((logs[:, None] - mu) / sigma) ** 2) / sigma
        total = np.maximum(density.sum(axis=1), 1e-300)
        belongs = density / total[:, None] * weights[:, None]
        share = np.maximum(belongs.sum(axis=0), 1e-12)
        mu = (belongs * logs[:, None]).sum(axis=0) / share
        deviation = np.sqrt((belongs * (logs[:, None] - mu) ** 2).sum(axis=0) / share)
        sigma = np.maximum(deviation, _LEAST_SIGMA)
        before, likelihood = likelihood, float((weights * np.log(total)).sum())
        if likelihood - before < _ENOUGH:
            break
    return likelihood, list(zip(share.tolist(), mu.tolist(), sigma.tolist(), strict=True))
