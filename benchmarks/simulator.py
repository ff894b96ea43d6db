"""Requests that the kernel serves in a second of one core, warm: `python benchmarks/simulator.py [--mooncake TRACE]`.

One replica: llama-3.1-8b on one H100 SXM as vLLM runs it there by default.

- Azure's conversations of 2023: pairs of lengths drawn with replacement from the cut in examples/traces, Poisson
  arrivals, prefix caching off, at shares of the highest rate that the replica sustains.
- Sessions whose prompts share prefixes, prefix caching on: a Mooncake trace (`--mooncake`, a JSONL file of Kimi's
  published traces), or sessions drawn here. The pool is that of tensor parallelism 4, which holds such prompts.

The highest stable rate is what the replica finishes in a second while it never lacks work: a run where everything
arrives at once, without its first and last fifth. Times are CPU seconds of the call alone, the best of several.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bide.facts.deployment import Deployment
from bide.simulate.fleet.traffic import requests_of, servable
from bide.simulate.replica_setup import ReplicaSetup, setup_of
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate
from bide.sourced import Source
from bide.workload.modelling.arriving import poisson
from bide.workload.modelling.distributions import Lognormal, Uniform
from bide.workload.modelling.model import Model, sample
from bide.workload.modelling.sessions import PACE, Growing
from bide.workload.reading.reader import read
from bide.workload.traffic import traffic_of

if TYPE_CHECKING:
    from bide.workload.trace import Trace

_AZURE = Path(__file__).parents[1] / "examples/traces/azure-conv-2023-peak15min.csv"
_HEADER = ("workload", "load", "requests", "of them/s", "hits", "steps", "CPU s", "requests/s", "goal")
_WIDTHS = (26, 6, 10, 10, 6, 11, 7, 11, 11)


@dataclass(frozen=True)
class Load:
    """A workload at a share of the highest stable rate."""

    name: str
    share: float
    goal_per_s: int
    setup: ReplicaSetup
    requests: Requests
    rate: float


def main() -> None:
    asked = _options()
    print(" ".join(f"{name:>{width}}" for name, width in zip(_HEADER, _WIDTHS, strict=True)))
    for load in [*_azure(asked.requests), *_shared_prefixes(asked.mooncake, asked.rounds)]:
        _measure(load, asked.repeats)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1_000_000, help="of the Azure mix")
    parser.add_argument("--mooncake", type=Path, help="a Mooncake trace instead of drawn sessions")
    parser.add_argument("--rounds", type=int, default=3, help="how often it is played, with other content each time")
    parser.add_argument("--repeats", type=int, default=5, help="the best of so many counts")
    return parser.parse_args()


def _measure(load: Load, repeats: int) -> None:
    """One line of the table."""
    best_s = float("inf")
    for _ in range(repeats):
        begun_s = time.process_time()
        outcome = simulate(load.setup.config, load.setup.cost, load.requests)
        best_s = min(best_s, time.process_time() - begun_s)
    count = len(load.requests)
    hits = float(outcome.cached_tokens.sum() / load.requests.prompt_tokens.sum())
    cells = (
        load.name,
        f"{load.share:.0%}",
        f"{count:,}",
        f"{load.rate:.2f}",
        f"{hits:.0%}",
        f"{outcome.steps:,}",
        f"{best_s:.2f}",
        f"{count / best_s:,.0f}",
        f"{load.goal_per_s:,}",
    )
    print(" ".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)), flush=True)


def _azure(count: int) -> Iterator[Load]:
    setup = setup_of(_deployment(enable_prefix_caching=False))
    trace = read([_AZURE]).trace
    rng = np.random.default_rng(1)
    rows = rng.integers(len(trace), size=count)
    prompts, outputs = trace.prompt_tokens[rows], trace.output_tokens[rows]
    gaps = np.cumsum(rng.exponential(1.0, count))
    few = Requests.of(np.zeros(20_000), prompts[:20_000], outputs[:20_000])
    highest = _highest_rate(setup, few)
    for share, goal in ((0.6, 1_000_000), (0.95, 300_000)):
        rate = share * highest
        yield Load("Azure conversations", share, goal, setup, Requests.of(gaps / rate, prompts, outputs), rate)


def _shared_prefixes(path: Path | None, rounds: int) -> Iterator[Load]:
    setup = setup_of(_deployment(tp=4, enable_prefix_caching=True))
    trace = read([path]).trace if path else _sessions()
    traffic = traffic_of(trace, requests=rounds * len(trace) if path else None)
    traffic = traffic.taken(servable(traffic, setup.config))
    requests = requests_of(traffic, setup.config)
    highest = _highest_rate(setup, replace(requests, arrival_s=np.zeros(len(requests))))
    played = (len(requests) - 1) / (requests.arrival_s[-1] - requests.arrival_s[0])
    for share in (0.6, 0.95):
        slowed = replace(requests, arrival_s=requests.arrival_s * played / (share * highest))
        name = f"Mooncake {path.stem.removesuffix('_trace')}" if path else "drawn sessions"
        yield Load(name, share, 150_000, setup, slowed, share * highest)


def _sessions() -> Trace:
    """Conversations of several turns, each prompt all that was said before."""
    sessions = Growing(
        turns=Lognormal(1.4, 0.8, largest=40),
        first=Lognormal(6.5, 1.2, largest=30_000),
        added=Lognormal(4.5, 1.0, largest=8_000),
        output=Lognormal(5.3, 0.8, largest=2_000),
        think=Uniform(5.0, 60.0),
        pace=PACE,
        max_context_tokens=120_000,
    )
    return sample(Model(sessions, poisson(2.0), Source("drawn")), 100_000, seed=1)


def _highest_rate(setup: ReplicaSetup, at_once: Requests) -> float:
    """Requests finished in a second in the middle of a run that has all its requests from the start."""
    finished_s = np.sort(simulate(setup.config, setup.cost, at_once).finish_s)
    low, high = len(finished_s) // 5, len(finished_s) * 4 // 5
    return float((high - low) / (finished_s[high] - finished_s[low]))


def _deployment(**more: object) -> Deployment:
    return Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm", **more})


if __name__ == "__main__":
    main()
