"""What is left out without a run would not have kept what is asked: the bound against simulated rates and answers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.facts.gpus import find_gpu
from bide.facts.models import load_model
from bide.physics.profile import load_profile
from bide.plan import basket, bounds, capacity
from bide.plan.asks import Ask, Probe
from bide.plan.bounds import kept_bound_rps, work_of
from bide.plan.candidate import Candidate, candidate
from bide.plan.capacity import Capacity
from bide.plan.offer import GpuOffer, Terms, offer_of
from bide.plan.question import Fleet, Goodput, Hardware, Limit, Measure, Service, Traffic
from bide.sourced import Source
from bide.workload.arrivals import Gaps
from bide.workload.requests import Workload

E2E = Measure("e2e", 95.0)


def drawn(seed: int, prompt: float, output: float, shape: float = 1.0) -> Workload:
    rng = np.random.default_rng(seed)
    lengths = [rng.lognormal(math.log(median), 0.8, 900) for median in (prompt, output)]
    prompts, outputs = (np.clip(each, 1, 6000).astype(np.int64) for each in lengths)
    return Workload(prompts, outputs, Gaps("gamma", shape).draw(900, rng), Source("drawn", kind="given"))


def trial(work: Workload, *probes: Probe, model: str = "llama-3.1-8b") -> Capacity:
    asked = Service("s", load_model(model), work, Traffic(1.0), (Limit(E2E, 5.0),))
    found = candidate(asked, find_gpu("h100-sxm"), {"tp": 1}, load_profile())
    assert isinstance(found, Candidate)
    return Capacity(found, probes)


def bound(of: Capacity, *asks: Ask) -> float:
    setup = of.setup("likely")
    return kept_bound_rps(setup, of.basket, asks, work_of(setup, of.basket))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_what_tokens_add_at_least_is_convex_and_never_more_than_they_add(more: list[float]) -> None:
    added = np.array([0.0, *np.sort(more)])
    least = bounds._least_s(added)
    assert (least <= added + 1e-9).all()
    assert (np.diff(least, 2) >= -1e-9).all()
    # of a convex function from 0 on: two pieces in one step never add less than each by itself
    half = len(least) // 2
    assert all(least[a] + least[b] <= least[a + b] + 1e-9 for a in range(half) for b in range(half))


@pytest.mark.parametrize("model", ["gpt-oss-20b", "deepseek-v2-lite"])
def test_prompts_that_share_a_step_read_its_experts_once(model: str) -> None:
    # short prompts, several of them in each step: counted one by one they would take twice the time that there is
    ask = Ask(Probe(Measure("tpot", 90.0)), 0.034)
    one = trial(drawn(1, 200, 15), ask.probe, model=model)
    assert 0 < (one.highest_rate((ask,)) or 0.0) <= bound(one, ask)


def test_the_limits_of_a_goodput_grow_with_the_patience() -> None:
    one = trial(drawn(2, 400, 60))
    strict, wide = (Probe(Goodput(0.9, (("ttft", 0.05 * k), ("e2e", 0.2 * k)))) for k in (1, 10))
    assert bound(one, Ask(strict, 10.0)) == pytest.approx(bound(one, Ask(wide, 1.0)))
    assert bound(one, Ask(strict, 1.0)) < bound(one, Ask(strict, 10.0))


def test_of_gaps_between_tokens_some_may_be_of_any_length() -> None:
    # prompts of thousands of tokens stall those who answer for longer than the limit, but fewer than 1 gap in 20
    one = trial(drawn(3, 3000, 60))
    base_s = bounds._base_s(one.setup("likely"))
    gaps = Probe(Measure("itl", 95.0))
    assert bound(one, Ask(gaps, 1.2 * base_s)) == math.inf
    assert bound(one, Ask(gaps, 0.5 * base_s)) == 0.0


def test_where_half_may_break_the_limit_the_heavier_half_is_served_at_any_pace() -> None:
    half, most = Probe(Measure("e2e", 50.0)), Probe(E2E)
    one = trial(drawn(4, 800, 80, shape=0.2), half, most)
    for limit_s in (0.6, 2.0):
        assert bound(one, Ask(half, limit_s)) >= bound(one, Ask(most, limit_s))
        for probe in (half, most):
            assert (one.highest_rate((Ask(probe, limit_s),)) or 0.0) <= bound(one, Ask(probe, limit_s))


QUESTIONS = [
    ("gpt-oss-20b", drawn(5, 250, 12), {"patience": (Limit(Measure("e2e", 90.0), 0.4),)}, 300.0),
    (
        "llama-3.1-8b",
        drawn(6, 1500, 40, 0.2),
        {"patience": (Limit(E2E, 2.0), Limit(Measure("tpot", 95.0), 0.03))},
        20.0,
    ),
    ("llama-3.1-8b", drawn(7, 120, 20, 0.2), {"goodput": Goodput(0.5, (("ttft", 0.1), ("e2e", 0.3)))}, 90.0),
]


@pytest.mark.parametrize(("model", "work", "asked", "rps"), QUESTIONS)
def test_the_answer_and_the_frontier_are_those_without_the_bound(
    monkeypatch: pytest.MonkeyPatch, model: str, work: Workload, asked: dict[str, object], rps: float
) -> None:
    monkeypatch.setattr(basket, "REQUESTS", 300)
    choices: dict[str, tuple[object, ...]] = {
        "tp": (1,),
        "max_num_seqs": (16, 256),
        "max_num_batched_tokens": (8192,),
    }
    service = Service("s", load_model(model), work, Traffic(rps), (), {}, choices)
    service = replace(service, **asked)  # type: ignore[arg-type]
    gpu = find_gpu("l40s")
    terms = Terms(Hardware((gpu,), 16), Fleet(), load_profile(), frontier=model != "gpt-oss-20b")
    bounded = said(offer_of((service, gpu), terms))
    monkeypatch.setattr(capacity, "kept_bound_rps", lambda *_given: math.inf)
    assert said(offer_of((service, gpu), terms)) == bounded


def said(found: GpuOffer) -> object:
    options = [(option.candidate.name, option.replicas, option.replicas_surely) for option in found.options]
    return options, found.reached, [rejection.reason for rejection in found.rejections]
