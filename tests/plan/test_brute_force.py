"""The search against simulating every candidate at every size: an oracle that shares none of its code."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from bide.facts.deployment import Deployment
from bide.facts.gpus import Gpu, find_gpu
from bide.facts.hf import from_config
from bide.physics.profile import load_profile
from bide.plan.question import Hardware, Limit, Measure, Service, Traffic
from bide.plan.search import offer
from bide.simulate.replica_setup import setup_of
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate
from bide.workload.lengths import described_workload
from plan_inputs import LLAMA

REQUESTS = 600
"""As the plan's runs in these tests."""
WORK = described_workload({"prompt": {"p50": 900, "p95": 3000}, "output": {"p50": 120, "p95": 400}}, "lengths")
PRICES = {"h100-sxm": 3.0, "l40s": 0.9}
CHOICES = {"tp": (1, 2), "max_num_batched_tokens": (2048, 8192), "kv_dtype": ("auto", "fp8")}


@dataclass(frozen=True)
class Ask:
    latency: str
    percent: float
    seconds: float


def deployments(gpus: tuple[Gpu, ...]) -> Iterator[Deployment]:
    length = math.ceil((WORK.prompt_tokens + WORK.output_tokens).max() / 1024) * 1024
    for gpu in gpus:
        for tp in CHOICES["tp"]:
            for tokens in CHOICES["max_num_batched_tokens"]:
                for kv_dtype in CHOICES["kv_dtype"]:
                    yield Deployment.resolve(
                        {
                            "model": from_config(LLAMA, "llama"),
                            "gpu": gpu,
                            "tp": tp,
                            "max_num_batched_tokens": tokens,
                            "kv_dtype": kv_dtype,
                            "max_model_len": length,
                        }
                    )


def confident(values: np.ndarray, percent: float) -> tuple[float, float]:
    """The percentile, and the one that 95 of 100 runs stay below, by 16 batch means."""
    over = (values > np.percentile(values, percent)).astype(float)
    error = np.std([part.mean() for part in np.array_split(over, 16)], ddof=1) / 4
    return float(np.percentile(values, percent)), float(
        np.percentile(values, min(100.0, percent + 175.3 * 2**0.5 * error))
    )


def dealt(replicas: int, count: int) -> tuple[list[int], list[float]]:
    """The requests that one of so many replicas gets when they take turns, and the time since the one before.

    The workload over and over, but for its last requests where 2 or 3 divides their number; of replicas, the next lower
    power of two or three times one.
    """
    one_in = max(n for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if n <= replicas)
    there = len(WORK)
    while one_in > 1 and math.gcd(there, 6) > 1:
        there -= 1
    length = max(there, count)
    got = [(one_in * (turn + 1) - (one_in == 1)) % there for turn in range(length)]
    waited = [sum(WORK.gaps[(last - back) % there] for back in range(one_in)) for last in got]
    if length > count:  # 16 stretches, evenly spread
        starts = np.linspace(0, length - count // 16, 16).astype(int)
        kept = [place for start in starts for place in range(start, start + count // 16)]
        return [got[place] for place in kept], [waited[place] for place in kept]
    return got, waited


def saturated(deployment: Deployment) -> float:
    setup, rows = setup_of(deployment), dealt(1, REQUESTS)[0]
    backlog = np.tile(rows, 8)
    work = Requests.of(np.zeros(len(backlog)), WORK.prompt_tokens[backlog], WORK.output_tokens[backlog])
    ends = np.sort(simulate(setup.config, setup.cost, work).finish_s)
    quarter = len(ends) // 4
    return float(2 * quarter / (ends[3 * quarter] - ends[quarter]))


def holds(deployment: Deployment, asks: list[Ask], rps: float, replicas: int) -> bool:
    short, long = (measured(deployment, asks, rps, replicas, times) for times in (1, 4))
    return all(
        min(above, max(value, surer)) <= ask.seconds
        for ask, (value, above), (_value, surer) in zip(asks, short, long, strict=True)
    )


def measured(
    deployment: Deployment, asks: list[Ask], rps: float, replicas: int, times: int
) -> list[tuple[float, float]]:
    """What is asked, of one of so many replicas."""
    setup = setup_of(deployment)
    rows, waited = dealt(replicas, min(times * REQUESTS, len(WORK)))
    prompts, outputs = WORK.prompt_tokens[rows], WORK.output_tokens[rows]
    arrival_s = np.cumsum(np.array(waited) / np.mean(waited)) * replicas / rps
    outcome = simulate(setup.config, setup.cost, Requests.of(arrival_s, prompts, outputs))
    first_s, last_s = outcome.first_token_s + setup.request_s, outcome.finish_s + setup.request_s
    inside = arrival_s >= min(3 * (last_s - arrival_s).mean(), 0.2 * arrival_s[-1])
    seconds = {
        "ttft": first_s - arrival_s,
        "e2e": last_s - arrival_s,
        "tpot": (last_s - first_s) / np.maximum(outputs - 1, 1),
    }
    many = {"tpot": outputs > 1}
    return [confident(seconds[ask.latency][inside & many.get(ask.latency, inside)], ask.percent) for ask in asks]


def cheapest(asks: list[Ask], rps: float, gpus: tuple[Gpu, ...], most: int) -> tuple[float, int] | None:
    """USD an hour and GPUs of the cheapest fleet, over every deployment and every number of replicas."""
    found: list[tuple[float, int]] = []
    for deployment in deployments(gpus):
        assert deployment.gpu is not None
        highest = 0.95 * saturated(deployment)
        for replicas in range(1, most // deployment.tp + 1):
            if rps / replicas <= highest and holds(deployment, asks, rps, replicas):
                count = replicas * deployment.tp
                found.append((count * PRICES[deployment.gpu.id], count))
                break
    return min(found, default=None)


@pytest.mark.parametrize(
    ("asks", "rps", "gpu_ids", "most"),
    [
        ([Ask("ttft", 95, 1.0), Ask("tpot", 95, 0.05)], 25.0, ("h100-sxm",), 8),
        ([Ask("e2e", 95, 8.0)], 20.0, ("h100-sxm", "l40s"), 8),
        ([Ask("e2e", 90, 5.0)], 12.0, ("l40s",), 6),
        ([Ask("tpot", 95, 0.004)], 5.0, ("h100-sxm",), 4),
    ],
)
def test_the_search_finds_what_trying_everything_finds(
    asks: list[Ask], rps: float, gpu_ids: tuple[str, ...], most: int
) -> None:
    gpus = tuple(find_gpu(gpu) for gpu in gpu_ids)
    limits = tuple(Limit(Measure(ask.latency, float(ask.percent)), ask.seconds) for ask in asks)  # type: ignore[arg-type]
    service = Service("chat", from_config(LLAMA, "llama"), WORK, Traffic(rps), limits, {}, CHOICES)
    options = offer(service, Hardware(gpus, most, PRICES), load_profile()).options
    best = cheapest(asks, rps, gpus, most)
    if best is None:
        assert not options
    else:
        assert options[0].cost is not None
        assert options[0].cost.usd_per_hour == pytest.approx(best[0])
        assert options[0].gpus == best[1]
