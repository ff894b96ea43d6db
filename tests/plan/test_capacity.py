"""Laws of the highest rate: monotone by construction, bounded by the cost of steps, kept on other draws."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.facts.gpus import find_gpu
from bide.facts.hf import from_config
from bide.physics.profile import load_profile
from bide.plan import basket
from bide.plan.asks import Ask, Asks, Probe, asks_of
from bide.plan.basket import Share, basket_of
from bide.plan.candidate import ENDS, Candidate, candidate
from bide.plan.capacity import POINTS, Capacity
from bide.plan.question import Hardware, Limit, Measure, Service, ServiceClass, Traffic
from bide.plan.search import offer
from bide.plan.trial import highest_rps, saturated, watch
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.run import run_fleet
from bide.simulate.scheduler.simulate import simulate
from bide.sourced import Source
from bide.workload.arrivals import poisson_gaps
from bide.workload.blocks import Blocks
from bide.workload.requests import Workload
from bide.workload.trace import Trace
from plan_inputs import LLAMA

TTFT, TPOT, E2E = Measure("ttft", 95.0), Measure("tpot", 95.0), Measure("e2e", 95.0)
MODEL = from_config(LLAMA, "llama")


def drawn(seed: int, count: int = 600, prompt: float = 700, output: float = 120) -> Workload:
    rng = np.random.default_rng(seed)
    prompts = np.clip(rng.lognormal(np.log(prompt), 0.8, count), 1, 8000).astype(np.int64)
    outputs = np.clip(rng.lognormal(np.log(output), 0.7, count), 1, 2000).astype(np.int64)
    return Workload(prompts, outputs, poisson_gaps(count, seed), Source("drawn", kind="given"))


def service(work: Workload | None = None, rps: float = 20.0, *limits: Limit) -> Service:
    kept = limits or (Limit(TTFT, 1.0), Limit(TPOT, 0.05), Limit(E2E, 8.0))
    return Service("chat", MODEL, drawn(1) if work is None else work, Traffic(rps), kept)


def built(one: Service, gpu: str = "h100-sxm", **setting: object) -> Candidate:
    found = candidate(one, find_gpu(gpu), {"tp": 1, **setting}, load_profile())
    assert isinstance(found, Candidate)
    return found


@cache
def trial() -> Capacity:
    """One for all examples: what was simulated stays."""
    return Capacity(built(service()))


def asks(ttft: float, tpot: float, e2e: float) -> Asks:
    return tuple(Ask(Probe(m), s) for m, s in ((TTFT, ttft), (TPOT, tpot), (E2E, e2e)))


seconds = st.tuples(st.floats(0.03, 2.0), st.floats(0.006, 0.1), st.floats(0.5, 30.0))
more = st.floats(1.0, 4.0)


@settings(max_examples=60, deadline=None)
@given(seconds, st.tuples(more, more, more), st.floats(0.1, 500.0), more)
def test_patience_never_lowers_the_rate_and_load_never_takes_fewer(
    limits: tuple[float, float, float], longer: tuple[float, float, float], rps: float, heavier: float
) -> None:
    patient = tuple(a * b for a, b in zip(limits, longer, strict=True))
    for end in ENDS:
        hurried = trial().highest_rate(asks(*limits), end) or 0.0
        relaxed = trial().highest_rate(asks(*patient), end) or 0.0
        assert relaxed >= hurried
    few = trial().fewest(rps, 10_000, asks(*limits))
    many = trial().fewest(rps * heavier, 10_000, asks(*limits))
    assert few is None or many is None or few <= many
    sure = trial().fewest(rps, 10_000, asks(*limits), "slow")
    assert sure is None or (few is not None and few <= sure)


@settings(max_examples=30, deadline=None)
@given(seconds, st.floats(0.1, 500.0), st.integers(1, 200))
def test_stopping_early_gives_the_count_of_the_whole_halving(
    limits: tuple[float, float, float], rps: float, most: int
) -> None:
    highest = {
        n: trial().highest_rate(asks(*limits), replicas=n) or 0.0 for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
    }
    enough = [n for n in range(1, most + 1) if rps / n <= highest[max(k for k in highest if k <= n)]]
    assert trial().fewest(rps, most, asks(*limits)) == (enough[0] if enough else None)


def test_the_grid_is_fine_where_answers_lie_and_ends_at_twice_the_saturated_rate() -> None:
    rates = [trial().rate(point) / trial().saturated_rps() for point in range(POINTS)]
    assert rates[-1] == pytest.approx(2.0)
    assert rates[255] == pytest.approx(0.5)  # (256 / 512)^2 x 2: asked first
    assert all(1.0 < b / a < 1.01 for a, b in pairwise(rates) if b > 0.4)  # (230 / 229)^2 = 1.0088


def test_a_replica_of_many_gets_evener_traffic_and_every_request_in_turn() -> None:
    work = drawn(4, 600)
    one = service(work)
    alone, shared, drawn_of = (
        basket_of(one, share).traffic for share in (Share(1), Share(8), Share(8, at_random=True))
    )
    spread = [float(np.diff(each.arrival_s).std()) for each in (alone, shared, drawn_of)]
    assert spread[1] < 0.5 * spread[0]  # a sum of 8 exponential gaps: 1 / sqrt(8) = 0.35 of their mean
    assert spread[2] == pytest.approx(spread[0], rel=0.15)  # drawn from Poisson traffic is Poisson traffic
    # every 8th of 599 (600 is even), over and over, is all of them once in 599
    assert sorted(shared.prompt_tokens[:599]) == sorted(work.prompt_tokens[:599])
    assert list(shared.prompt_tokens[:3]) == list(work.prompt_tokens[[8, 16, 24]])
    assert all(len(each) == 600 and each.arrival_s[-1] == pytest.approx(600) for each in (alone, shared, drawn_of))


@pytest.mark.parametrize("replicas", [2, 5])
def test_one_replica_of_a_fleet_does_as_the_whole_fleet(replicas: int) -> None:
    # at 70 % of what it could do; a fleet of 5 is tried with every 4th request, which come a little less evenly
    mine, probe = Capacity(built(service(drawn(6, 3000)))), Probe(E2E)
    rate = 0.7 * mine.saturated_rps()
    seen = mine.at(rate, replicas=replicas, times=4)
    arrival_s = basket.basket_with(mine.candidate.service, 9600).traffic
    arrival_s = replace(arrival_s, arrival_s=arrival_s.arrival_s / rate / replicas)
    run = run_fleet(mine.setup("likely"), arrival_s, FleetRules(replicas=replicas))
    whole = float(np.percentile(run.table.last_token_s - run.table.arrival_s, 95))
    assert seen is not None
    assert seen.values[probe][0] == pytest.approx(whole, rel=0.05)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10_000),
    st.floats(20, 4000),
    st.floats(4, 800),
    st.sampled_from(("h100-sxm", "l40s", "a100-80gb-sxm")),
    st.sampled_from((1, 2, 4)),
    st.sampled_from((16, 256)),
    st.sampled_from((2048, 8192)),
)
def test_no_replica_works_faster_than_its_steps_allow(
    seed: int, prompt: float, output: float, gpu: str, tp: int, seqs: int, tokens: int
) -> None:
    one = service(drawn(seed, 150, prompt, output))
    setup = built(one, gpu, tp=tp, max_num_seqs=seqs, max_num_batched_tokens=tokens).setup
    mine = basket_of(one)
    bound = highest_rps(setup, mine)
    # The whole backlog, beginning and end included, cannot be done sooner than the bound allows.
    outcome = simulate(setup.config, setup.cost, mine.requests(setup.config, float("inf")))
    assert len(mine) / float(outcome.finish_s.max()) <= bound * (1 + 1e-9)
    assert saturated(setup, mine, seqs) <= highest_rps(setup, mine.repeated(min(6 * seqs, 16384))) * (1 + 1e-9)


def test_another_kind_of_gpu_to_choose_from_never_costs_more() -> None:
    h100, l40s = find_gpu("h100-sxm"), find_gpu("l40s")
    one = replace(service(), choices={"tp": (1, 2), "max_num_batched_tokens": (8192,)})
    prices = {"h100-sxm": 2.0, "l40s": 0.5}

    def usd(*gpus: object) -> float:
        options = offer(one, Hardware(gpus, 64, prices), load_profile()).options  # type: ignore[arg-type]
        return options[0].cost.usd_per_hour if options and options[0].cost else float("inf")

    assert usd(h100, l40s) == usd(l40s, h100) == min(usd(h100), usd(l40s))


@pytest.mark.parametrize("replicas", [1, 8])
def test_what_is_promised_holds_on_other_draws(monkeypatch: pytest.MonkeyPatch, replicas: int) -> None:
    # At the highest rate itself, where nothing is left over, by 6 searches: of 8 other draws each, 95 % are to keep all
    # three limits. 48 draws that do with a chance of 95 % are 42 or more in 98 of 100 cases.
    monkeypatch.setattr(basket, "REQUESTS", 2048)
    limits, kept = asks_of(service()), 0
    others = [basket_of(service(drawn(seed, 8192)), Share(replicas), times=4) for seed in range(100, 108)]
    for seed in range(1, 7):
        promised = Capacity(built(service(drawn(seed, 8192)), max_model_len=10240))
        rate = promised.highest_rate(limits, replicas=replicas)
        assert rate is not None
        seen = [watch(promised.setup("likely"), other, [ask.probe for ask in limits], rate) for other in others]
        kept += sum(all(each.values[ask.probe][0] <= ask.most for ask in limits) for each in seen)
    assert kept >= 42


def test_classes_are_measured_over_their_own_requests() -> None:
    work = drawn(3)
    short = work.output_tokens < 120
    classes = tuple(
        ServiceClass(name, rows, (Limit(E2E, limit_s),))
        for name, rows, limit_s in (("short", short, 4.0), ("long", ~short, 20.0))
    )
    both = Capacity(built(replace(service(work), classes=classes)))
    seen = both.at(both.saturated_rps() / 4)
    assert seen is not None
    first, second = (seen.values[Probe(E2E, number)][0] for number in (0, 1))
    assert first < second
    apart = [Capacity(built(replace(service(work), classes=(each,)))) for each in classes]
    assert len({len(one.basket) for one in (both, *apart)}) == 1


def test_prompts_that_begin_alike_are_found_in_the_cache_and_raise_the_rate() -> None:
    # one system prompt of 1,600 tokens = 100 blocks of 16 before 100 to 300 own tokens
    rng = np.random.default_rng(5)
    prompts, outputs = 1600 + rng.integers(100, 300, 300), rng.integers(20, 60, 300)
    blocks = Blocks.of([list(range(100))] * 300, 16)
    source = Source("made", kind="given")
    gaps = poisson_gaps(300)
    trace = Trace(prompts, outputs, np.cumsum(gaps), source, blocks)
    alike = replace(service(Workload(prompts, outputs, gaps, source)), trace=trace)
    shared, apart = Capacity(built(alike)), Capacity(built(replace(alike, trace=None)))
    seen = shared.at(shared.saturated_rps() / 4)
    assert seen is not None
    assert seen.cached_share == pytest.approx(1600 / prompts.mean(), rel=0.05)
    assert (shared.highest_rate() or 0.0) > 1.5 * (apart.highest_rate() or 0.0)


def test_a_long_workload_is_sampled_over_its_whole_length() -> None:
    count = 20 * basket.REQUESTS
    work = Workload(np.arange(1, count + 1), np.full(count, 2), np.ones(count), Source("made", kind="given"))
    rows = basket_of(service(work)).traffic.prompt_tokens
    assert len(rows) == pytest.approx(basket.REQUESTS, abs=16)
    assert rows.mean() == pytest.approx(count / 2, rel=0.02)
    assert (np.diff(rows) == 1).mean() > 0.9  # stretches: neighbours stay neighbours


@pytest.mark.parametrize("gpu", ["h100-sxm", "l40s"])
def test_no_simulated_rate_exceeds_the_bound_of_its_limits(gpu: str) -> None:
    one = Capacity(built(service(), gpu), (Probe(TTFT), Probe(TPOT), Probe(E2E)))
    for measure, limits_s in ((TPOT, (0.01, 0.02, 0.05)), (E2E, (1.0, 2.0, 4.0, 10.0)), (TTFT, (0.2, 1.0))):
        for limit_s in limits_s:
            asks = (Ask(Probe(measure), limit_s),)
            assert (one.highest_rate(asks) or 0.0) <= one.bound_rps(asks)


def test_a_limit_that_a_request_alone_breaks_is_turned_down_without_a_run() -> None:
    one = Capacity(built(service()))
    assert one.bound_rps((Ask(Probe(TPOT), 0.001),)) == 0.0
    assert one.bound_rps((Ask(Probe(E2E), 0.05),)) == 0.0
    assert 0 < one.bound_rps((Ask(Probe(E2E), 10.0),)) <= one.bound_rps()
    assert one.runs == 0
