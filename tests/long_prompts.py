"""A service with long prompts and short answers, whose tokens must come soon: what prefill and decode apart is for."""

from __future__ import annotations

from functools import cache

import numpy as np

from bide.facts.gpus import find_gpu
from bide.facts.hf import from_config
from bide.physics.profile import load_profile
from bide.plan.candidate import Candidate, candidate
from bide.plan.question import Limit, Measure, Service, Traffic
from bide.sourced import Source
from bide.workload.arrivals import poisson_gaps
from bide.workload.requests import Workload
from plan_inputs import LLAMA

MODEL, H100 = from_config(LLAMA, "llama"), find_gpu("h100-sxm")
LONG_PROMPTS = {"prompt": 5000.0, "output": 150.0}
TIGHT = {"ttft_p95": 2.0, "tpot_p95": 0.012}


def drawn(seed: int, count: int = 1500, prompt: float = 5000.0, output: float = 150.0) -> Workload:
    rng = np.random.default_rng(seed)
    prompts = np.clip(rng.lognormal(np.log(prompt), 0.4, count), 1, 12000).astype(np.int64)
    outputs = np.clip(rng.lognormal(np.log(output), 0.4, count), 1, 600).astype(np.int64)
    return Workload(prompts, outputs, poisson_gaps(count, seed), Source("drawn", kind="given"))


@cache
def work(prompt: float = 5000.0, output: float = 150.0) -> Workload:
    return drawn(1, prompt=prompt, output=output)


def limits(**patience: float) -> tuple[Limit, ...]:
    found = []
    for name, seconds in patience.items():
        latency, _, percent = name.partition("_p")
        found.append(Limit(Measure(latency, float(percent)), seconds))  # type: ignore[arg-type]
    return tuple(found)


def service(given: Workload, rps: float, **patience: float) -> Service:
    engine = {"tp": 1, "max_num_batched_tokens": 8192}
    return Service(
        "chat", MODEL, given, Traffic(rps), limits(**(patience or TIGHT)), engine, disaggregated=(False, True)
    )


def built(one: Service) -> Candidate:
    found = candidate(one, H100, {}, load_profile())
    assert isinstance(found, Candidate)
    return found
