import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.plan.autoscale import Autoscaling, Demand, autoscaling
from bide.plan.day import Day
from bide.plan.thresholds import LARGEST_GROWTH, ReplicaState, kept_rps, thresholds

OFFICE = Day((0.1,) * 12 + (1.0,) * 12)
DAYS = st.lists(st.floats(0, 1), min_size=24, max_size=24).map(lambda shares: Day((*shares[:23], 1.0)))
MINUTES = st.floats(0, 240)
CARRIED = st.floats(0.01, 2.0)


def scaled(day: Day, carried: float, minutes: float = 0.0, standing_by: int = 0) -> Autoscaling:
    return autoscaling(Demand(day, carried, minutes * 60), 1, standing_by, 2.0)


def test_a_day_is_straight_lines_between_the_middles_of_its_hours() -> None:
    assert OFFICE.at(11.5) == pytest.approx(0.1)
    assert OFFICE.at(12.0) == pytest.approx(0.55)
    assert OFFICE.at(24.0) == pytest.approx(0.55)  # the next day is alike
    assert OFFICE.mean == pytest.approx(0.55)


@pytest.mark.parametrize("shares", [(1.0,) * 23, (*(1.0,) * 23, -0.1)])
def test_a_day_has_24_hours_and_no_rate_below_nothing(shares: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="24 shares"):
        Day(shares)


def test_gpu_hours_by_hand() -> None:
    # Two replicas, each half the peak. The second is needed while the rate is above 0.5: all of the 11 hours between
    # the twelve middles at 1.0, and on both sides the part above 0.5 of a slope from 0.1 to 1.0, 0.5 / 0.9 of an hour.
    found = scaled(OFFICE, 0.5)
    assert found.fixed_gpu_hours == 48
    assert found.scheduled_gpu_hours == pytest.approx(24 + 11 + 2 * 0.5 / 0.9)
    assert found.usd_saved_per_month == pytest.approx((48 - 36.1111) * 365 / 12 * 2.0, rel=1e-4)


def test_a_start_of_half_an_hour_is_paid_half_an_hour_longer() -> None:
    assert scaled(OFFICE, 0.5, 30).scheduled_gpu_hours == pytest.approx(scaled(OFFICE, 0.5).scheduled_gpu_hours + 0.5)


def test_a_dip_shorter_than_a_start_saves_nothing() -> None:
    dip = Day((1.0,) * 11 + (0.2,) + (1.0,) * 12)  # at or below 0.5 for 2 x 0.3 / 0.8 = 0.75 hours
    assert scaled(dip, 0.5, 60).scheduled_gpu_hours == 48
    assert scaled(dip, 0.5, 30).scheduled_gpu_hours == pytest.approx(48 - 0.25)


def test_replicas_by_hour_are_rounded_up_and_those_standing_by_added() -> None:
    found = scaled(Day((0.0,) * 6 + (0.3,) * 6 + (0.61,) * 6 + (1.0,) * 6), 0.3, standing_by=1)
    assert found.replicas_by_hour == (2,) * 12 + (4,) * 6 + (5,) * 6
    assert found.fixed_replicas == 5


def test_a_fleet_for_a_peak_that_no_day_reaches_is_larger_than_any_hour_needs() -> None:
    found = autoscaling(Demand(Day((0.6,) * 24), 0.25, 60.0), replica_gpus=2, replicas=4)
    assert (found.fixed_replicas, found.fixed_gpu_hours) == (4, 4 * 2 * 24)
    assert found.replicas_by_hour == (3,) * 24  # 0.6 / 0.25, rounded up
    assert found.scheduled_gpu_hours == 3 * 2 * 24


def test_growth_is_that_of_the_steepest_start() -> None:
    # From 0.1 to 1.0 in an hour, from 11:30 on; ten minutes later 0.1 + 0.9 / 6 = 0.25
    assert OFFICE.steepest(1 / 6) == pytest.approx(2.5)
    assert OFFICE.steepest(0.0) == pytest.approx(1.0)
    assert Day((0.0,) * 12 + (1.0,) * 12).steepest(0.1) == math.inf


def test_growth_only_counts_where_it_passes_what_stands() -> None:
    # To 0.55 (at 12:00) from ten minutes before: 0.55 / 0.4
    assert OFFICE.steepest(1 / 6, over=0.55) == pytest.approx(0.55 / 0.4)


