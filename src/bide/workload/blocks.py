"""Prompts as chains of hashed blocks: which prompts begin alike, without what they say.

Two prompts whose chains begin with the same ids share those tokens. The ids follow the published
traces: an id stands for a block and everything before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_SIZES: tuple[int, ...] = tuple(1 << power for power in range(13))
_EXPLAINED = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The chain of request i is `ids[starts[i]:starts[i + 1]]`; each id stands for `tokens` tokens.

    A last block that is not full may have an id or not; the sources differ.
    """

    starts: Ints
    ids: Ints
    tokens: int

    @classmethod
    def of(cls, chains: Iterable[Sequence[int] | Ints], tokens: int) -> Blocks:
        """Blocks from one sequence of ids a request.

        >>> Blocks.of([[0, 1], [0]], 16).counts.tolist()
        [2, 1]
        """
        import numpy as np

        pieces = [np.asarray(chain, dtype=np.int64) for chain in chains]
        counts = np.array([len(piece) for piece in pieces], dtype=np.int64)
        return cls(starts_of(counts), np.concatenate([np.empty(0, np.int64), *pieces]), tokens)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def counts(self) -> Ints:
        """Blocks of each request."""
        import numpy as np

        return np.diff(self.starts)

    def chain(self, request: int) -> Ints:
        """The ids of one request."""
        return self.ids[self.starts[request] : self.starts[request + 1]]

    def requests(self) -> Ints:
        """The request that each id belongs to."""
        import numpy as np

        return np.repeat(np.arange(len(self)), self.counts)

    def taken(self, order: Ints) -> Blocks:
        """The chains of the requests in `order`, which may leave some out and take others twice."""
        import numpy as np

        counts = self.counts[order]
        starts = starts_of(counts)
        where = np.repeat(self.starts[:-1][order] - starts[:-1], counts) + np.arange(starts[-1])
        return Blocks(starts, self.ids[where], self.tokens)

    def numbered(self) -> Blocks:
        """The same with ids 0, 1, 2, ... in the order in which they first come."""
        import numpy as np

        _known, first, inverse = np.unique(self.ids, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return replace(self, ids=rank[inverse])


def starts_of(counts: Ints) -> Ints:
    """Where each chain begins, and the end of the last.

    >>> import numpy as np
    >>> starts_of(np.array([2, 1])).tolist()
    [0, 2, 3]
    """
    import numpy as np

    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))


def block_tokens_of(prompt_tokens: Ints, counts: Ints) -> int | None:
    """The power of two that the chains were cut to, told from their lengths; None where none explains them.

    A chain has one id for each full block, and perhaps one for the rest.
    """
    import numpy as np

    several = counts > 1
    if not several.any():
        return None
    prompt, chain = prompt_tokens[several], counts[several]
    fits = {tokens: float(np.mean((chain == prompt // tokens) | (chain == -(-prompt // tokens)))) for tokens in _SIZES}
    best = max(_SIZES, key=lambda tokens: (fits[tokens], tokens))
    return best if fits[best] >= _EXPLAINED else None


def resized(blocks: Blocks, prompt_tokens: Ints, tokens: int) -> Blocks:
    """The same sharing in blocks of another size; sharing below the old size stays unknown.

    Larger blocks are named by the last small one in them, because an id stands for all that is before it.
    """
    common = math.gcd(blocks.tokens, tokens)
    return _joined(_split(blocks, prompt_tokens, common), prompt_tokens, tokens // common)


def _split(blocks: Blocks, prompt_tokens: Ints, tokens: int) -> Blocks:
    import numpy as np

    parts = blocks.tokens // tokens
    if parts == 1:
        return blocks
    ids = (blocks.ids[:, None] * parts + np.arange(parts)).reshape(-1)
    whole = Blocks(blocks.starts * parts, ids, tokens)
    return _cut(whole, np.minimum(whole.counts, -(-prompt_tokens // tokens)))


def _joined(blocks: Blocks, prompt_tokens: Ints, parts: int) -> Blocks:
    import numpy as np

    if parts == 1:
        return blocks
    rest_has_id = bool((blocks.counts * blocks.tokens > prompt_tokens).any())
    counts = -(-blocks.counts // parts) if rest_has_id else blocks.counts // parts
    starts = starts_of(counts)
    number = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
    last = np.minimum((number + 1) * parts, np.repeat(blocks.counts, counts)) - 1
    return Blocks(starts, blocks.ids[np.repeat(blocks.starts[:-1], counts) + last], blocks.tokens * parts)


def _cut(blocks: Blocks, counts: Ints) -> Blocks:
    """The first `counts` ids of each chain."""
    import numpy as np

    starts = starts_of(counts)
    where = np.repeat(blocks.starts[:-1] - starts[:-1], counts) + np.arange(starts[-1])
    return Blocks(starts, blocks.ids[where], blocks.tokens)
