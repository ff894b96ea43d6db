"""A production mix of contexts, laid into the cache: who runs at a random instant, and how many of them fit."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from bide.facts.deployment import Deployment
from bide.physics.blocks import Pool
from bide.physics.kv import kv_need
from bide.physics.same import Same
from bide.physics.stepwork import KvRead
from bide.workload.requests import Workload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

BIN_TOKENS = 64
"""Contexts are counted to this many tokens, upwards, when a whole workload is laid into blocks."""


def running_mix(workload: Workload) -> dict[int, float]:
    """Contexts of the requests that run at a random instant, in bins, and the share of each."""
    return _mix(Same(workload), whole=False)


def held_mix(workload: Workload, deployment: Deployment) -> dict[int, float]:
    """The same as the cache holds them: whole where the engine reserves the output at admission."""
    return _mix(Same(workload), whole=deployment.engine.reserves_output)


@lru_cache(maxsize=64)
def _mix(kept: Same[Workload], whole: bool) -> dict[int, float]:
    """Kept: every candidate for a service asks for the same."""
    contexts, weights = kept.value.resident_tokens()
    return _binned(kept.value.prompt_tokens + kept.value.output_tokens if whole else contexts, weights)


def _binned(contexts: Ints, weights: Floats) -> dict[int, float]:
    shares: Counter[int] = Counter()
    for context, weight in zip(contexts.tolist(), weights.tolist(), strict=True):
        shares[-(-context // BIN_TOKENS) * BIN_TOKENS] += weight
    return dict(shares)


def requests_at_once(pool: Pool, mix: dict[int, float]) -> float:
    """Running requests of a mix of contexts that a pool holds: one over the mean share of it that each takes."""
    return 1 / sum(share / max(pool.requests(context), 1e-9) for context, share in mix.items())


def held_bytes(deployment: Deployment, mix: dict[int, float]) -> float:
    """Cache bytes on one GPU that a running request has, on average."""
    cost = kv_need(deployment).per_gpu
    return sum(share * cost.request_bytes(context) for context, share in mix.items())


def read_bytes(read: KvRead, mix: dict[int, float]) -> float:
    """Cache bytes that a running request makes one GPU read in a step, on average, all pipeline stages together."""
    return sum(share * read.bytes_at(context) for context, share in mix.items())
