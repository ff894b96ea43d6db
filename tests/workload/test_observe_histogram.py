"""What buckets bound for certain, and the likely curve within them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.workload.lengths import parse_lengths
from bide.workload.observing.histogram import Histogram, from_cumulative, is_1_2_5, next_in_series

EDGES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, math.inf)


def of_values(values: list[int], with_sum: bool = True) -> Histogram:
    at_most = {edge: float(sum(value <= edge for value in values)) for edge in EDGES}
    found = from_cumulative(at_most, float(sum(values)) if with_sum else None, whole=True)
    assert found is not None
    return found


lengths = st.lists(st.integers(1, 3000), min_size=1, max_size=60)


@given(lengths, st.floats(0.01, 0.99))
def test_every_quantile_lies_in_its_interval(values: list[int], share: float) -> None:
    found = of_values(values).quantile(share)
    exact = sorted(values)[math.ceil(share * len(values) - 1e-9) - 1]
    assert found.low <= exact <= found.high


@given(lengths)
def test_the_mean_is_exact_with_the_sum_and_bounded_without(values: list[int]) -> None:
    exact = sum(values) / len(values)
    assert of_values(values).mean.mid == pytest.approx(exact)
    without = of_values(values, with_sum=False).mean
    assert without.low <= exact + 1e-9
    assert exact <= without.high + 1e-9


@given(lengths)
def test_the_curve_keeps_every_bucket(values: list[int]) -> None:
    found = of_values(values)
    points = found.points()
    shares, at = np.array(list(points)) / 100, np.array(list(points.values()))
    assert (np.diff(shares) > 0).all()
    assert (np.diff(at) >= 0).all()
    below = np.cumsum(found.counts) / found.count
    for edge, share in zip(EDGES[:-1], below, strict=False):
        if 0 < share < 1:
            assert np.interp(share - 1e-6, shares, at) <= edge + 0.5
            assert np.interp(share + 1e-6, shares, at) >= edge


def test_the_curve_has_the_mean_of_the_values() -> None:
    values = np.exp(np.random.default_rng(1).normal(5, 1, 4000)).astype(int) + 1
    points = of_values([int(v) for v in values]).points()
    shares = np.array(list(points)) / 100
    at = np.array(list(points.values()))
    mean = sum(
        (right - left) * (low + high) / 2 for (left, low), (right, high) in pairwise(zip(shares, at, strict=True))
    )
    assert mean == pytest.approx(values.mean(), rel=1e-3)


def test_the_service_file_s_points_draw_the_same_quantiles() -> None:
    found = of_values([3, 7, 30, 60, 150, 150, 300, 700])
    drawn = parse_lengths({"points": found.points()}, "prompt").even(4096, 1)
    for edge, share in zip(EDGES, np.cumsum(found.counts) / 8, strict=True):
        assert (drawn <= edge).mean() == pytest.approx(share, abs=0.002)
    assert drawn.mean() == pytest.approx(175, rel=0.01)  # (3 + 7 + 30 + 60 + 150 + 150 + 300 + 700) / 8


def test_an_open_bucket_has_no_upper_bound_and_a_known_end_gives_one() -> None:
    # three of four above the last edge
    found = of_values([10, 1500, 1600, 1700])
    assert found.quantile(0.5).low == 1001
    assert math.isinf(found.quantile(0.5).high)
    closed = Histogram(found.edges, found.counts, found.total, True, top=1999.0)
    assert closed.quantile(0.5).high == 1999


def test_an_open_bucket_s_curve_reaches_as_far_as_the_mean_needs() -> None:
    # the mean of 5,010 is not reached by 10 and a bucket that ends at 2,500
    assert of_values([10, 10_010]).end >= 10_010


def test_single_tokens_leave_the_times_per_token() -> None:
    # vLLM records 0 for a request of one token: two of five
    at_most = {0.01: 2.0, 0.025: 5.0, math.inf: 5.0}
    found = from_cumulative(at_most, 0.06)
    assert found is not None
    rest = found.without_first(2)
    assert (rest.count, rest.mean.mid) == (3, pytest.approx(0.02))
    assert rest.quantile(0.5).low == 0.01


def test_counts_that_fall_are_lifted_and_nothing_is_none() -> None:
    found = from_cumulative({1.0: 5.0, 2.0: 4.9, math.inf: 6.0})
    assert found is not None
    assert found.counts == (5.0, 0.0, 1.0)
    assert from_cumulative({1.0: 0.0, math.inf: 0.0}) is None
    assert from_cumulative({}) is None


def test_a_sum_outside_the_buckets_does_not_fit() -> None:
    assert of_values([3, 4]).sum_fits
    assert not Histogram((0.0, 10.0, 20.0), (0.0, 4.0), total=4.0).sum_fits


@pytest.mark.parametrize(("edge", "following"), [(1, 2), (2, 5), (5, 10), (1000, 2000), (50_000, 100_000)])
def test_the_series_of_vllm_s_token_buckets(edge: float, following: float) -> None:
    assert next_in_series(edge) == following


def test_vllm_s_buckets_are_known_from_others() -> None:
    assert is_1_2_5((0.0, 1.0, 2.0, 5.0, 10.0, math.inf))
    assert not is_1_2_5((0.0, 1.0, 5.0, 10.0, math.inf))
    assert not is_1_2_5((0.0, 100.0, 300.0, math.inf))
