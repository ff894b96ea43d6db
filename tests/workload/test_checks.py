"""Caps and clock ticks: found where they are, not where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from bide.workload.arrivals import find_tick_s
from bide.workload.reading.checks import caps


def test_a_cap_is_a_spike_with_nothing_above() -> None:
    tokens = np.minimum(np.rint(np.exp(np.random.default_rng(0).normal(7, 1, 10_000))).astype(int), 4096)
    (cap,) = caps(tokens, "prompt")
    assert cap.values["tokens"] == 4096
    assert cap.values["count"] == (tokens == 4096).sum()


@pytest.mark.parametrize(
    "tokens",
    [
        np.rint(np.exp(np.random.default_rng(0).normal(7, 1, 10_000))).astype(int),  # no limit
        np.full(1000, 512),  # always the same
        np.concatenate((np.full(600, 91), np.arange(100, 4000))),  # a template, with longer ones above
        np.array([5, 5, 5, 9]),  # too few
    ],
    ids=["lognormal", "fixed", "template", "few"],
)
def test_what_is_no_cap(tokens: np.ndarray) -> None:
    assert caps(tokens, "prompt") == []


def arrivals(rate: float, count: int = 2000) -> np.ndarray:
    return np.cumsum(np.random.default_rng(1).exponential(1 / rate, count))


def test_a_coarse_clock_is_found_even_where_it_jitters() -> None:
    # Mooncake's conversations: steps of 2.997 to 3.003 s
    ticks = np.floor(arrivals(3.4) / 3)
    jitter = np.random.default_rng(2).uniform(-0.0015, 0.0015, int(ticks.max()) + 1)
    assert find_tick_s(3 * ticks + jitter[ticks.astype(int)]) == pytest.approx(3.0, abs=0.002)


@pytest.mark.parametrize(("rate", "tick"), [(5.0, 1.0), (0.3, 1.0), (0.05, 10.0), (8.0, 0.1)])
def test_whole_seconds_are_a_tick_at_any_rate(rate: float, tick: float) -> None:
    assert find_tick_s(np.floor(arrivals(rate) / tick) * tick) == pytest.approx(tick)


def test_what_is_no_tick() -> None:
    assert find_tick_s(arrivals(5.0)) is None
    assert find_tick_s(np.floor(arrivals(5.0) * 1000) / 1000) is None  # milliseconds are fine enough
    assert find_tick_s(np.arange(1000.0)) is None  # a metronome is no clock
    assert find_tick_s(np.repeat(np.cumsum(np.random.default_rng(0).exponential(9, 300)), 4)) is None  # real herds
