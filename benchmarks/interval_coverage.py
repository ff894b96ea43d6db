"""How often `bide.bootstrap`'s 95 % interval holds the truth: `python benchmarks/interval_coverage.py [PATHS]`.

Latencies of an AR(1) process (lognormal, so that its percentiles are known), one value every
0.1 s, correlated over a few mean stays, for windows of several lengths. Prints for each length the
number of blocks, and for p50, p95 and p99 the share of paths whose interval holds the truth.
"""

from __future__ import annotations

import sys
from statistics import NormalDist

import numpy as np

from bide.bootstrap import block_count, percentile_intervals

_PERCENTS = (50, 95, 99)
_GAP_S, _STAY_S, _SIGMA = 0.1, 2.0, 0.5


def _path(count: int, rng: np.random.Generator) -> np.ndarray:
    """Lognormal values whose logarithms forget themselves in a mean stay."""
    kept = np.exp(-_GAP_S / _STAY_S)
    shocks = rng.standard_normal(count) * np.sqrt(1 - kept**2)
    state = rng.standard_normal()
    out = np.empty(count)
    for at, shock in enumerate(shocks):
        out[at] = state = kept * state + shock
    return np.exp(_SIGMA * out)


def main() -> None:
    paths = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    truth = [np.exp(_SIGMA * NormalDist().inv_cdf(percent / 100)) for percent in _PERCENTS]
    print(f"{'window':>9} {'blocks':>7} " + " ".join(f"{f'p{percent}':>6}" for percent in _PERCENTS))
    for window_s in (200.0, 600.0, 2000.0):
        rng, held = np.random.default_rng(1), np.zeros(len(_PERCENTS))
        count, blocks = int(window_s / _GAP_S), block_count(window_s, _STAY_S)
        times_s = np.arange(count) * _GAP_S
        for seed in range(paths):
            found = percentile_intervals(times_s, _path(count, rng), _PERCENTS, blocks, seed)
            held += [low <= true <= high for (low, high), true in zip(found, truth, strict=True)]
        print(f"{window_s:7.0f} s {blocks:7d} " + " ".join(f"{share:6.1%}" for share in held / paths))


if __name__ == "__main__":
    main()
