"""Fleets of round numbers, so that waits can be worked out by hand."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from bide.facts.deployment import Deployment
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.config import CacheGroup, SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.sourced import Source
from bide.workload.blocks import Blocks
from bide.workload.traffic import Traffic

STEP_S = 0.1


@lru_cache(maxsize=1)
def deployment() -> Deployment:
    return Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})


def setup(
    *,
    max_num_seqs: int = 1,
    num_blocks: int = 1001,
    caching: bool = False,
    per_token_s: float = 0.0,
    request_s: float = 0.0,
    engines: int = 1,
    max_model_len: int = 4096,
) -> ReplicaSetup:
    """Steps of 100 ms, and `per_token_s` for each scheduled token; one step at a time."""
    config = SchedulerConfig(
        num_blocks=num_blocks,
        groups=(CacheGroup("full", 16),),
        max_model_len=max_model_len,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=2048,
        enable_prefix_caching=caching,
        async_scheduling=False,
    )
    cost = StepCost.affine(STEP_S, per_token_s, 0.0, 0.0, config.token_budget)
    return ReplicaSetup(deployment(), config, cost, request_s, engines, (0.9, 1.1), ())


def traffic(
    count: int, rate: float, *, prompt: int = 16, output: int = 1, blocks: Blocks | None = None, seed: int = 0
) -> Traffic:
    """Equal requests that come as a Poisson process, the first at 0."""
    gaps = np.random.default_rng(seed).exponential(1 / rate, count)
    gaps[0] = 0.0
    lengths = np.full(count, prompt), np.full(count, output)
    return Traffic(np.cumsum(gaps), *lengths, Source("made"), blocks)


def prefixes(count: int, families: int, blocks: int) -> Blocks:
    """Request i begins with the same `blocks` blocks of 16 tokens as all others of its family, drawn at random."""
    family = np.random.default_rng(1).integers(families, size=count)
    return Blocks.of([np.arange(blocks) + blocks * one for one in family], 16)
