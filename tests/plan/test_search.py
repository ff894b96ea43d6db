import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bide.facts.gpus import find_gpu
from bide.facts.hf import from_config
from bide.physics.profile import load_profile
from bide.plan.answer import Plan
from bide.plan.as_dict import plan_dict
from bide.plan.capacity import Capacity
from bide.plan.offer import Terms
from bide.plan.option import Option
from bide.plan.question import Fleet, Goodput, Hardware, Limit, Measure, Question, Service, Traffic
from bide.plan.search import Offer, Progress, offer, plan
from bide.plan.service_file import read_question
from bide.plan.verify import proven, verified
from bide.workload.lengths import described_workload
from plan_inputs import LLAMA

WORK = described_workload({"prompt": {"p50": 900, "p95": 4000}, "output": {"p50": 120, "p95": 430}}, "lengths")
MODEL = from_config(LLAMA, "llama")
H100, L40S = find_gpu("h100-sxm"), find_gpu("l40s")


def service(rps: float = 18.0, **patience: float) -> Service:
    limits = patience or {"ttft_p95": 1.0, "tpot_p95": 0.05}
    measured = tuple(Limit(_measure(name), seconds) for name, seconds in limits.items())
    return Service("chat", MODEL, WORK, Traffic(rps), measured, {"tp": 1, "max_num_batched_tokens": 8192})


def _measure(name: str) -> Measure:
    latency, _, percent = name.partition("_p")
    return Measure(latency, float(percent))  # type: ignore[arg-type]


def answer(*services: Service, gpus: tuple[Any, ...] = (H100,), most: int = 64, **prices: float) -> Plan:
    given_prices = {name.replace("_", "-"): usd for name, usd in prices.items()}
    return plan(Question(services, Hardware(gpus, most, given_prices)))


def offered(one: Service, gpus: tuple[Any, ...] = (H100,), most: int = 64, **prices: float) -> Offer:
    given_prices = {name.replace("_", "-"): usd for name, usd in prices.items()}
    return offer(one, Hardware(gpus, most, given_prices), load_profile())


def chosen(found: Plan) -> Option:
    option = found.services[0].chosen
    assert option is not None
    return option


@cache
def usual() -> Plan:
    """One plan that several tests look at."""
    return answer(service(60.0))


@cache
def patient() -> Plan:
    """One for whole answers."""
    return answer(service(30.0, e2e_p95=8.0))


def test_the_smallest_fleet_keeps_the_patience_and_one_fewer_does_not() -> None:
    option = offered(service(60.0)).options[0]
    limit, seconds = service().patience[0], option.reading.seconds
    promised = seconds[limit.measure]
    assert promised is not None
    assert promised.mid <= limit.seconds
    fewer = offered(service(60.0), most=option.gpus - 1)
    assert not fewer.options
    assert fewer.rejections[0].needed == option.gpus


def test_the_sure_fleet_keeps_it_at_the_slow_end() -> None:
    found = usual()
    option, rows = chosen(found), {row.replicas: row for row in found.services[0].rows}
    assert option.replicas_fast is not None
    assert option.replicas_surely is not None
    assert option.replicas_fast <= option.replicas <= option.replicas_surely
    assert rows[option.replicas_surely].met_surely
    assert not any(row.met_surely for count, row in rows.items() if count < option.replicas_surely)


def test_the_rows_double_and_a_row_that_is_too_busy_has_no_times() -> None:
    rows = usual().services[0].rows
    counts = [row.gpus for row in rows]
    assert counts == sorted(counts)
    assert {1, 2, 4, 8} <= set(counts)
    assert rows[0].reading.bound == "unstable"
    assert set(rows[0].reading.seconds.values()) == {None}


def test_a_doubling_halves_the_batch_of_a_gpu_and_saves_less_than_half_of_the_time() -> None:
    lines = patient().services[0].doublings
    held = [line for line in lines if line.way == "replicas" and line.running_per_gpu is not None]
    for before, line in pairwise(held):
        assert before.running_per_gpu is not None
        assert line.running_per_gpu is not None
        assert line.running_per_gpu <= before.running_per_gpu / 2  # half the load, and each is served faster
    assert held[-1].faster is not None
    assert held[-1].faster < 0.5
    assert {line.tp for line in lines if line.way == "tp"} == {1, 2, 4, 8}


def test_a_patience_below_the_idle_time_is_cured_by_no_number_of_gpus() -> None:
    rejection = offered(service(e2e_p95=0.2)).rejections[0]
    assert "no number of GPUs cures that" in rejection.reason
    assert rejection.needed is not None
    assert offered(service(0.01, e2e_p95=rejection.needed * 1.01)).options  # what it names as nearest does work


