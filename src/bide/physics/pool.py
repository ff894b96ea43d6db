"""The cache pool of a deployment: weights, overheads and what they leave, on the GPUs of every pipeline stage."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.formats import UNQUANTISED, served_scheme
from bide.facts.gpus import UNLISTED
from bide.i18n import _
from bide.interval import Interval
from bide.physics.pool_rules import PoolSize, size_pool
from bide.physics.rank_weights import Layout, RankWeights, rank_bytes
from bide.units import format_bytes

_LARGEST_TP = 64


@dataclass(frozen=True, slots=True)
class StagePools:
    """The pools of a replica's pipeline stages; GPUs of a stage are alike."""

    weights: RankWeights
    stages: tuple[PoolSize, ...]

    @property
    def worst(self) -> PoolSize:
        """The stage with the smallest pool, which decides how many blocks all of them use."""
        return min(self.stages, key=lambda stage: stage.pool_bytes)

    @property
    def fits(self) -> bool:
        return self.worst.fits


def stage_pools(deployment: Deployment) -> StagePools:
    """Weights and pool of every stage; a pool below 0 is what is missing.

    Raises BadInput where no GPU is given.
    """
    gpu = deployment.gpu
    if gpu is None:
        raise BadInput("gpu", None, _("a GPU of the catalogue (`bide gpus`)"))
    if gpu.id == UNLISTED and deployment.pool_bytes_per_gpu is None:
        hint = _("nothing is known of the memory of unlisted hardware")
        raise BadInput("pool_bytes_per_gpu", None, _("the pool as the engine's log gives it"), hint)
    weights = deployment_weights(deployment)
    last = len(weights.stages) - 1
    sized = (
        size_pool(deployment, stage.size_bytes, gpu.usable_bytes, samples=i == last)
        for i, stage in enumerate(weights.stages)
    )
    return StagePools(weights, tuple(_with_given(deployment, size) for size in sized))


def deployment_weights(deployment: Deployment) -> RankWeights:
    """What the GPUs of a replica hold of the model, in the scheme that is served."""
    model, weights = deployment.model, deployment.weights
    layout = Layout(
        dp_inside_tp=deployment.engine.dp_inside_tp,
        tp=deployment.tp,
        pp=deployment.pp,
        dp=deployment.dp,
        ep=deployment.ep,
        speculative=deployment.speculative_tokens > 0,
        dtype=weights if weights in UNQUANTISED else None,
        vendor=deployment.gpu.vendor if deployment.gpu else "nvidia",
    )
    return rank_bytes(model, served_scheme(model, weights), layout)


def no_room(deployment: Deployment, pools: StagePools) -> str:
    """What is needed, what there is, and the smallest tensor parallelism that would leave room."""
    worst = pools.worst.ledger
    text = _(
        "{model} does not fit: {weights} of weights and {overhead} of activations and runtime on each {gpu}, "
        "which has {budget} for them"
    ).format(
        model=deployment.model.name,
        weights=format_bytes(worst.weights_bytes),
        overhead=format_bytes(worst.activation_bytes + worst.runtime_bytes + worst.graph_bytes),
        gpu=deployment.gpu.name if deployment.gpu else "GPU",
        budget=format_bytes(worst.total_bytes - worst.unused_bytes),
    )
    fitting = _fitting_tp(deployment)
    return text + (_("; --tp {tp} would leave room").format(tp=fitting) if fitting else "")


def _fitting_tp(deployment: Deployment) -> int | None:
    """The next power of two of tp that divides the heads and leaves a pool."""
    tp = deployment.tp * 2
    while tp <= _LARGEST_TP:
        if deployment.model.attention_heads % tp == 0 and stage_pools(replace(deployment, tp=tp)).fits:
            return tp
        tp *= 2
    return None


def _with_given(deployment: Deployment, size: PoolSize) -> PoolSize:
    """The pool replaced by the one that was given, what it differs by being unused memory."""
    given = deployment.pool_bytes_per_gpu
    if given is None:
        return size
    unused = size.ledger.unused_bytes + size.ledger.pool_bytes - given
    ledger = replace(size.ledger, unused_bytes=unused, pool_bytes=given)
    return replace(size, ledger=ledger, interval_bytes=Interval(given, given, given))
