"""Arrivals from what began and what waits; peaks and hours."""

from __future__ import annotations

import pytest

from bide.workload.observing.rates import Rates, arrivals


def test_what_arrived_began_or_waits() -> None:
    # A full engine begins 60 a minute while 90 arrive: the queue grows by 30, then is worked off.
    begun = {1: 60.0, 2: 60.0, 3: 60.0}
    waiting = {0: 0.0, 1: 30.0, 2: 60.0, 3: 0.0}
    rates = arrivals(begun, waiting, 60.0)
    assert rates.arrived == {1: 90.0, 2: 90.0, 3: 0.0}
    assert rates.peak_rps == 1.5
    assert rates.mean_rps == pytest.approx(1.0)
    assert rates.queue_known


def test_without_a_queue_what_began_stands() -> None:
    rates = arrivals({1: 30.0, 3: 60.0}, {}, 60.0)
    assert rates.arrived == {1: 30.0, 3: 60.0}
    assert (rates.covered_s, rates.peak_step, rates.queue_known) == (120.0, 3, False)


def test_the_busiest_hour_has_no_gap() -> None:
    # steps of 20 minutes: 1, 2, 3, (gap), 9 -> the one whole hour is 1 + 2 + 3 in 3,600 s
    rates = Rates(1200.0, {1: 1.0, 2: 2.0, 3: 3.0, 5: 9.0}, False)
    assert rates.busiest_hour_rps == pytest.approx(6 / 3600)
    assert Rates(1200.0, {1: 1.0, 2: 2.0}, False).busiest_hour_rps is None


def test_dispersion_is_variance_over_mean() -> None:
    # counts 2 and 4: variance 2, mean 3
    assert Rates(1.0, {1: 2.0, 2: 4.0}, False).dispersion == pytest.approx(2 / 3)
    assert Rates(1.0, {1: 2.0}, False).dispersion is None


def test_nothing_has_no_rate() -> None:
    empty = Rates(60.0, {}, False)
    assert (empty.mean_rps, empty.peak_rps, empty.peak_step, empty.busiest_hour_rps) == (0.0, 0.0, 0, None)
