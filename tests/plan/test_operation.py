from dataclasses import replace
from functools import cache

import pytest

from bide.facts.gpus import find_gpu
from bide.facts.hf import from_config
from bide.physics.profile import load_profile
from bide.plan.asks import asks_of
from bide.plan.candidate import Candidate, candidates
from bide.plan.capacity import Capacity
from bide.plan.cost import cost_of
from bide.plan.offer import Terms, option_of
from bide.plan.operation import Operation, operation_of
from bide.plan.option import Option
from bide.plan.question import ApiPrice, Fleet, Hardware, Limit, Measure, Service, Traffic
from bide.plan.reading import capacity_of
from bide.plan.replica_state import replica_state
from bide.workload.lengths import described_workload
from plan_inputs import LLAMA

H100 = find_gpu("h100-sxm")
WORK = described_workload({"prompt": {"p50": 900, "p95": 4000}, "output": {"p50": 120, "p95": 430}}, "lengths")
HOURS = (0.2,) * 8 + (1.0,) * 10 + (0.4,) * 6
PATIENCE = (Limit(Measure("ttft", 95.0), 1.0), Limit(Measure("tpot", 95.0), 0.05))
CHAT = Service(
    "chat",
    from_config(LLAMA, "llama"),
    WORK,
    Traffic(60.0, 1.5, hours=HOURS),
    PATIENCE,
    engine={"tp": 1, "max_num_batched_tokens": 8192},
    api_price=ApiPrice(0.15, 0.6),
)
HARDWARE = Hardware((H100,), 64, {"h100-sxm": 2.0})


@cache
def capacity() -> Capacity:
    (found,) = (c for c in candidates(CHAT, HARDWARE, load_profile(None)) if isinstance(c, Candidate))
    return Capacity(found)


def needed() -> int:
    found = capacity().fewest(CHAT.traffic.planned_rps, 64, asks_of(CHAT))
    assert found is not None
    return found


@cache
def option() -> Option:
    return option_of(capacity_of(capacity().candidate), needed(), Terms(HARDWARE, Fleet(), load_profile(None)))


def operation(service: Service = CHAT, replicas: int | None = None, standing_by: int = 0) -> Operation:
    count = replicas or needed()
    cost = cost_of(count + standing_by, option().price, service)
    found = operation_of(replace(option(), replicas=count, spare=standing_by, cost=cost), service, Fleet())
    assert found is not None
    return found


def test_a_replicas_state_keeps_littles_law() -> None:
    seen = capacity().at(8.0)
    state = replica_state(capacity().setup("likely"), capacity().basket, 8.0)
    assert seen is not None
    assert state.running == pytest.approx(seen.running, rel=0.05)  # rate x time in the batch
    assert 0 < state.kv_usage < 1
    assert state.waiting < state.running


def test_more_load_fills_a_replica() -> None:
    low, high = (replica_state(capacity().setup("likely"), capacity().basket, rate) for rate in (2.0, 8.0))
    assert low.running < high.running
    assert low.kv_usage < high.kv_usage


def test_the_fleet_that_follows_the_day_has_the_plans_replicas_at_the_peak() -> None:
    found = operation()
    assert found.autoscaling is not None
    assert max(found.autoscaling.replicas_by_hour) == found.autoscaling.fixed_replicas == needed()
    assert found.thresholds is not None
    assert found.thresholds.max_replicas == needed()
    assert found.autoscaling.min_replicas == found.thresholds.min_replicas
    assert not found.thresholds.growth_assumed


def test_thresholds_are_below_the_highest_rate_by_the_growth_of_the_load() -> None:
    found, highest = operation().thresholds, capacity().highest_rate(replicas=needed())
    assert found is not None
    assert highest is not None
    assert found.requests_per_s == pytest.approx(highest / found.growth)
    assert f"{found.requests_per_s:.3g}" in found.why["running_requests"]


def test_replicas_that_the_simulated_fleet_needed_beside_are_needed_at_every_hour() -> None:
    more = operation(replicas=needed() + 2).autoscaling
    assert more is not None
    assert more.fixed_replicas == needed() + 2
    assert more.replicas_by_hour[0] >= operation().autoscaling.replicas_by_hour[0]  # type: ignore[union-attr]


def test_replicas_that_stand_by_are_bought_but_carry_nothing() -> None:
    found, without = operation(standing_by=1), operation()
    assert found.energy is not None
    assert found.energy.gpus == needed() + 1
    assert found.api is not None
    assert without.api is not None
    assert found.api.carried_rps == without.api.carried_rps
    assert found.api.fleet_usd_per_month > without.api.fleet_usd_per_month
    assert found.thresholds is not None
    assert found.thresholds.max_replicas == needed() + 1


def test_without_hours_the_growth_is_assumed_and_there_is_nothing_to_follow() -> None:
    found = operation(replace(CHAT, traffic=Traffic(60.0, 1.5), api_price=None))
    assert found.autoscaling is None
    assert found.api is None
    assert found.thresholds is not None
    assert found.thresholds.growth_assumed
    assert found.thresholds.min_replicas == 1
