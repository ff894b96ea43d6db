"""Facts carry their source; runners keep order."""

from __future__ import annotations

import pytest

from bide.runners import Runner, processes, serial
from bide.sourced import Assumption, Source


def test_a_source_shows_its_date_and_whether_it_was_verified() -> None:
    assert str(Source("data sheet", "2026-08-21")) == "data sheet (2026-08-21)"
    assert str(Source("memory", verified=False)) == "UNVERIFIED: memory"


def test_an_assumption_says_what_and_why() -> None:
    assert str(Assumption("max_model_len", 8192, "not given")) == "max_model_len = 8192 (not given)"


@pytest.mark.parametrize("run", [serial, processes(2)], ids=["serial", "processes"])
def test_results_come_in_the_order_of_the_items(run: Runner) -> None:
    assert list(run(abs, [-3, 1, -2])) == [3, 1, 2]


@pytest.mark.parametrize("run", [serial, processes(2)], ids=["serial", "processes"])
def test_an_error_is_raised_at_its_turn(run: Runner) -> None:
    results = run(int, ["1", "x", "3"])
    assert next(results) == 1
    with pytest.raises(ValueError, match="invalid literal"):
        next(results)
