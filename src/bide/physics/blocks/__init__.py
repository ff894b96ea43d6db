"""A pool in bytes as the engine counts it: blocks, tokens as printed, requests at once."""

from bide.physics.blocks.flat import FlatPool
from bide.physics.blocks.groups import Group
from bide.physics.blocks.sizing import BlockPool, Pool, block_tables, pool_sizer, size_blocks

__all__ = [
    "BlockPool",
    "FlatPool",
    "Group",
    "Pool",
    "block_tables",
    "pool_sizer",
    "size_blocks",
]
