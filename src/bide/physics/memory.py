"""What fits: the cache of a token and a request, the weights, the pool, and how many requests at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.formats import served_scheme
from bide.i18n import _
from bide.interval import Interval
from bide.physics.blocks import Pool, pool_sizer
from bide.physics.kv import KvNeed, kv_need
from bide.physics.pool import StagePools, deployment_weights, stage_pools
from bide.physics.pool_rules import Ledger, PoolSize
from bide.physics.rank_weights import RankWeights
from bide.physics.weights import Weights, weigh


@dataclass(frozen=True, slots=True)
class Fit:
    """Requests of one context at once. `requests` is the engine's own figure, for each data-parallel group."""

    context_tokens: int
    request_bytes: int
    """On one GPU, rounded up to the engine's blocks."""
    requests: float
    low_requests: float
    high_requests: float


@dataclass(frozen=True)
class Memory:
    """The memory answer for one deployment. Pools are of one GPU: at the 5th percentile, likely, at the 95th.

    `size` is None where no GPU was named and the pool was given: then there is no card to divide.
    """

    deployment: Deployment
    kv: KvNeed
    rank: RankWeights
    size: PoolSize | None
    pool_bytes: Interval
    pools: tuple[Pool, Pool, Pool]

    @property
    def ledger(self) -> Ledger:
        """The card's bytes; raises BadInput where no GPU was named."""
        if self.size is None:
            raise BadInput("gpu", None, _("a GPU of the catalogue (`bide gpus`)"))
        return self.size.ledger

    @property
    def pool(self) -> Pool:
        """The likely one."""
        return self.pools[1]

    @property
    def fits(self) -> bool:
        """Whether anything is left for a cache."""
        return self.pool_bytes.mid > 0

    @cached_property
    def weights(self) -> Weights:
        """The checkpoint's parameters and bytes by component, in the scheme that is served."""
        model = self.deployment.model
        return weigh(model, served_scheme(model, self.deployment.weights))

    def fit(self, context_tokens: int) -> Fit:
        """Requests at once when each has `context_tokens` tokens."""
        low, mid, high = (pool.requests(context_tokens) for pool in self.pools)
        return Fit(context_tokens, self.pool.request_bytes(context_tokens), mid, low, high)

    def requests(self, context_tokens: int) -> Interval:
        """Requests of this context at once, for each data-parallel group."""
        fit = self.fit(context_tokens)
        return Interval(fit.low_requests, fit.requests, fit.high_requests)

    def replica_requests(self, context_tokens: int) -> Interval:
        """Requests of this context at once over all data-parallel groups of a replica; 0 where it does not fit."""
        if not self.fits:
            return Interval(0.0, 0.0, 0.0)
        return self.requests(context_tokens).map(lambda requests: requests * self.deployment.dp)


def memory_of(deployment: Deployment) -> Memory:
    """Everything about the memory of `deployment`; a pool of 0 or less says that it does not fit.

    Raises BadInput where neither a GPU nor a pool is given.
    """
    stages = _stage_pools(deployment)
    size = stages.worst if stages else None
    given = deployment.pool_bytes_per_gpu or 0
    interval = size.interval_bytes if size else Interval(given, given, given)
    if size and size.pool_bytes <= 0:
        interval = Interval(size.pool_bytes, size.pool_bytes, size.pool_bytes)
    sized = pool_sizer(deployment)
    low, mid, high = (sized(round(end)) for end in (interval.low, interval.mid, interval.high))
    rank = stages.weights if stages else deployment_weights(deployment)
    return Memory(deployment, kv_need(deployment), rank, size, interval, (low, mid, high))


def _stage_pools(deployment: Deployment) -> StagePools | None:
    if deployment.gpu is None and deployment.pool_bytes_per_gpu is not None:
        return None
    return stage_pools(deployment)