def test_so_many_stand_that_no_start_is_overtaken() -> None:
    found = scaled(Day((0.0,) * 12 + (1.0,) * 12), 0.05, 10)
    # From 0 the rate is t after t hours: in 1/6 of an hour it more than doubles up to t + 1/6 = 2/6, 6.67 replicas
    assert found.min_replicas == 7
    assert found.growth <= LARGEST_GROWTH


@settings(max_examples=200, deadline=None)
@given(DAYS, CARRIED, MINUTES, st.integers(0, 2))
def test_following_the_day_never_takes_more_than_the_fixed_fleet(
    day: Day, carried: float, minutes: float, standing_by: int
) -> None:
    found = scaled(day, carried, minutes, standing_by)
    assert found.scheduled_gpu_hours <= found.reactive_gpu_hours * (1 + 1e-9)
    assert found.reactive_gpu_hours <= found.fixed_gpu_hours * (1 + 1e-9)
    assert max(found.replicas_by_hour) == found.fixed_replicas


@given(DAYS, CARRIED, MINUTES, MINUTES)
def test_a_longer_start_never_takes_fewer_gpu_hours(day: Day, carried: float, one: float, more: float) -> None:
    short, long = scaled(day, carried, one), scaled(day, carried, one + more)
    assert long.scheduled_gpu_hours >= short.scheduled_gpu_hours - 1e-9


@settings(max_examples=30, deadline=None)
@given(DAYS, st.floats(0.05, 2.0), st.sampled_from([0.0, 10.0, 50.0]))
def test_gpu_hours_are_those_of_a_walk_through_the_day(day: Day, carried: float, minutes: float) -> None:
    """Brute force: every half minute, the most replicas needed from then until a start later."""
    step_min = 0.5
    needed = [max(1, math.ceil(day.at(step * step_min / 60) / carried)) for step in range(2 * 24 * 60)]
    ahead = int(minutes / step_min)
    twice = needed + needed
    walked = sum(max(twice[step : step + ahead + 1]) for step in range(len(needed))) * step_min / 60
    # each replica's hours begin and end within a step
    assert scaled(day, carried, minutes).scheduled_gpu_hours == pytest.approx(walked, abs=0.3 * max(needed))


@settings(max_examples=60, deadline=None)
@given(DAYS, st.floats(0.02, 0.9), st.floats(1, 60))
def test_replicas_by_the_thresholds_are_ready_when_the_load_comes(day: Day, carried: float, minutes: float) -> None:
    demand = Demand(day, carried, minutes * 60)
    fewest = demand.fewest_standing()
    growth = demand.growth(fewest)
    for minute in range(0, 24 * 60, 7):
        start = minute / 60
        asked = min(demand.most, max(fewest, math.ceil(day.at(start) * growth / carried * (1 + 1e-9))))
        for part in range(11):
            assert day.at(start + part / 10 * minutes / 60) <= asked * carried * (1 + 1e-9)


def test_thresholds_by_hand() -> None:
    rate = kept_rps(4.0, 1.6)
    assert rate == pytest.approx(2.5)
    kept, highest = ReplicaState(rate, 20.0, 0.0, 0.4), ReplicaState(4.0, 40.0, 2.3, 0.7)
    found = thresholds(kept, highest, replicas=(2, 9), scale_up_s=600.0, growth=1.6)
    assert (found.running_requests, found.waiting_requests, found.kv_usage) == (20.0, 3.0, 0.4)
    assert (found.min_replicas, found.max_replicas) == (2, 9)
    assert found.scale_down_s == 600.0
    assert "4 / 1.6 = 2.5" in found.why["requests_per_s"]
    assert "each for 8 s" in found.why["running_requests"]  # 20 / 2.5


def test_an_unknown_day_is_assumed_and_said() -> None:
    state = ReplicaState(1.0, 1.0, 0.0, 0.1)
    found = thresholds(state, state, replicas=(1, 1), scale_up_s=60.0)
    assert found.growth_assumed
    assert "(assumed)" in found.why["requests_per_s"]
    assert found.scale_down_s == 300.0  # Kubernetes' own
    assert found.waiting_requests == 1.0
