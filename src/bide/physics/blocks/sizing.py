"""A pool in bytes as the engine counts it: blocks, tokens, requests at once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from bide.facts.deployment import Deployment
from bide.facts.engines import BlockRules
from bide.facts.kv_formats import kv_format
from bide.facts.layers import CompressedAttention
from bide.facts.model import Model
from bide.physics.blocks.flat import FlatPool, flat_pool
from bide.physics.blocks.groups import Group, make_groups
from bide.physics.blocks.packed import packed_groups
from bide.physics.blocks.specs import Layers, Paging, layer_specs
from bide.physics.kv import cached_groups
from bide.physics.same import Same, kept
from bide.physics.shards import stage_layers


@dataclass(frozen=True, slots=True)
class BlockTables:
    """The block tables of a model on one rank, whatever the pool."""

    groups: tuple[Group, ...]
    stage_block_bytes: tuple[int, ...]
    """Of one block, on each pipeline stage."""
    request_blocks: Callable[[int, int], int]
    """(context, tokens in flight) -> blocks that a request reserves over all groups; kept."""


@dataclass(frozen=True, slots=True)
class BlockPool:
    """The blocks of a vLLM pool. `requests` and `tokens` are what its log prints.

    `num_blocks` is the smallest over the pipeline stages, as the scheduler uses it on all of them.
    """

    num_blocks: int
    tables: BlockTables
    in_flight_tokens: int
    rules: BlockRules
    max_model_len: int

    @property
    def groups(self) -> tuple[Group, ...]:
        return self.tables.groups

    @property
    def bytes_per_block(self) -> int:
        """On the stage with the largest blocks."""
        return max(self.tables.stage_block_bytes)

    def request_blocks(self, context_tokens: int) -> int:
        """Blocks that a request of `context_tokens` reserves, over all groups."""
        return self.tables.request_blocks(context_tokens, self.in_flight_tokens)

    def request_bytes(self, context_tokens: int) -> int:
        """Bytes of those blocks on one GPU."""
        return self.request_blocks(context_tokens) * self.bytes_per_block

    def requests(self, context_tokens: int) -> float:
        """Requests of `context_tokens` at once: blocks / blocks per request ("Maximum concurrency")."""
        if not self.groups:
            return float("inf")
        if self.rules.block_rule == "one_table":
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


Pool = BlockPool | FlatPool


def size_blocks(deployment: Deployment, pool_bytes: int) -> Pool:
    """The blocks that `pool_bytes` for the cache on each GPU give, by the rules of the engine's version."""
    return pool_sizer(deployment)(pool_bytes)


def pool_sizer(deployment: Deployment) -> Callable[[int], Pool]:
    """From bytes for the cache on each GPU to a pool, for several sizes of one deployment's pool."""
    if deployment.engine.blocks.block_rule == "flat":
        return partial(flat_pool, deployment)
    return partial(_block_pool, deployment, block_tables(deployment), in_flight_tokens(deployment))


def _block_pool(deployment: Deployment, tables: BlockTables, in_flight: int, pool_bytes: int) -> BlockPool:
    blocks = min((max(0, int(pool_bytes)) // size for size in tables.stage_block_bytes if size), default=0)
    return BlockPool(blocks, tables, in_flight, deployment.engine.blocks, deployment.max_model_len)


def block_tables(deployment: Deployment) -> BlockTables:
    """The block tables of `deployment`, for one rank that held all pipeline stages."""
    rules = deployment.engine.blocks
    paging = Paging(
        block_tokens=deployment.block_size,
        tp=deployment.attention_tp,
        kv=kv_format(deployment.kv_dtype, deployment.model),
        speculative_tokens=deployment.speculative_tokens,
        prefix_caching=deployment.enable_prefix_caching,
        state_cache_mode=rules.state_cache_mode,
        state_checkpoint_blocks=rules.state_checkpoint_blocks,
        latent_state_alignment=rules.latent_state_alignment,
    )
    hybrid = rules.hybrid_manager and not deployment.disable_hybrid_kv_cache_manager
    return _tables(Same(deployment.model), paging, rules.larger_group_ratio, hybrid, deployment.pp)


@kept(4096)
def _tables(kept: Same[Model], paging: Paging, larger_group_ratio: float, hybrid: bool, pp: int) -> BlockTables:
    model = kept.value
    cached = cached_groups(model, paging.speculative_tokens)
    if any(isinstance(group, CompressedAttention) for group in cached):
        groups = packed_groups(cached, paging)
    else:
        layers = layer_specs(cached, paging)
        groups = make_groups(layers, larger_group_ratio, hybrid and not _refused(layers, paging))
    *stages, last = stage_layers(model.layer_count, pp)
    stages.append(range(last.start, sys.maxsize))  # drafts, which follow the model's own layers, are on the last
    sizes = (max((group.page_bytes(stage) for group in groups), default=0) for stage in stages)
    counted = lru_cache(maxsize=4096)(partial(_request_blocks, tuple(groups)))
    return BlockTables(tuple(groups), tuple(sizes), counted)


def _request_blocks(groups: tuple[Group, ...], context_tokens: int, in_flight_tokens: int) -> int:
    return sum(group.blocks(context_tokens, in_flight_tokens) for group in groups)


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
