"""The word beside a row of the table of doublings."""

from __future__ import annotations

import pytest

from bide.interval import Interval
from bide.plan.findings import Reading, Row
from bide.plan.question import Goodput, Measure
from bide.report.plan_asked import Asked
from bide.report.plan_ladders import mark, verdict
from bide.report.words import span
from bide.simulate.operating import Bound

E2E = Measure("e2e", 95.0)
ASKED = (Asked(E2E, "E2E p95", 5.0),)


def row(seconds: float | None, met: bool, surely: bool = False, ratio: float | None = None) -> Row:
    spans = (None if value is None else Interval(value, value, 2 * value) for value in (seconds, ratio))
    promised, goodput = spans
    bound: Bound = "unstable" if seconds is None else "memory"
    return Row(4, 4, Reading(1.0, {E2E: promised}, 3.0, 0.1, bound, goodput), met, surely)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (row(4.0, met=True, surely=True), "yes"),
        (row(4.0, met=True), "likely"),
        (row(6.0, met=False), "no"),
        (row(None, met=False), "no"),
        (row(4.9, met=False), "too busy"),
    ],
)
def test_no_never_stands_beside_a_value_within_the_limit(line: Row, word: str) -> None:
    assert verdict(line, ASKED) == word


def test_the_goodput_counts_and_what_is_only_shown_does_not() -> None:
    goodput = Asked(Goodput(0.95, (("ttft", 1.0),)), "worst over limit", 1.0)
    shown = Asked(Measure("e2e", 95.0), "E2E p95", None)
    assert verdict(row(9.0, met=False, ratio=0.9), (goodput, shown)) == "too busy"
    assert verdict(row(9.0, met=False, ratio=1.1), (goodput, shown)) == "no"


def test_its_colour_is_that_of_a_no() -> None:
    assert mark(met=False, surely=False) == "no"


def test_a_narrow_range_has_a_digit_more() -> None:
    assert span(Interval(1.02, 1.03, 1.04)) == "1.03 s (1.02 to 1.04)"
    assert span(Interval(0.98, 1.03, 1.04)) == "1 s (0.98 to 1)"
    assert span(Interval(0.05, 0.05, 0.05)) == "50 ms (50 to 50)"
