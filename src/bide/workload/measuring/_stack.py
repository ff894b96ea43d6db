"""Stack distances of block chains, compiled. Import it inside functions only: numba takes its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@njit(cache=True)
def stack_distances(starts: Ints, ids: Ints, id_count: int) -> Ints:
    """For each block of each chain, the blocks used since it was last; -1 where it never was.

    A block with distance d is found in a cache of more than d blocks that evicts the least recently used. A
    request first looks up its whole chain, then uses it from the last block to the first, so that
    the beginning of a chain always outlives its end. Counts live last uses in a binary indexed tree.
    """
    accesses = len(ids)
    tree = np.zeros(accesses + 1, np.int64)
    last = np.full(id_count, -1, np.int64)
    found = np.empty(accesses, np.int64)
    live = 0
    clock = 0
    for request in range(len(starts) - 1):
        for access in range(starts[request], starts[request + 1]):
            then = last[ids[access]]
            if then < 0:
                found[access] = -1
                continue
            older = 0
            node = then + 1
            while node > 0:
                older += tree[node]
                node -= node & -node
            found[access] = live - older
        for access in range(starts[request + 1] - 1, starts[request] - 1, -1):
            then = last[ids[access]]
            if then >= 0:
                node = then + 1
                while node <= accesses:
                    tree[node] -= 1
                    node += node & -node
            else:
                live += 1
            node = clock + 1
            while node <= accesses:
                tree[node] += 1
                node += node & -node
            last[ids[access]] = clock
            clock += 1
    return found
