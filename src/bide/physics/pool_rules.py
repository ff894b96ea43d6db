"""The cache pool of one GPU as a ledger that sums to the card: each engine's rule, and an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bide.facts.deployment import Deployment
from bide.interval import Interval, spanning
from bide.physics.model_runner import graphs_in_pool_budget
from bide.physics.overheads import Overheads, overheads

_LOW_TO_HIGH_SIGMAS = 1.645
"""From the 5th to the 95th percentile of a normal distribution."""
_WEIGHTS_SIGMA = 0.003
"""Share of the weights: what ranks pad and copy beyond what is counted."""
_CARD_SIGMA = 0.002
"""Share of a card whose usable memory nobody printed."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Where the bytes of one GPU go. The parts sum to `total_bytes`; a negative pool is what is missing."""

    total_bytes: int
    unused_bytes: int
    """Outside the engine's share, less the CUDA graphs where those are captured there."""
    weights_bytes: int
    activation_bytes: int
    runtime_bytes: int
    graph_bytes: int
    pool_bytes: int

    def to_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def entries(self) -> tuple[tuple[str, int], ...]:
        """The parts by name, the total left out."""
        return tuple((name.removesuffix("_bytes"), size) for name, size in self.to_dict().items())[1:]


@dataclass(frozen=True, slots=True)
class PoolSize:
    """A predicted pool: the ledger, the pool's 5th and 95th percentiles, and how each term came about."""

    ledger: Ledger
    interval_bytes: Interval
    terms: Overheads

    @property
    def pool_bytes(self) -> int:
        return self.ledger.pool_bytes

    @property
    def fits(self) -> bool:
        """Whether anything is left for a cache."""
        return self.ledger.pool_bytes > 0


def size_pool(
    deployment: Deployment, weights_bytes_per_rank: int, gpu_memory_bytes: int, *, samples: bool = True
) -> PoolSize:
    """The pool of one GPU that holds `weights_bytes_per_rank`, by the rule of the engine at its version.

    `samples` False: a GPU of a pipeline stage before the last.
    vLLM: share x card - weights - activation peak - runtime (- graphs, where they are estimated).
    SGLang: share x (card - runtime) - weights; activations and graphs live in the rest.
    TensorRT-LLM: share x (card - runtime - weights - activations - graphs).
    """
    terms = overheads(deployment, samples)
    rule = {"share_of_total": _share_of_total, "static_share": _static_share, "share_of_free": _share_of_free}
    ledger = rule[deployment.engine.pool_rule](deployment, terms, weights_bytes_per_rank, gpu_memory_bytes)
    sigma = _sigma(deployment, terms, weights_bytes_per_rank, gpu_memory_bytes)
    reach = _LOW_TO_HIGH_SIGMAS * sigma
    pool = ledger.pool_bytes
    return PoolSize(ledger, spanning(max(0.0, pool - reach), float(pool), pool + reach), terms)


def _share_of_total(deployment: Deployment, terms: Overheads, weights: int, total: int) -> Ledger:
    budget = round(deployment.gpu_memory_utilization * total)
    graphs = round(terms.graphs.size_bytes)
    activation, runtime = round(terms.activation.size_bytes), round(terms.runtime.size_bytes)
    pool = budget - weights - activation - runtime
    unused = total - budget
    if graphs_in_pool_budget(deployment):
        pool -= graphs
    else:
        graphs = min(graphs, unused)
        unused -= graphs
    return Ledger(total, unused, weights, activation, runtime, graphs, pool)


def _static_share(deployment: Deployment, terms: Overheads, weights: int, total: int) -> Ledger:
    runtime = round(terms.runtime.size_bytes)
    free = total - runtime
    static = round(deployment.gpu_memory_utilization * free)
    reserve = free - static
    activation = min(round(terms.activation.size_bytes), reserve)
    graphs = min(round(terms.graphs.size_bytes), reserve - activation)
    return Ledger(total, reserve - activation - graphs, weights, activation, runtime, graphs, static - weights)


def _share_of_free(deployment: Deployment, terms: Overheads, weights: int, total: int) -> Ledger:
    runtime, activation = round(terms.runtime.size_bytes), round(terms.activation.size_bytes)
    graphs = round(terms.graphs.size_bytes)
    free = total - runtime - weights - activation - graphs
    pool = round(deployment.gpu_memory_utilization * free) if free > 0 else free
    return Ledger(total, free - pool, weights, activation, runtime, graphs, pool)


def _sigma(deployment: Deployment, terms: Overheads, weights: int, total: int) -> float:
    """Standard deviation of the pool: the terms that are taken from it, the weights and the card."""
    parts = [terms.runtime.sigma_bytes, _WEIGHTS_SIGMA * weights]
    if deployment.engine.pool_rule != "static_share":
        parts.append(terms.activation.sigma_bytes)
        if graphs_in_pool_budget(deployment):
            parts.append(terms.graphs.sigma_bytes)
    if deployment.gpu is None or deployment.gpu.engine_memory_bytes is None:
        parts.append(_CARD_SIGMA * total)
    return math.hypot(*parts)