def test_too_few_gpus_say_how_many_and_what_they_carry() -> None:
    rejection = offered(service(1000.0), most=4).rejections[0]
    assert rejection.unit == "GPUs"
    assert rejection.available == 4
    assert rejection.needed is not None
    assert rejection.needed > 4
    carried = float(rejection.nearest.split("carry ")[1].split()[0])
    assert offered(service(carried * 0.99), most=4).options


def test_a_model_that_does_not_fit_says_what_it_needs() -> None:
    big = from_config(LLAMA | {"num_hidden_layers": 320}, "ten llamas")
    rejection = offered(replace(service(), model=big)).rejections[0]
    assert "does not fit" in rejection.reason
    assert rejection.needed is not None
    assert rejection.available is not None
    assert rejection.needed > rejection.available
    assert offered(replace(service(0.1, e2e_p95=600.0), model=big, engine={"tp": 4})).options


def test_a_model_too_big_for_a_node_is_spread_over_nodes() -> None:
    # a layer: 2 x 16384^2 + 2 x 16384 x 1024 + 3 x 16384 x 57344 = 3.39 billion of 2 B; 150 of them are 1,017 GB,
    # and a node has 640
    wide = {"hidden_size": 16384, "intermediate_size": 57344, "num_attention_heads": 128, "num_hidden_layers": 150}
    huge = from_config(LLAMA | wide, "a trillion bytes")
    short = replace(service(0.01, e2e_p95=600.0), model=huge, engine={"max_num_batched_tokens": 8192})
    found = offered(short)
    assert found.options
    assert {(option.candidate.deployment.tp, option.candidate.deployment.pp) for option in found.options} == {
        (8, 2),
        (8, 4),
        (8, 8),
    }


def test_a_request_longer_than_the_model_is_turned_down() -> None:
    short = from_config(LLAMA | {"max_position_embeddings": 2048}, "short")
    assert "max_model_len is 2,048" in offered(replace(service(), model=short)).rejections[0].reason


def test_the_cheaper_card_is_taken_at_given_prices() -> None:
    cheap = offered(service(), gpus=(H100, L40S), h100_sxm=100.0, l40s=0.1)
    assert cheap.options[0].candidate.gpu.id == "l40s"
    other = offered(service(), gpus=(H100, L40S), h100_sxm=0.1, l40s=100.0)
    assert other.options[0].candidate.gpu.id == "h100-sxm"


def test_cost_by_hand() -> None:
    option = offered(service(12.0), h100_sxm=2.0).options[0]
    assert option.cost is not None
    tokens_per_s = 12.0 * float((WORK.prompt_tokens + WORK.output_tokens).mean())
    assert option.cost.usd_per_hour == 2.0 * option.gpus
    assert option.cost.usd_per_month == 2.0 * option.gpus * 730
    assert option.cost.usd_per_million_tokens == pytest.approx(2.0 * option.gpus / (tokens_per_s * 3600) * 1e6)


def test_services_that_fit_one_by_one_may_not_fit_together() -> None:
    alone = offered(service()).options[0].gpus
    other = replace(service(), name="more", model=from_config(LLAMA | {"vocab_size": 128000}, "other"))
    together = answer(service(), other, most=2 * alone - 1)
    assert not together.feasible
    assert together.over_limit is not None
    assert together.over_limit.needed == 2 * alone


def test_spare_replicas_are_bought_beside_those_that_the_load_needs() -> None:
    bare = offered(service(60.0)).options[0]
    spare = offer(service(60.0), Hardware((H100,), 64), load_profile(), Fleet(spare_replicas=1, rolling_replicas=2))
    assert spare.options[0].replicas == bare.replicas
    assert spare.options[0].gpus == bare.gpus + 3


def test_goodput_is_the_share_that_keeps_every_limit() -> None:
    limits: tuple[tuple[Any, float], ...] = (("ttft", 1.0), ("tpot", 0.05))
    asked = replace(service(), patience=(), goodput=Goodput(0.9, limits))
    easy = offered(replace(asked, goodput=Goodput(0.5, limits))).options[0]
    hard = offered(replace(asked, goodput=Goodput(0.99, limits))).options[0]
    assert easy.gpus <= offered(asked).options[0].gpus <= hard.gpus
    assert hard.reading.goodput_ratio is not None
    assert hard.reading.goodput_ratio.mid <= 1.0
    hopeless = offered(replace(asked, goodput=Goodput(0.9, (("e2e", 0.05),)))).rejections[0]
    assert "cannot keep every limit" in hopeless.reason


def test_gaps_between_tokens_can_be_limited_and_are_longer_than_the_mean_of_a_request() -> None:
    seconds = offered(service(itl_p95=2.0)).options[0].reading.seconds
    itl, tpot = seconds[_measure("itl_p95")], seconds[_measure("tpot_p95")]
    assert itl is not None
    assert tpot is not None
    assert itl.mid > tpot.mid  # a prompt comes in between


