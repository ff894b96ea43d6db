"""A production mix of contexts, laid into the cache: who runs at a random instant, and how many of them fit."""

from __future__ import annotations

from collections import Counter

from bide.facts.deployment import Deployment
from bide.physics.blocks import Pool
from bide.physics.kv import kv_need
from bide.workload.requests import Workload

BIN_TOKENS = 64
"""Contexts are counted to this many tokens, upwards, when a whole workload is laid into blocks."""


def running_mix(workload: Workload) -> dict[int, float]:
    """Contexts of the requests that run at a random instant, in bins, and the share of each."""
    contexts, weights = workload.resident_tokens()
    shares: Counter[int] = Counter()
    for context, weight in zip(contexts.tolist(), weights.tolist(), strict=True):
        shares[-(-context // BIN_TOKENS) * BIN_TOKENS] += weight
    return dict(shares)


def requests_at_once(pool: Pool, mix: dict[int, float]) -> float:
    """Running requests of a mix of contexts that a pool holds: one over the mean share of it that each takes."""
    return 1 / sum(share / max(pool.requests(context), 1e-9) for context, share in mix.items())


def running_bytes(deployment: Deployment, mix: dict[int, float]) -> float:
    """Cache bytes on one GPU that a running request has, and a decode step reads, on average."""
    cost = kv_need(deployment).per_gpu
    return sum(share * cost.request_bytes(context) for context, share in mix.items())
