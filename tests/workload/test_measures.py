"""Lengths, their certainty, correlation, rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.sourced import Source
from bide.workload.measuring.description import describe
from bide.workload.measuring.lengths import design_effect, length_stats, spearman
from bide.workload.measuring.rates import arrival_stats
from bide.workload.trace import Trace


def trace(prompt: list[int], output: list[int], **columns: object) -> Trace:
    return Trace(np.array(prompt), np.array(output), None, Source("by hand", kind="given"), **columns)  # type: ignore[arg-type]


def test_percentiles_by_hand() -> None:
    stats = length_stats(np.arange(1, 102))  # 1 to 101: the p50 is 51, the p99 is 100
    assert (stats.percentiles[50.0], stats.percentiles[99.0], stats.mean, stats.largest) == (51, 100, 51, 101)


def test_the_range_of_a_p99_holds_the_true_one_as_often_as_it_says() -> None:
    # lognormal lengths, whose p99 is exp(2.3263) times the median: in 90 % of 400 samples it lies in the range
    rng = np.random.default_rng(3)
    truth = 1000 * np.exp(2.3263)
    held = 0
    for _sample in range(400):
        span = length_stats(np.rint(1000 * np.exp(rng.standard_normal(1000))).astype(np.int64)).sure[99.0]
        held += span.low <= truth <= span.high
    assert held / 400 == pytest.approx(0.9, abs=0.05)


def test_lengths_that_come_in_runs_are_less_sure() -> None:
    # the same lengths, shuffled and sorted into runs of 200
    rng = np.random.default_rng(0)
    tokens = np.rint(np.exp(rng.standard_normal(10_000)) * 1000).astype(np.int64)
    runs = np.sort(tokens).reshape(50, 200)[rng.permutation(50)].reshape(-1)
    shuffled, clustered = length_stats(tokens).sure[90.0], length_stats(runs).sure[90.0]
    assert clustered.high - clustered.low > 3 * (shuffled.high - shuffled.low)
    assert design_effect(tokens > 2000, 0.25) < 2


@pytest.mark.parametrize(
    ("one", "other", "rho"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1.0),
        ([1, 2, 3, 4], [9, 7, 5, 1], -1.0),
        ([1, 1, 2, 2], [1, 2, 1, 2], 0.0),
        # ranks 1 2.5 2.5 4 and 1 2 3 4: covariance 4.5, sums of squares 4.5 and 5
        ([1, 2, 2, 9], [1, 2, 3, 4], 4.5 / np.sqrt(4.5 * 5)),
    ],
)
def test_rank_correlation_by_hand(one: list[int], other: list[int], rho: float) -> None:
    assert spearman(np.array(one), np.array(other)) == pytest.approx(rho, abs=1e-12)


def test_a_constant_column_correlates_with_nothing() -> None:
    assert spearman(np.array([5, 5, 5]), np.array([1, 2, 3])) is None


def test_rates_in_windows_by_hand() -> None:
    # 0.0 0.1 0.2 | 1.5 | (nothing) | 3.9 4.0: whole seconds hold 3, 1, 0, 1
    stats = arrival_stats(np.array([0.0, 0.1, 0.2, 1.5, 3.9, 4.0]))
    assert stats is not None
    (second,) = stats.windows  # 10 s and 60 s do not fit twice
    assert (second.mean_rps, second.peak_rps) == (1.25, 3.0)
    assert second.dispersion == pytest.approx((1.75**2 + 0.25**2 + 1.25**2 + 0.25**2) / 4 / 1.25)
    assert stats.mean_rps == pytest.approx(5 / 4)


def test_poisson_arrivals_look_like_poisson() -> None:
    stats = arrival_stats(np.cumsum(np.random.default_rng(0).exponential(0.2, 50_000)))
    assert stats is not None
    assert stats.gap_variation == pytest.approx(1, abs=0.02)
    assert [window.dispersion for window in stats.windows] == pytest.approx([1, 1, 1], abs=0.25)
    assert stats.peak_hour_to_mean == pytest.approx(1, abs=0.1)


def test_a_metronome_does_not_vary() -> None:
    stats = arrival_stats(np.arange(1000.0))
    assert stats is not None
    assert (stats.gap_variation, stats.windows[1].dispersion) == (0.0, 0.0)


def test_all_at_once_has_no_rate() -> None:
    assert arrival_stats(np.zeros(5)) is None


def test_failures_are_load_but_no_lengths() -> None:
    about = describe(trace([10, 20, 1000], [1, 3, 0]))
    assert (about.requests, about.answered) == (3, 2)
    assert about.prompt.mean == 15
    assert about.output is not None
    assert about.output.smallest == 1


def test_a_running_request_is_longer_than_the_mean_one() -> None:
    # 10 + 100 / 2 = 60 seen 100 long, 10 + 300 / 2 = 160 seen 300 long: 135 against a plain mean of 110
    resident = describe(trace([10, 10], [100, 300])).resident
    assert resident is not None
    assert (resident.mean_tokens, resident.plain_tokens) == (135, 110)
    assert resident.bias == pytest.approx(1.227, abs=1e-3)


def test_sessions_and_their_pauses() -> None:
    about = describe(
        trace([5] * 4, [5] * 4, session=np.array([0, 0, 0, 1]), think_s=np.array([np.nan, 2.0, 4.0, np.nan]))
    )
    assert about.sessions is not None
    assert (about.sessions.count, about.sessions.mean_turns, about.sessions.think_p50_s) == (2, 2.0, 3.0)


def test_what_a_server_never_found_is_not_told() -> None:
    assert describe(trace([10, 10], [1, 1], cached_tokens=np.array([0, 0]))).cached_share is None
    assert describe(trace([10, 10], [1, 1], cached_tokens=np.array([0, 5]))).cached_share == 0.25


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=60))
def test_ranges_hold_their_percentiles(tokens: list[int]) -> None:
    stats = length_stats(np.array(tokens))
    for percent, span in stats.sure.items():
        assert stats.smallest <= span.low <= stats.percentiles[percent] <= span.high <= stats.largest


def test_a_trace_out_of_order_or_uneven_is_refused() -> None:
    with pytest.raises(ValueError, match="order"):
        Trace(np.ones(2, int), np.ones(2, int), np.array([1.0, 0.0]), Source("x"))
    with pytest.raises(ValueError, match="lengths"):
        Trace(np.ones(2, int), np.ones(3, int), None, Source("x"))
