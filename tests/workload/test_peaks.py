import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.workload.measuring.peaks import hours_of, peak_of

TIMES = st.lists(st.floats(0, 1000), min_size=1, max_size=60).map(lambda times: np.sort(np.array(times)))


def test_the_busiest_window_begins_at_a_request() -> None:
    # 3 requests in [5, 7), 3 / 2 s
    peak = peak_of(np.array([0.0, 5.0, 5.5, 6.0, 20.0]), 2.0)
    assert (peak.start_s, peak.requests, peak.rps) == (5.0, 3, 1.5)


def test_the_end_of_a_window_is_not_in_it() -> None:
    assert peak_of(np.array([0.0, 1.0, 2.0]), 1.0).requests == 1


@given(TIMES, st.floats(0.1, 100), st.floats(0, 1000))
def test_no_window_holds_more(times: np.ndarray, window_s: float, start_s: float) -> None:
    inside = (times >= start_s) & (times - start_s < window_s - 1e-9)
    assert peak_of(times, window_s).requests >= inside.sum()


def test_hours_are_means_over_days() -> None:
    # Two days: one request an hour, but 3 in hour 5 of the first day: (3 + 1) / 2 = 2 on average against 1.
    hours = [float(h * 3600) for h in range(49)] + [5 * 3600.0 + 1, 5 * 3600.0 + 2]
    shares = hours_of(np.sort(np.array(hours)))
    assert len(shares) == 24
    assert shares[5] == 1
    assert shares[4] == pytest.approx(0.5)


def test_a_part_of_a_day_has_no_hours() -> None:
    with pytest.raises(ValueError, match="23 whole hours"):
        hours_of(np.array([0.0, 23.5 * 3600]))
