"""What is told of a disaggregated fleet beyond its size: doublings, what moves it, and when either pool grows."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from bide.facts.gpus import find_gpu
from bide.facts.hf import from_config
from bide.physics.profile import load_profile
from bide.plan.asks import Probe, asks_of
from bide.plan.candidate import Candidate, End, candidate
from bide.plan.disaggregated.capacity import PairCapacity
from bide.plan.disaggregated.option import pooled_option
from bide.plan.disaggregated.pair import Pair
from bide.plan.disaggregated.pool_kinds import chain, pool_kinds
from bide.plan.disaggregated.pooled import Pooled
from bide.plan.doublings import doublings, rows
from bide.plan.fleets import carried_rps
from bide.plan.fleets_of import fleets_of
from bide.plan.offer import Terms
from bide.plan.operation import Operation, operation_of
from bide.plan.option import Option
from bide.plan.question import Fleet, Hardware, Limit, Measure, Service, Traffic
from bide.plan.scaling import scaling_of
from bide.plan.sensitivity import Sensitivity, before_rounding
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.run import run_fleet
from bide.simulate.scheduler.cost import StepCost
from bide.sourced import Source
from bide.workload.arrivals import poisson_gaps
from bide.workload.requests import Workload
from bide.workload.traffic import Traffic as Stream
from plan_inputs import LLAMA

MODEL, H100 = from_config(LLAMA, "llama"), find_gpu("h100-sxm")
TERMS = Terms(Hardware((H100,), 32, {"h100-sxm": 2.0}), Fleet(), load_profile())
OFFICE = (0.1,) * 12 + (1.0,) * 12
TTFT, TPOT = Measure("ttft", 95.0), Measure("tpot", 95.0)


def service(work: Workload, traffic: Traffic, *patience: Limit) -> Service:
    engine = {"tp": 1, "max_num_batched_tokens": 8192}
    return Service("chat", MODEL, work, traffic, patience, engine, disaggregated=(True,))


def built(one: Service) -> Candidate:
    found = candidate(one, H100, {}, load_profile())
    assert isinstance(found, Candidate)
    return found


@cache
def by_hand(rps: float = 14.0) -> tuple[Candidate, Pooled, PairCapacity]:
    """Steps of 1 ms a token: a prompt of 101 tokens takes 101 ms, an answer of 50 after it 50 ms on its engine."""
    count = 1500
    alike = Workload(np.full(count, 101), np.full(count, 50), poisson_gaps(count, 3), Source("by hand", kind="given"))
    made = built(service(alike, Traffic(rps, 1.0, hours=OFFICE), Limit(Measure("e2e", 95.0), 1000.0)))
    config = replace(made.setup.config, max_num_seqs=64, enable_prefix_caching=False)
    likely = replace(made.setup, config=config, cost=StepCost.affine(0.0, 1e-3, 0.0, 0.0, 8192), request_s=0.0)
    return made, Pooled(made, Pair(2, 1), "round-robin", likely), PairCapacity(made, likely=likely)


@cache
def long_prompts() -> tuple[Option, PairCapacity]:
    """Prompts of 5,000 tokens between answers of 150 whose tokens must come soon, 8 requests a second."""
    rng = np.random.default_rng(1)
    prompts = np.clip(rng.lognormal(np.log(5000), 0.4, 1500), 1, 12000).astype(np.int64)
    outputs = np.clip(rng.lognormal(np.log(150), 0.4, 1500), 1, 600).astype(np.int64)
    work = Workload(prompts, outputs, poisson_gaps(1500, 1), Source("drawn", kind="given"))
    made = built(service(work, Traffic(8.0, 1.0, hours=OFFICE), Limit(TTFT, 2.0), Limit(TPOT, 0.012)))
    trial = PairCapacity(made, (Probe(Measure("e2e", 95.0)),))
    pair = trial.fewest(8.0, 32, asks_of(made.service))
    assert pair is not None
    return pooled_option(trial, pair, TERMS), trial


def of_pair(pair: Pair) -> Option:
    """By hand."""
    option = replace(long_prompts()[0], candidate=by_hand()[0], replicas=pair.replicas)
    assert option.pools is not None
    return replace(option, pools=replace(option.pools, pair=pair))


def operation() -> Operation:
    option = long_prompts()[0]
    found = operation_of(option, option.candidate.service, Fleet())
    assert found is not None
    return found


@pytest.mark.parametrize("replicas", [2, 3, 4, 5, 7])
def test_so_many_replicas_are_divided_as_well_as_in_any_way(replicas: int) -> None:
    option, trial = long_prompts()
    asks = asks_of(option.candidate.service)
    found = fleets_of(option, "round-robin").best(replicas)
    ways = [Pair(prefill, replicas - prefill) for prefill in range(1, replicas)]
    ends: tuple[End, ...] = ("slow", "likely")
    for end in ends:
        if any(trial.is_enough(pair, 8.0, asks, end) for pair in ways):
            assert trial.is_enough(found, 8.0, asks, end)
    if all(trial.at(8.0, pair) is None for pair in ways):
        assert trial.saturated_rps(found) == max(map(trial.saturated_rps, ways))


def test_a_load_between_what_two_fleets_carry_takes_a_part_of_a_replica() -> None:
    """1 + 1 carry 95 % of 1 / 0.101 s = 9.4 requests/s, 2 + 1 twice that: 4.6 more take 4.6 / 9.4 of a third."""
    made, fleets, _trial = by_hand()
    asks = asks_of(made.service)
    assert carried_rps(fleets, Pair(1, 1), asks) == pytest.approx(9.4, rel=0.02)
    assert before_rounding(fleets, Pair(2, 1), 14.0, asks) == pytest.approx(2 + 4.6 / 9.4, rel=0.03)
    # the smallest fleet is taken in part: 5 of 9.4 requests/s
    assert before_rounding(fleets, Pair(1, 1), 5.0, asks) == pytest.approx(2 * 5 / 9.4, rel=0.03)


def test_both_pools_grow_along_one_chain() -> None:
    found = chain(Pair(5, 4))
    assert (found[0], found[-1]) == (Pair(1, 1), Pair(5, 4))
    assert all(other.replicas == one.replicas + 1 for one, other in pairwise(found))
    assert Pair(3, 2) in found
    assert chain(Pair(1, 3)) == [Pair(1, 1), Pair(1, 2), Pair(1, 3)]


def test_at_any_load_both_pools_together_are_a_pair_of_the_chain_that_carries_it() -> None:
    made, fleets, trial = by_hand()
    option = of_pair(Pair(4, 2))
    carried, asks = carried_rps(fleets, Pair(4, 2), asks_of(made.service)), asks_of(made.service)
    prompts, answers = (kind.levels for kind in pool_kinds(trial, option, carried, by_hours=True))
    assert (len(prompts), len(answers)) == (4, 2)
    for share in np.linspace(0.05, 1.0, 20):
        pair = Pair(*(1 + bisect_left(levels, share * carried) for levels in (prompts, answers)))
        assert pair in chain(Pair(4, 2))
        assert carried_rps(fleets, pair, asks) >= share * carried * (1 - 1e-9)


def test_thresholds_and_gpu_hours_of_either_pool_by_hand() -> None:
    made, _fleets, trial = by_hand()
    kinds = pool_kinds(trial, of_pair(Pair(2, 1)), 18.8, by_hours=True)
    # with one replica for prompts the fleet carries half of what it does with two; one that answers is enough for all
    assert kinds[0].levels == pytest.approx((9.4, 18.8), rel=0.02)
    assert kinds[1].levels == (18.8,)
    prompts, answers = (kind.state(2.0) for kind in kinds)
    # 2 requests/s: one a second at each of two for prompts, two at the one that answers. That is busy for 2 x 50 ms of
    # a second, which those that are there share: 0.1 / (1 - 0.1) of them on average (M/G/1, processor sharing)
    assert (prompts.requests_per_s, answers.requests_per_s) == (1.0, 2.0)
    assert answers.running == pytest.approx(0.1 / 0.9, rel=0.15)
    assert prompts.running == 0.0  # each takes one step, after which nothing runs
    traffic = replace(made.service.traffic, peak_rps=18.8)
    scalings = [scaling_of(kind, traffic, Fleet(scale_up_s=0.0), 2.0) for kind in kinds]
    # nothing grows during a start that takes no time: each of two is kept at half of what both carry, 9.4 x 101 tokens
    assert scalings[0].thresholds.prompt_tokens_per_s == pytest.approx(9.4 * 101, rel=0.02)
    assert (scalings[0].thresholds.running_requests, scalings[1].thresholds.prompt_tokens_per_s) == (None, None)
    first, second = (scaling.autoscaling for scaling in scalings)
    assert first is not None
    assert second is not None
    # the second replica for prompts while the rate is above half of the peak, 11 + 2 x 0.5 / 0.9 h (`test_autoscale`)
    assert first.scheduled_gpu_hours == pytest.approx(24 + 11 + 2 * 0.5 / 0.9, rel=0.01)
    assert (first.fixed_gpu_hours, second.scheduled_gpu_hours) == (48.0, 24.0)


def test_a_row_is_what_the_whole_fleet_does_and_is_met_from_the_answer_on() -> None:
    option, trial = long_prompts()
    fleets = fleets_of(option, "round-robin")
    found = tuple(rows(option, fleets, TERMS))
    assert [row.replicas for row in found if row.replicas.bit_count() == 1][:2] == [2, 4]
    assert all(row.pair and row.pair.replicas == row.replicas == row.gpus for row in found)
    assert [row.met for row in found] == [row.replicas >= option.replicas for row in found]
    work = option.candidate.service.workload
    stream = Stream(work.arrivals_s(8.0), work.prompt_tokens, work.output_tokens, work.source)
    for row in found:
        pair = row.pair
        assert pair is not None
        promised = row.reading.seconds[TTFT]
        if promised is None or row.replicas > 2 * option.replicas:
            continue
        assert promised.mid == trial.value(8.0, pair, Probe(TTFT))
        rules = FleetRules(prefill_replicas=pair.prefill, decode_replicas=pair.decode)
        table = run_fleet(option.candidate.setup, stream, rules).table
        ttft_s = np.percentile(table.first_token_s - table.arrival_s, 95)
        assert 0.5 * promised.mid <= ttft_s <= promised.mid  # a promise is what most runs stay below


def test_doublings_go_over_replicas_and_over_tensor_parallel() -> None:
    option, _trial = long_prompts()
    fleets = fleets_of(option, "round-robin")
    lines = list(doublings(option, fleets, tuple(rows(option, fleets, TERMS)), TERMS))
    replicas, wide = ([line for line in lines if line.way == way] for way in ("replicas", "tp"))
    held = [line.running_per_gpu for line in replicas if line.running_per_gpu is not None]
    assert all(other < one for one, other in pairwise(held))
    assert [(line.gpus, line.tp) for line in wide][:4] == [(2, 1), (4, 2), (8, 4), (16, 8)]
    assert {line.pair for line in wide[:4]} == {Pair(1, 1)}


def test_the_inputs_of_either_stage_move_the_answer() -> None:
    option, _trial = long_prompts()
    swings = {swing.input: swing for swing in Sensitivity(option, fleets_of(option, "round-robin"), TERMS).swings()}
    assert {"load", "patience", "length of prompts", "length of answers", "step times"} <= swings.keys()
    assert (swings["load"].low_share, swings["load"].high_share) == pytest.approx((0.75, 1.25))
    for name in ("length of prompts", "length of answers"):
        low, high = swings[name].low_share, swings[name].high_share
        assert low is not None
        assert high is not None
        assert low <= 1 <= high
        assert (swings[name].low_gpus or 0) <= option.gpus <= (swings[name].high_gpus or 0)


def test_each_pool_has_thresholds_of_its_own_and_the_day_is_that_of_both() -> None:
    option, found = long_prompts()[0], operation()
    assert option.pools is not None
    assert found.thresholds is None
    prefill, decode = (found.thresholds_of(role) for role in ("prefill", "decode"))
    assert prefill is not None
    assert decode is not None
    assert (prefill.max_replicas, decode.max_replicas) == (option.pools.pair.prefill, option.pools.pair.decode)
    # both are kept at their share of a load that is below what the pair carries by the growth during a start
    assert prefill.requests_per_s * prefill.growth * option.pools.pair.prefill == pytest.approx(
        decode.requests_per_s * decode.growth * option.pools.pair.decode
    )
    work = option.candidate.service.workload
    assert prefill.prompt_tokens_per_s == pytest.approx(prefill.requests_per_s * work.prompt_tokens.mean())
    assert decode.running_requests is not None
    assert decode.kv_usage > prefill.kv_usage
    day = found.autoscaling
    assert day is not None
    assert day.fixed_gpu_hours == 24 * option.gpus
    assert max(day.replicas_by_hour) == option.replicas
    assert day.scheduled_gpu_hours < day.fixed_gpu_hours


def test_a_decode_replica_runs_what_the_fleets_reading_says() -> None:
    option, trial = long_prompts()
    assert option.pools is not None
    seen, kind = trial.at(8.0, option.pools.pair), pool_kinds(trial, option, 8.0, by_hours=False)[1]
    assert seen is not None
    assert kind.state(8.0).running == pytest.approx(seen.running / option.pools.pair.decode, rel=0.1)
    assert kind.state(8.0).waiting >= 8.0 / option.pools.pair.decode * seen.transfer_s
