"""Block tables: which blocks of a group each request holds.

As read in vLLM 0.32's v1/core/single_type_kv_cache_manager.py, without its external caches, context
parallelism, and hits that end inside a block.
"""

from __future__ import annotations

from collections.abc import Sequence

from bide.simulate.scheduler.config import CacheGroup, SchedulerConfig
from bide.simulate.scheduler.reference.live import Live
from bide.simulate.scheduler.reference.pool import NULL, Block, BlockPool, idle_blocks


class BlockTable:
    """A group that keeps every block (full attention); other kinds override what differs."""

    def __init__(self, number: int, group: CacheGroup, config: SchedulerConfig, pool: BlockPool) -> None:
        self.number = number
        self.group = group
        self.block_tokens = group.block_tokens
        self._config = config
        self._pool = pool
        self._cap = config.admission_cap(group)
        self._ids_per_block = self.block_tokens // config.hash_block_tokens if config.enable_prefix_caching else 1
        self._blocks: dict[Live, list[Block]] = {}
        self._published: dict[Live, int] = {}

    def skipped_tokens(self, computed: int) -> int:
        """The first tokens of `computed` that later ones do not attend to."""
        return 0

    def held(self, request: Live) -> int:
        """Length of the request's table, null blocks included."""
        return len(self._blocks.get(request, ()))

    def needed(
        self, request: Live, tokens: int, hit: Sequence[Block], computed: int, main_tokens: int, capped: bool
    ) -> int:
        """Blocks that leave the free queue when the request gets slots for `tokens`, of which `computed` are done.

        `hit` are the cached blocks that it adopts; those that nobody holds leave the queue too.
        `main_tokens` are the slots without the drafter's. `capped`: for the whole prompt over time
        rather than at once, so never more than the group holds at a time.
        """
        required = -(-tokens // self.block_tokens)
        if capped and self._cap is not None:
            required = min(required, self._cap)
        skipped = self.skipped_tokens(computed) // self.block_tokens
        held = self.held(request)
        fresh = max(0, required - max(skipped, held + len(hit)))
        return fresh + idle_blocks(hit[max(0, skipped - held) :])

    def adopt(self, request: Live, hit: Sequence[Block], hit_tokens: int) -> None:
        """Take the cached blocks of a hit that are still attended to."""
        skipped = self.skipped_tokens(hit_tokens) // self.block_tokens
        kept = hit[skipped:]
        self._pool.share(kept)
        self._blocks[request] = [NULL] * skipped + list(kept)
        self._published[request] = skipped + len(kept)

    def extend(self, request: Live, tokens: int, main_tokens: int) -> None:
        """Take blocks until there are slots for `tokens`."""
        blocks = self._blocks.setdefault(request, [])
        missing = -(-tokens // self.block_tokens) - len(blocks)
        if missing > 0:
            blocks += self._pool.take(missing)

    def retire(self, request: Live, settled: int) -> None:
        """Give up blocks that no step attends to, `settled` tokens being computed for good; last ones first."""
        blocks = self._blocks.get(request)
        if not blocks:
            return
        given: list[Block] = []
        for place in range(min(self.skipped_tokens(settled) // self.block_tokens, len(blocks)) - 1, -1, -1):
            if blocks[place] is NULL:
                break
            given.append(blocks[place])
            blocks[place] = NULL
        self._pool.give_back(given)

    def publish(self, request: Live, tokens: int) -> list[Block]:
        """Make the full blocks among the first `tokens` findable, once each; returns those that now are."""
        start, end = self._published.get(request, 0), tokens // self.block_tokens
        if start >= end:
            return []
        self._published[request] = end
        blocks = self._blocks[request]
        places = [n for n in range(start, end) if blocks[n] is not NULL and self.worth_keeping(request, n)]
        for place in places:
            self._pool.publish(blocks[place], (self.number, self.content(request, place)))
        return [blocks[place] for place in places]

    def worth_keeping(self, request: Live, place: int) -> bool:
        """Whether a later request could resume where it needs this block."""
        return True

    def content(self, request: Live, place: int) -> object:
        """The name of the content of its block at `place`: of the last hashed block in it."""
        return request.content((place + 1) * self._ids_per_block - 1)

    def release(self, request: Live) -> None:
        """Give up everything, last blocks first, so that they are used again before those that more prompts share."""
        self._published.pop(request, None)
        self._pool.give_back(reversed(self._blocks.pop(request, [])))

    def _resume_points(self, request: Live) -> tuple[int, ...]:
        """Where a later request can resume under sparse retention: the same prompt, or one that shares some."""
        aligned = self._config.aligned_block_tokens
        points = (request.prompt_tokens - 1, request.junction) if request.junction else (request.prompt_tokens - 1,)
        return tuple(point // aligned * aligned for point in points)


class WindowTable(BlockTable):
    """A group that attends to the last `reach_tokens`, the new token included."""

    @property
    def blocks_for_hit(self) -> int:
        """Blocks in a row that a later request needs to resume."""
        return -(-(self.group.reach_tokens - 1) // self.block_tokens)

    def skipped_tokens(self, computed: int) -> int:
        return max(0, computed - self.group.reach_tokens + 1)

    def worth_keeping(self, request: Live, place: int) -> bool:
        """Blocks at the end of a segment, and those before a resume point."""
        retention, aligned = self._config.prefix_retention_tokens, self._config.aligned_block_tokens
        segment = (aligned if retention is None else retention) // self.block_tokens
        if segment and place % segment >= segment - self.blocks_for_hit:
            return True
        ends = () if retention is None else (n // self.block_tokens for n in self._resume_points(request))
        return any(end - self.blocks_for_hit <= place < end for end in ends)


class ChunkTable(BlockTable):
    """A group that attends to the tokens since the last multiple of `reach_tokens`."""

    def skipped_tokens(self, computed: int) -> int:
        return computed // self.group.reach_tokens * self.group.reach_tokens


class StateTable(BlockTable):
    """One state for each request, and one for each draft token, without prefix caching."""

    def needed(
        self, request: Live, tokens: int, hit: Sequence[Block], computed: int, main_tokens: int, capped: bool
    ) -> int:
        return 1 + self._config.speculative_tokens - self.held(request)

    def extend(self, request: Live, tokens: int, main_tokens: int) -> None:
        blocks = self._blocks.setdefault(request, [])
        blocks += self._pool.take(1 + self._config.speculative_tokens - len(blocks))
