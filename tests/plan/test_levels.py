"""What a measured level of load tells of a replica, and what it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bide.bench.formats.assembling import run_of_table
from bide.bench.formats.values import Asked, Fault
from bide.plan.asks import Probe
from bide.plan.measured.levels import Level
from bide.plan.question import Goodput, Measure
from made_runs import closed_table

TTFT = Measure("ttft", 95.0)
GOOD = Goodput(0.9, (("ttft", 1.0),))


def level(*faults: Fault, listed: bool = True) -> Level:
    run = run_of_table(closed_table(4, 120), "a.jsonl", "some tool", Asked("concurrency", 4.0), faults)
    return Level(2.0, 4.0, run if listed else replace(run, table=None))


@pytest.mark.parametrize("listed", [True, False])
def test_a_figure_that_the_measurement_spoilt_is_not_told(listed: bool) -> None:
    assert level(listed=listed).taken(Probe(TTFT)) is not None
    spoilt = Fault("role_only_ttft", "no token", "distrust", ("ttft",))
    assert level(spoilt, listed=listed).taken(Probe(TTFT)) is None
    assert level(spoilt, listed=listed).taken(Probe(Measure("e2e", 95.0))) is not None


def test_where_one_limit_was_measured_badly_their_keeping_is_not_known() -> None:
    assert level().taken(Probe(GOOD)) is not None
    assert level(Fault("role_only_ttft", "no token", "distrust", ("ttft",))).taken(Probe(GOOD)) is None


def test_a_spoilt_tail_leaves_the_median() -> None:
    told = level(Fault("client_tail", "lagged", "distrust", ("e2e",), 90.0))
    assert told.taken(Probe(Measure("e2e", 50.0))) is not None
    assert told.taken(Probe(Measure("e2e", None))) is not None
    assert told.taken(Probe(Measure("e2e", 95.0))) is None
    assert told.spoilt_by(Probe(Measure("e2e", 95.0))) == "lagged"
    assert told.spoilt_by(Probe(Measure("e2e", 50.0))) == ""
