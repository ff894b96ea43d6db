"""The blocks of a replica: who holds them, what they contain, in which order the free ones are used again.

Free blocks form a queue. Blocks without known content are put at its head and so are used first;
blocks with content go to its tail and stay findable until they come up, so the least recently freed
go first. As read in vLLM 0.32's v1/core/block_pool.py.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Content = tuple[int, object]
"""A block's content: its group, and the name of the block after everything before it."""


@dataclass(slots=True, eq=False)
class Block:
    """One block. `users` counts the requests that hold it; `content` is known once it is full and published."""

    index: int
    users: int = 0
    content: Content | None = None


NULL = Block(0)
"""Stands in a block table where a block was given up or never needed."""


class BlockPool:
    """All blocks but the null block."""

    def __init__(self, num_blocks: int) -> None:
        self._free: OrderedDict[Block, None] = OrderedDict((Block(n), None) for n in range(1, num_blocks))
        self._copies: dict[Content, dict[Block, None]] = {}

    @property
    def free_blocks(self) -> int:
        return len(self._free)

    def take(self, count: int) -> list[Block]:
        """Blocks from the head of the queue, their content forgotten."""
        taken = [self._free.popitem(last=False)[0] for _ in range(count)]
        for block in taken:
            self._forget(block)
            block.users = 1
        return taken

    def give_back(self, blocks: Iterable[Block]) -> None:
        """One user fewer for each block; those without users become free, the first to be used again first."""
        idle = []
        for block in blocks:
            if block is NULL:
                continue
            block.users -= 1
            if not block.users:
                idle.append(block)
        for block in reversed([block for block in idle if block.content is None]):
            self._free[block] = None
            self._free.move_to_end(block, last=False)
        self._free.update((block, None) for block in idle if block.content is not None)

    def share(self, blocks: Iterable[Block]) -> None:
        """One user more for each block; a free one leaves the queue."""
        for block in blocks:
            if block is NULL:
                continue
            self._free.pop(block, None)
            block.users += 1

    def publish(self, block: Block, content: Content) -> None:
        """Let others find the block by what it contains. Copies are not merged."""
        block.content = content
        self._copies.setdefault(content, {})[block] = None

    def find(self, content: Content) -> Block | None:
        """The oldest copy."""
        copies = self._copies.get(content)
        return next(iter(copies)) if copies else None

    def _forget(self, block: Block) -> None:
        if block.content is None:
            return
        copies = self._copies[block.content]
        del copies[block]
        if not copies:
            del self._copies[block.content]
        block.content = None


def idle_blocks(blocks: Sequence[Block]) -> int:
    """How many of these nobody holds; taking them shortens the queue."""
    return sum(block is not NULL and not block.users for block in blocks)