def test_progress_tells_the_best_so_far_and_the_count_of_what_was_tried() -> None:
    told: list[Progress] = []
    found = plan(Question((service(),), Hardware((H100, L40S), 64)), progress=told.append)
    done = [one.done for one in told]
    # two kinds of GPU and the proof; a step for every candidate in every round, and for the parts of the proof
    assert {one.total for one in told} == {3}
    assert done == sorted(done)
    assert done[-1] == 3
    assert len(done) > 20
    assert max(after - before for before, after in pairwise(done)) < 0.6
    assert told[-1].best[0] is not None
    tried = found.services[0].tried
    assert tried is not None
    assert tried.candidates == told[-1].candidates == 2
    assert tried.pruned + tried.simulated + tried.impossible == tried.candidates


def test_candidates_travel_to_other_processes() -> None:
    here = offered(service()).options[0].candidate
    there = pickle.loads(pickle.dumps(here))
    assert there.deployment == here.deployment
    assert Capacity(there).saturated_rps() == Capacity(here).saturated_rps()


def test_the_frontier_never_costs_more_for_more_patience() -> None:
    found = patient().services[0]
    for points in (found.frontier, found.streaming, usual().services[0].together):
        costs = [np.inf if point.usd_per_month is None else point.usd_per_month for point in points]
        assert costs == sorted(costs, reverse=True)
    asked = next(point for point in found.frontier if point.seconds == 8.0)
    assert asked.gpus == min(option.gpus for option in (found.chosen, *found.others) if option)


def test_the_whole_fleet_is_run_and_holds() -> None:
    proof = usual().services[0].verified
    assert proof is not None
    assert proof.met
    assert proof.stationary
    ttft = proof.seconds[Measure("ttft", 95.0)]
    assert ttft.low <= ttft.mid <= ttft.high <= 1.0


def test_a_fleet_that_is_too_small_grows_until_it_holds() -> None:
    needed = offered(service(60.0)).options[0].replicas
    trial = Capacity(offered(service(60.0)).options[0].candidate)
    proof = verified(trial, trial.probes, 1, 64, "round-robin")
    assert proof.met
    assert proof.added == proof.replicas - 1
    assert 1 < proof.replicas <= needed  # a replica of a fleet has more even traffic than one alone
    assert proof.fewer is not None
    assert (proof.fewer.replicas, proof.fewer.met) == (proof.replicas - 1, False)  # else it had stopped there
    capped = verified(trial, trial.probes, 1, 2, "round-robin")
    assert (capped.replicas, capped.met) == (2, False)


def test_a_fleet_grows_only_by_gpus_that_nobody_else_has() -> None:
    option = replace(offered(service(60.0)).options[0], replicas=1)
    terms = Terms(Hardware((H100,), 64), Fleet(), load_profile())
    grown, proof = proven(option, terms, left_gpus=1)
    assert (grown.replicas, proof.added, proof.met) == (2, 1, False)
    same, proof = proven(option, terms, left_gpus=0)
    assert (same.replicas, proof.added, proof.met) == (1, 0, False)


def test_the_plan_is_no_larger_than_the_whole_fleet_needs() -> None:
    # what a replica of a fleet gets is what is simulated, not the whole workload's unevenness
    one = service(60.0, e2e_p95=8.0)
    option = offered(one).options[0]
    proof = verified(Capacity(option.candidate), (), option.replicas, option.replicas, "round-robin")
    assert proof.met
    assert proof.fewer is None or not proof.fewer.met


def test_the_swings_are_sorted_and_a_higher_load_costs_more() -> None:
    swings = usual().services[0].swings
    load = next(swing for swing in swings if swing.input == "load")
    assert load.low_share == pytest.approx(0.75)
    assert load.high_share == pytest.approx(1.25)
    steps = next(swing for swing in swings if swing.input == "step times")
    assert steps.low_share is not None
    assert steps.low_share < 1
    assert steps.high_share is None or steps.high_share > 1


def test_the_plan_as_json_has_nulls_for_what_does_not_exist(write: Callable[..., Path]) -> None:
    def heavier(content: dict[str, Any]) -> None:
        content["services"][0]["traffic"]["peak_rps"] = 60
        content["services"][0]["deployment"] = {"tp": 1, "max_num_batched_tokens": 8192}

    data = plan_dict(plan(read_question(write(heavier))))
    text = json.dumps(data, allow_nan=False)
    first = json.loads(text)["services"][0]["fleets"][0]
    assert first["bound"] == "unstable"
    assert first["seconds"]["e2e_p95"] is None
    assert data["feasible"]
    ledger = data["services"][0]["chosen"]["memory"]["ledger"]
    assert sum(size for name, size in ledger.items() if name != "total_bytes") == ledger["total_bytes"]
