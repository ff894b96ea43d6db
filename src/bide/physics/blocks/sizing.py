"""A pool in bytes as the engine counts it: blocks, tokens, requests at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from bide.facts.deployment import Deployment
from bide.facts.engines import BlockRules
from bide.facts.layers import CompressedAttention
from bide.facts.model import Model
from bide.physics.blocks.flat import FlatPool, flat_pool
from bide.physics.blocks.groups import Group, make_groups
from bide.physics.blocks.packed import packed_groups
from bide.physics.blocks.specs import Layers, Paging, layer_specs
from bide.physics.kv import attention_tp, cached_groups, kv_format
from bide.physics.weights import Same


@dataclass(frozen=True, slots=True)
class BlockPool:
    """The blocks of a vLLM pool. `requests` and `tokens` are what its log prints.

    `num_blocks` is the smallest over the pipeline stages, as the scheduler uses it on all of them.
    """

    num_blocks: int
    groups: tuple[Group, ...]
    in_flight_tokens: int
    rules: BlockRules
    max_model_len: int
    bytes_per_block: int
    """On the stage with the largest blocks."""
    whole_blocks_per_request: bool = True

    def request_blocks(self, context_tokens: int) -> int:
        """Blocks that a request of `context_tokens` reserves, over all groups."""
        return _request_blocks(Same(self.groups), context_tokens, self.in_flight_tokens)

    def request_bytes(self, context_tokens: int) -> int:
        """Bytes of those blocks on one GPU."""
        return self.request_blocks(context_tokens) * self.bytes_per_block

    def requests(self, context_tokens: int) -> float:
        """Requests of `context_tokens` at once: blocks / blocks per request ("Maximum concurrency")."""
        if not self.groups:
            return float("inf")
        if not self.whole_blocks_per_request:
            return self.num_blocks * self.block_tokens / context_tokens
        return self.num_blocks / max(1, self.request_blocks(context_tokens))

    @property
    def block_tokens(self) -> int:
        """Tokens of the smallest block; a model of states alone has one block for the longest request."""
        paged = [group.block_tokens for group in self.groups if not group.is_state]
        return min(paged, default=self.max_model_len)

    @property
    def tokens(self) -> int:
        """ "GPU KV cache size": what this version prints."""
        if not self.groups:
            return 0
        if self.rules.printed_tokens == "concurrency":
            # blocks x length / blocks per request, rounded as the engine does
            return int(self.requests(self.max_model_len) * self.max_model_len)
        return self.num_blocks // len(self.groups) * self.block_tokens


@lru_cache(maxsize=65536)
def _request_blocks(key: Same, context_tokens: int, in_flight_tokens: int) -> int:
    groups: tuple[Group, ...] = key.value  # type: ignore[assignment]
    return sum(group.blocks(context_tokens, in_flight_tokens) for group in groups)


Pool = BlockPool | FlatPool


def size_blocks(deployment: Deployment, pool_bytes: int) -> Pool:
    """The blocks that `pool_bytes` for the cache on each GPU give, by the rules of the engine's version."""
    if deployment.engine.blocks.block_rule == "flat":
        return flat_pool(deployment, pool_bytes)
    groups, sizes = _plan(*_plan_key(deployment))
    return BlockPool(
        num_blocks=min((max(0, int(pool_bytes)) // size for size in sizes if size), default=0),
        groups=groups,
        in_flight_tokens=in_flight_tokens(deployment),
        rules=deployment.engine.blocks,
        max_model_len=deployment.max_model_len,
        bytes_per_block=max(sizes),
        whole_blocks_per_request=deployment.engine.blocks.block_rule == "groups",
    )


def block_groups(deployment: Deployment) -> tuple[Group, ...]:
    """The block tables of `deployment`, for one rank that held all pipeline stages."""
    return _plan(*_plan_key(deployment))[0]


def _plan_key(deployment: Deployment) -> tuple[Same, Paging, float, bool, int]:
    """All that the block tables depend on."""
    rules = deployment.engine.blocks
    paging = Paging(
        block_tokens=deployment.block_size,
        tp=attention_tp(deployment),
        kv=kv_format(deployment.kv_dtype, deployment.model),
        speculative_tokens=deployment.speculative_tokens,
        prefix_caching=deployment.enable_prefix_caching,
        state_cache_mode=rules.state_cache_mode,
        state_checkpoint_blocks=rules.state_checkpoint_blocks,
        latent_state_alignment=rules.latent_state_alignment,
    )
    hybrid = rules.hybrid_manager and not deployment.disable_hybrid_kv_cache_manager
    return Same(deployment.model), paging, rules.larger_group_ratio, hybrid, deployment.pp


@lru_cache(maxsize=4096)
def _plan(
    key: Same, paging: Paging, larger_group_ratio: float, hybrid: bool, pp: int
) -> tuple[tuple[Group, ...], tuple[int, ...]]:
    """The block tables, and the bytes of a block on each pipeline stage."""
    model = key.value
    assert isinstance(model, Model)
    cached = cached_groups(model, paging.speculative_tokens)
    if any(isinstance(group, CompressedAttention) for group in cached):
        groups = packed_groups(cached, paging)
    else:
        layers = layer_specs(cached, paging)
        groups = make_groups(layers, larger_group_ratio, hybrid and not _refused(layers, paging))
    stages = pipeline_stages(model.layer_count, pp)
    sizes = (max((group.page_bytes(stage) for group in groups), default=0) for stage in stages)
    return tuple(groups), tuple(sizes)


def _refused(layers: list[Layers], paging: Paging) -> bool:
    """Chunked attention with drafts: the hybrid manager is off (vLLM config/vllm.py)."""
    return paging.speculative_tokens > 0 and any(entry.spec.kind == "chunk" for entry in layers)


def in_flight_tokens(deployment: Deployment) -> int:
    """Tokens that may be scheduled and not yet settled: a full batch for each step in flight.

    Steps in flight: one a pipeline stage, and one more with asynchronous scheduling (vLLM config/vllm.py
    max_concurrent_batches, from 0.26); a single batch before.
    """
    batches = 1
    if deployment.engine.blocks.async_in_flight:
        batches = deployment.pp + (1 if deployment.async_scheduling else 0)
    return batches * deployment.max_num_batched_tokens


def pipeline_stages(layer_count: int, pp: int) -> list[range | None]:
    """The layers of each stage: even, the remainder going to the last but one and those before it.

    Layers past the model's own (drafts) are on the last stage. vLLM distributed/utils.py get_pp_indices.

    >>> [len(stage) for stage in pipeline_stages(61, 4)][:3]
    [15, 15, 16]
    """
    if pp <= 1:
        return [None]
    sizes = [layer_count // pp] * pp
    for i in range(2, layer_count % pp + 2):
        sizes[-i] += 1
    ends = list(accumulate(sizes))
    starts = [0, *ends[:-1]]
    ends[-1] += layer_count  # room for draft layers
    return [range(start, end) for start, end in zip(starts, ends, strict=True)]
