"""Whether what a plan promises holds on days that its search never saw.

    python benchmarks/plan_promise.py [SEARCHES] [DAYS]

Each question is searched anew on several draws of its requests (lengths, pairs and arrivals alike), and what comes of
it is replayed on other draws. Four figures, the hardest first: of so many days, how many kept every limit

- with one replica at the very rate that was found to keep the patience, over as many requests as a run of the search;
- the same over four times as many, as those runs that decide where the usual one leaves it open;
- with the fleet that is bought where the planned rate leaves nothing over: a whole number of replicas at that rate;
- with the fleet that is bought for the question's own load, where rounding to whole replicas leaves something.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bide.facts.gpus import Gpu, find_gpu
from bide.facts.models import load_model
from bide.physics.profile import load_profile
from bide.plan.asks import asks_of
from bide.plan.basket import Share, basket_with, run_requests
from bide.plan.capacity import Capacity
from bide.plan.offer import Terms
from bide.plan.option import Option
from bide.plan.question import Fleet, Goodput, Hardware, Limit, Measure, Service, Timed, Traffic
from bide.plan.search import offer
from bide.plan.trial import taken, watch
from bide.plan.verify import proven, run_whole
from bide.simulate.fleet.rules import FleetRules
from bide.sourced import Source
from bide.workload.arrivals import Gaps
from bide.workload.readers import read_both
from bide.workload.requests import Workload

EXAMPLES = Path(__file__).parent.parent / "examples"
TRACE = EXAMPLES / "traces" / "azure-conv-2023-peak15min.csv"
COUNT = 8192
_LONG = 4
_BLOCK = 256
"""Requests in a row that a redrawn trace keeps together: its bursts, and what follows them."""

Draw = Callable[[int], Workload]


@dataclass(frozen=True)
class Case:
    """A question; `draw` gives the requests of a day. `planned_rps` is to take a handful of replicas."""

    name: str
    model: str
    gpu: str
    draw: Draw
    planned_rps: float
    patience: dict[str, float]
    goodput: Goodput | None = None
    tp: int = 1
    longest: int = 18_432
    """Prompt and answer of any day: a server has one longest context."""

    def service(self, seed: int) -> Service:
        """On the day of that seed."""
        limits = tuple(Limit(_measure(name), limit_s) for name, limit_s in self.patience.items())
        engine = {"tp": self.tp, "max_model_len": self.longest}
        model, traffic = load_model(self.model), Traffic(self.planned_rps)
        return Service(self.name, model, self.draw(seed), traffic, limits, engine, {}, self.goodput)


def _measure(name: str) -> Measure:
    latencies: dict[str, Timed] = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2e"}
    latency, which = name.split("_")
    return Measure(latencies[latency], None if which == "mean" else float(which[1:]))


def lognormal(prompt: float, output: float, spread: float = 0.8, shape: float = 1.0, longest: int = 16_384) -> Draw:
    """Medians and log-spread; gaps of a gamma distribution, burstier the smaller `shape` is (1: Poisson)."""

    def draw(seed: int) -> Workload:
        rng = np.random.default_rng(seed)
        lengths = [rng.lognormal(np.log(median), spread, COUNT) for median in (prompt, output)]
        prompts, outputs = (
            np.clip(each, 1, most).astype(np.int64) for each, most in zip(lengths, (longest, 2048), strict=True)
        )
        gaps = Gaps("gamma", shape).draw(COUNT, rng)
        return Workload(prompts, outputs, gaps / gaps.mean(), Source("drawn", kind="given"))

    return draw


def redrawn(seed: int) -> Workload:
    """The example's trace, in stretches of 256 requests drawn from anywhere in it."""
    whole = read_both(TRACE, "trace")[1]
    starts = np.random.default_rng(seed).integers(0, len(whole), COUNT // _BLOCK)
    rows = ((starts[:, None] + np.arange(_BLOCK)) % len(whole)).ravel()
    gaps = whole.gaps[rows]
    return replace(
        whole, prompt_tokens=whole.prompt_tokens[rows], output_tokens=whole.output_tokens[rows], gaps=gaps / gaps.mean()
    )


CASES = (
    Case(
        "chat, streamed",
        "llama-3.1-8b",
        "h100-sxm",
        lognormal(700, 120),
        60,
        {"ttft_p95": 1, "tpot_p95": 0.05, "e2e_p95": 8},
    ),
    Case("chat, whole answers, bursts", "llama-3.1-8b", "l40s", lognormal(500, 80, shape=0.3), 12, {"e2e_p95": 8}),
    Case(
        "goodput",
        "llama-3.1-8b",
        "h100-sxm",
        lognormal(900, 150),
        50,
        {},
        Goodput(0.95, (("ttft", 1.0), ("tpot", 0.04))),
    ),
    Case("99th percentile", "llama-3.1-8b", "h100-sxm", lognormal(700, 120), 60, {"ttft_p99": 1.5}),
    Case("gaps and a mean", "llama-3.1-8b", "h100-sxm", lognormal(900, 150), 40, {"itl_p95": 0.06, "tpot_mean": 0.03}),
    Case(
        "documents",
        "llama-3.1-8b",
        "h100-sxm",
        lognormal(9000, 250, 0.4, longest=32_768),
        4,
        {"e2e_p95": 15},
        longest=34_816,
    ),
    Case(
        "the trace of the example",
        str(EXAMPLES / "models" / "dense-35b-fp8.json"),
        "h100-sxm",
        redrawn,
        14,
        {"e2e_p95": 8},
        tp=2,
    ),
    Case("experts", "gpt-oss-20b", "h100-sxm", lognormal(1500, 300, shape=0.5), 50, {"ttft_p90": 1, "e2e_p90": 8}),
)


def kept_by(bought: Option, day: Service) -> bool:
    """Whether the whole fleet keeps what is asked at the rate that it is planned for, as measured."""
    fleet = run_whole(
        bought.candidate.setup,
        replace(bought.candidate.service, workload=day.workload),
        FleetRules(replicas=bought.replicas),
    )
    return all(taken(ask.probe, fleet.values(ask.probe))[0] <= ask.most for ask in asks_of(day))


def bought_for(service: Service, gpu: Gpu) -> Option:
    """The cheapest option, with the replicas that the run of the whole fleet asks for."""
    profile, hardware = load_profile(), Hardware((gpu,), 512)
    option = offer(service, hardware, profile).options[0]
    return proven(option, Terms(hardware, Fleet(), profile), hardware.max_gpus)[0]


def replica_keeps(trial: Capacity, rate: float, replicas: int, day: Service, times: int) -> bool:
    """Whether one replica of so many does, over so many runs of the search."""
    asks = asks_of(day)
    basket = basket_with(day, times * run_requests(day), Share(trial.shared(replicas)))
    seen = watch(trial.setup("likely"), basket, [ask.probe for ask in asks], rate)
    return all(seen.values[ask.probe][0] <= ask.most for ask in asks)


def tried(case: Case, searches: int, days: int) -> np.ndarray:
    """Days that kept everything, for each of the four; and all."""
    gpu, kept = find_gpu(case.gpu), np.zeros(5, dtype=np.int64)
    for seed in range(searches):
        service = case.service(seed)
        bought = bought_for(service, gpu)
        trial, replicas = Capacity(bought.candidate), bought.replicas
        rate = trial.highest_rate(replicas=replicas)
        assert rate is not None
        tight = bought_for(replace(service, traffic=Traffic(rate * replicas)), gpu)
        for number in range(days):
            day = case.service(1000 + 100 * seed + number)
            kept += (
                replica_keeps(trial, rate, replicas, day, 1),
                replica_keeps(trial, rate, replicas, day, _LONG),
                kept_by(tight, day),
                kept_by(bought, day),
                1,
            )
    return kept


def main() -> int:
    """Print the shares; fail where fewer than 95 % of the days keep what a fleet that is bought promises."""
    searches, days = (int(text) for text in (*sys.argv[1:], *("8", "3")[len(sys.argv) - 1 :]))
    total = np.zeros(5, dtype=np.int64)
    print(f"{'':28} {'replica':>8} {'longer':>8} {'tight':>8} {'bought':>8}   days")
    for case in CASES:
        kept = tried(case, searches, days)
        total += kept
        _print(case.name, kept)
    _print("all", total)
    return int(min(total[2:4]) < 0.95 * total[4])


def _print(name: str, kept: np.ndarray) -> None:
    shares = " ".join(f"{share:8.1%}" for share in kept[:4] / kept[4])
    print(f"{name:28} {shares} {kept[4]:6d}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
