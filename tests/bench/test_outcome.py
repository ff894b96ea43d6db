"""The line of a request in the journal."""

from __future__ import annotations

from array import array

import pytest

from bide.bench.outcome import Outcome, from_line, to_line


@pytest.mark.parametrize("time_s", [3.0089385, 0.8672915, 2.0000005, 0.5])
def test_times_that_were_equal_stay_equal_when_written_to_the_microsecond(time_s: float) -> None:
    # round(3.0089385, 6) is 3.008939, while the nearest whole microsecond of its product by a million is 3,008,938.
    row = Outcome(0, 0.0, 0.0, time_s, time_s, time_s, "ok", chunk_s=array("d", [time_s]), chunk_tokens=array("i", [1]))
    again = from_line(to_line(row))
    assert again.first_byte_s == again.content_s == again.end_s == again.chunk_s[0] == pytest.approx(time_s, abs=1e-6)
