"""Which other limits are tried: of the one that was asked for, and of all together."""

import pytest

from bide.facts.hf import from_config
from bide.plan.asks import asks_of
from bide.plan.frontier import Wait, waits
from bide.plan.question import Limit, Measure, Service, Traffic
from bide.workload.lengths import described_workload
from plan_inputs import LLAMA

WORK = described_workload({"prompt": 1000, "output": 100}, "lengths")
TTFT, TPOT, E2E = (Measure(latency, 95.0) for latency in ("ttft", "tpot", "e2e"))


def asked(*limits: Limit) -> Service:
    return Service("chat", from_config(LLAMA, "llama"), WORK, Traffic(4.0), limits, {})


def of_kind(service: Service, kind: str) -> list[Wait]:
    return [wait for wait in waits(service) if wait.kind == kind]


@pytest.mark.parametrize(
    ("limit", "longest_s"), [(Limit(TTFT, 2.0), 5.0), (Limit(TTFT, 4.0), 8.0), (Limit(E2E, 30.0), 60.0)]
)
def test_there_is_always_something_that_is_half_as_long_again(limit: Limit, longest_s: float) -> None:
    tried = [wait.seconds for wait in of_kind(asked(limit), "one")]
    assert tried == sorted(tried)
    assert limit.seconds in tried
    assert tried[-1] == longest_s


def test_several_limits_are_also_lengthened_together() -> None:
    service = asked(Limit(TTFT, 2.0), Limit(TPOT, 0.06))
    found = of_kind(service, "all")
    assert [wait.seconds for wait in found] == [3.0, 4.0]
    assert [[ask.most for ask in wait.asks] for wait in found] == [[3.0, pytest.approx(0.09)], [4.0, 0.12]]
    assert [ask.probe for ask in found[0].asks] == [ask.probe for ask in asks_of(service)]


def test_a_single_limit_is_lengthened_once() -> None:
    assert not of_kind(asked(Limit(E2E, 5.0)), "all")
