"""States with prefix caching: a state is kept where a later request may resume.

vLLM's "align" mode (MambaManager in v1/core/single_type_kv_cache_manager.py, 0.32): a table has a
place for every block of tokens, but only the running state, the one before it, the speculative
ones and those under a hit are real. Without checkpoints inside a chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

from bide.simulate.scheduler.config import CacheGroup, SchedulerConfig
from bide.simulate.scheduler.reference.live import Live
from bide.simulate.scheduler.reference.pool import NULL, Block, BlockPool, Content, idle_blocks
from bide.simulate.scheduler.reference.tables import BlockTable

NEVER = 1 << 60
"""More blocks than any pool has: an allocation that must not happen in this step."""


class AlignedStateTable(BlockTable):
    """States at block boundaries."""

    def __init__(self, number: int, group: CacheGroup, config: SchedulerConfig, pool: BlockPool) -> None:
        super().__init__(number, group, config, pool)
        self._spare = config.speculative_tokens  # blocks for the states after each draft token
        self._last_state: dict[Live, int] = {}
        self._retired: dict[Live, int] = {}
        self._extended: set[Live] = set()
        self._published_now: set[Content] = set()

    def new_step(self) -> None:
        """States published before this step can be used from now on."""
        self._published_now.clear()

    def skipped_tokens(self, computed: int) -> int:
        return computed - 1

    def needed(
        self, request: Live, tokens: int, hit: Sequence[Block], computed: int, main_tokens: int, capped: bool
    ) -> int:
        if hit and hit[-1].content in self._published_now:
            return NEVER  # the state is only there once this step has run
        fresh = -(-main_tokens // self.block_tokens) + self._spare - len(hit) - self.held(request)
        most = 1 if request in self._extended else 1 + self._spare
        return (min(fresh, most) if fresh > 0 else fresh) + idle_blocks(hit)

    def extend(self, request: Live, tokens: int, main_tokens: int) -> None:
        blocks = self._blocks.setdefault(request, [])
        required, before = -(-main_tokens // self.block_tokens) + self._spare, len(blocks)
        extended = request in self._extended
        self._extended.add(request)
        if required <= before:
            return
        if extended:
            self._last_state[request] = before - 1 - self._spare
        elif before:
            self._last_state[request] = before - 1
        skipped = required - self._spare - 1
        blocks += [NULL] * (skipped - before)
        if extended:
            self._move_spare(blocks, range(before - self._spare, min(before, skipped)))
        blocks += self._pool.take(max(0, required - len(blocks)))

    @staticmethod
    def _move_spare(blocks: list[Block], places: range) -> None:
        """Speculative states that the request has gone past serve again at the end."""
        for place in places:
            blocks.append(blocks[place])
            blocks[place] = NULL

    def retire(self, request: Live, settled: int) -> None:
        blocks = self._blocks.get(request)
        if not blocks:
            return
        if self.skipped_tokens(settled) > 0:
            self._retire_below(request, blocks, self.skipped_tokens(settled) // self.block_tokens)
        last = self._last_state.get(request)
        if last is not None and last < -(-settled // self.block_tokens) - 1:
            self._pool.give_back([blocks[last]])
            blocks[last] = NULL

    def _retire_below(self, request: Live, blocks: list[Block], place: int) -> None:
        """Give up the states before `place`, with gaps between them."""
        first, end = self._retired.get(request, 0), min(place, len(blocks))
        if first >= end:
            return
        self._pool.give_back(reversed(blocks[first:end]))
        blocks[first:end] = [NULL] * (end - first)
        self._retired[request] = end

    def publish(self, request: Live, tokens: int) -> list[Block]:
        published = super().publish(request, tokens)
        self._published_now.update(block.content for block in published if block.content is not None)
        boundary = (request.prompt_tokens - 1) // self.block_tokens * self.block_tokens
        if self._config.release == "0.32" and tokens == boundary and tokens > 0:
            last = self._blocks[request][tokens // self.block_tokens - 1]
            self._published_now.update([last.content] if last.content is not None else [])
        return published

    def worth_keeping(self, request: Live, place: int) -> bool:
        """The last state of a segment, and the one at a resume point."""
        retention = self._config.prefix_retention_tokens
        if retention is None:
            return True
        segment = retention // self.block_tokens
        if segment and (place + 1) % segment == 0:
            return True
        return any(place == point // self.block_tokens - 1 for point in self._resume_points(request))

    def release(self, request: Live) -> None:
        self._extended.discard(request)
        self._last_state.pop(request, None)
        self._retired.pop(request, None)
        super().release(request)
