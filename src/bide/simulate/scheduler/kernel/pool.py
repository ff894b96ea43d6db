"""The free queue and the blocks that can be found by content.

Free blocks are a ring through NEXT and PREVIOUS, the null block standing between tail and head.
Copies of shared content are a ring through COPY_NEXT and COPY_PREVIOUS, the oldest named by AT_HEADS.
Content that only its own request can have is kept in a list from that request, newest first, and
only once the request may look for it.
"""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import (
    AT_HEADS,
    AT_REQUESTS,
    COPY_NEXT,
    COPY_PREVIOUS,
    FREE,
    KEY,
    NEXT,
    NOTHING,
    OWN,
    OWN_BLOCKS,
    OWNER,
    PLACE,
    PREVIOUS,
    REQUEST_FIELDS,
    UNLINKED,
    USERS,
)
from bide.simulate.scheduler.kernel.jit import Ints, SmallInts, compiled


@compiled
def take(ints: Ints, blocks: SmallInts) -> int:
    """The block at the head of the queue, its content forgotten."""
    block = blocks[NEXT]
    after = blocks[block + NEXT]
    blocks[NEXT] = after
    blocks[after + PREVIOUS] = 0
    if blocks[block + KEY] != NOTHING:
        _forget(ints, blocks, block)
    blocks[block + USERS] = 1
    ints[FREE] -= 1
    return block


@compiled
def give_back(ints: Ints, blocks: SmallInts, block: int, cursor: int) -> int:
    """One user fewer. A block that becomes free goes behind `cursor` where it has no known content, else to the tail.

    Returns the cursor for the next block of the same release, which starts at 0, the head.
    """
    blocks[block + USERS] -= 1
    if blocks[block + USERS] != 0:
        return cursor
    ints[FREE] += 1
    known = blocks[block + KEY] != NOTHING
    before = blocks[PREVIOUS] if known else cursor
    after = blocks[before + NEXT]
    blocks[before + NEXT] = block
    blocks[block + PREVIOUS] = before
    blocks[block + NEXT] = after
    blocks[after + PREVIOUS] = block
    return cursor if known else block


@compiled
def share(ints: Ints, blocks: SmallInts, block: int) -> None:
    """One user more; a free block leaves the queue."""
    if blocks[block + USERS] == 0:
        before, after = blocks[block + PREVIOUS], blocks[block + NEXT]
        blocks[before + NEXT] = after
        blocks[after + PREVIOUS] = before
        ints[FREE] -= 1
    blocks[block + USERS] += 1


@compiled
def publish_shared(ints: Ints, blocks: SmallInts, block: int, key: int) -> None:
    """Add a copy of shared content, as the newest."""
    blocks[block + KEY] = key
    at_oldest = ints[AT_HEADS] + key
    oldest = blocks[at_oldest]
    if oldest == 0:
        blocks[at_oldest] = block
        blocks[block + COPY_NEXT] = block
        blocks[block + COPY_PREVIOUS] = block
        return
    newest = blocks[oldest + COPY_PREVIOUS]
    blocks[newest + COPY_NEXT] = block
    blocks[block + COPY_PREVIOUS] = newest
    blocks[block + COPY_NEXT] = oldest
    blocks[oldest + COPY_PREVIOUS] = block


@compiled
def publish_own(blocks: SmallInts, block: int, owner: int, place: int) -> None:
    """Mark content that nobody else can have."""
    blocks[block + KEY] = OWN
    blocks[block + OWNER] = owner
    blocks[block + PLACE] = place
    blocks[block + COPY_PREVIOUS] = UNLINKED


@compiled
def link_own(ints: Ints, blocks: SmallInts, block: int) -> None:
    """Let the owner find such a block."""
    at_newest = ints[AT_REQUESTS] + blocks[block + OWNER] * REQUEST_FIELDS + OWN_BLOCKS
    newest = ints[at_newest]
    blocks[block + COPY_NEXT] = newest
    blocks[block + COPY_PREVIOUS] = 0
    if newest:
        blocks[newest + COPY_PREVIOUS] = block
    ints[at_newest] = block


@compiled
def _forget(ints: Ints, blocks: SmallInts, block: int) -> None:
    key, before, after = blocks[block + KEY], blocks[block + COPY_PREVIOUS], blocks[block + COPY_NEXT]
    blocks[block + KEY] = NOTHING
    if key == OWN:
        if before != UNLINKED:
            _unlink_own(ints, blocks, block, before, after)
        return
    at_head = ints[AT_HEADS] + key
    if after == block:
        blocks[at_head] = 0
        return
    if blocks[at_head] == block:
        blocks[at_head] = after
    blocks[before + COPY_NEXT] = after
    blocks[after + COPY_PREVIOUS] = before


@compiled
def _unlink_own(ints: Ints, blocks: SmallInts, block: int, before: int, after: int) -> None:
    if before:
        blocks[before + COPY_NEXT] = after
    else:
        ints[ints[AT_REQUESTS] + blocks[block + OWNER] * REQUEST_FIELDS + OWN_BLOCKS] = after
    if after:
        blocks[after + COPY_PREVIOUS] = before
