"""The cache of one replica: one pool, a block table for each group, and the tests that admit tokens.

As read in vLLM 0.32's KVCacheManager.allocate_slots (v1/core/kv_cache_manager.py).
"""

from __future__ import annotations

from bide.simulate.scheduler.config import CacheGroup, SchedulerConfig
from bide.simulate.scheduler.reference.hits import Hit, kinds_of, longest_hit
from bide.simulate.scheduler.reference.live import Live
from bide.simulate.scheduler.reference.pool import BlockPool
from bide.simulate.scheduler.reference.states import AlignedStateTable
from bide.simulate.scheduler.reference.tables import BlockTable, ChunkTable, StateTable, WindowTable

_TABLES = {"full": BlockTable, "window": WindowTable, "chunk": ChunkTable, "state": StateTable}


class Cache:
    """Blocks for tokens, request by request."""

    def __init__(self, config: SchedulerConfig) -> None:
        self._config = config
        self.pool = BlockPool(config.num_blocks)
        self._tables = tuple(self._table(number, group) for number, group in enumerate(config.groups))
        self._kinds = kinds_of(self._tables)
        self._no_hit = Hit(0, ((),) * len(self._tables))

    def _table(self, number: int, group: CacheGroup) -> BlockTable:
        aligned = group.kind == "state" and self._config.enable_prefix_caching
        make = AlignedStateTable if aligned else _TABLES[group.kind]
        return make(number, group, self._config, self.pool)

    def new_step(self) -> None:
        for table in self._tables:
            if isinstance(table, AlignedStateTable):
                table.new_step()

    def look_up(self, request: Live) -> Hit:
        """The cached prefix that the request can start from."""
        if not self._config.enable_prefix_caching:
            return self._no_hit
        return longest_hit(request, self._tables, self._kinds, self.pool, self._config.aligned_block_tokens)

    def continue_with(self, request: Live, tokens: int) -> bool:
        """Slots for `tokens` more of a running request; False where the pool is short."""
        return self._allocate(request, tokens, self._no_hit, spare=0)

    def admit(self, request: Live, tokens: int, hit: Hit, beside_others: bool) -> bool:
        """Slots for the first `tokens` after a hit, sent ones included; False where they, or the whole prompt,
        would not fit."""
        spare = self._config.watermark_blocks if beside_others else 0
        if self._config.scheduler_reserve_full_isl:
            whole = min(request.known, self._config.max_model_len)
            needed = self._needed(request, whole, hit, hit.tokens, whole, capped=True)
            if needed + spare > self.pool.free_blocks:
                return False
        return self._allocate(request, tokens, hit, spare)

    def _allocate(self, request: Live, tokens: int, hit: Hit, spare: int) -> bool:
        done = request.computed + hit.tokens
        slots = min(done + tokens + self._config.lookahead_tokens, self._config.max_model_len)
        for table in self._tables:  # even where the request then gets nothing
            table.retire(request, max(0, done - request.in_flight))
        if self._needed(request, slots, hit, done, done + tokens, capped=False) + spare > self.pool.free_blocks:
            return False
        if hit.tokens:
            for table, blocks in zip(self._tables, hit.blocks, strict=True):
                table.adopt(request, blocks, hit.tokens)
        for table in self._tables:
            table.extend(request, slots, done + tokens)
        self.publish(request, min(done + tokens, request.known))
        return True

    def _needed(self, request: Live, tokens: int, hit: Hit, computed: int, main_tokens: int, capped: bool) -> int:
        pairs = zip(self._tables, hit.blocks, strict=True)
        return sum(table.needed(request, tokens, blocks, computed, main_tokens, capped) for table, blocks in pairs)

    def publish(self, request: Live, tokens: int) -> None:
        """Make the full blocks among the first `tokens` findable; between groups, only whole aligned blocks are."""
        if not self._config.enable_prefix_caching:
            return
        if len(self._tables) > 1:
            tokens -= tokens % self._config.aligned_block_tokens
        for table in self._tables:
            table.publish(request, tokens)

    def release(self, request: Live) -> None:
        for table in self._tables:
            table.release(request)
