"""How many prompt tokens a prefix cache finds, by its size: never a constant of the traffic alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.workload.blocks import Blocks, resized

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

SIZES_TOKENS = (500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 100_000_000)
_CURVE_POINTS = 120
_MOST_BLOCKS = 20_000_000


@dataclass(frozen=True, slots=True)
class Reuse:
    """Shares of all prompt tokens found in the cache. `by_size` pairs cache tokens with the share found.

    `unlimited` is the share with a cache that never evicts, and `needed_tokens` the size that gives it. The
    cache holds prompts only, is shared by all requests, and evicts the least recently used block; what decoding
    wrote is not counted, because the traces do not hash it.
    """

    block_tokens: int
    unlimited: float
    needed_tokens: int
    by_size: tuple[tuple[int, float], ...]
    curve: tuple[tuple[int, float], ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "block_tokens": self.block_tokens,
            "hit_share_unlimited": self.unlimited,
            "unlimited_from_tokens": self.needed_tokens,
            "by_cache_tokens": [{"cache_tokens": size, "hit_share": share} for size, share in self.by_size],
        }


def reuse(blocks: Blocks, prompt_tokens: Ints, sizes: Sequence[int] = SIZES_TOKENS) -> Reuse | None:
    """Prefix reuse of requests in their order against the size of one cache; None without any block.

    Chains of more than 20 million blocks in all are taken in larger blocks.
    """
    import numpy as np

    while len(blocks.ids) > _MOST_BLOCKS:
        blocks = resized(blocks, prompt_tokens, 2 * blocks.tokens)
    if not len(blocks.ids):
        return None
    from bide.workload.measuring._stack import stack_distances

    ids = blocks.ids if _dense(blocks.ids) else blocks.numbered().ids
    distances = stack_distances(blocks.starts, ids, int(ids.max()) + 1)
    seen = distances >= 0
    held = _tokens_of_blocks(blocks, prompt_tokens)[seen]
    order = np.argsort(distances[seen])
    needs = (distances[seen][order] + 1) * blocks.tokens
    shares = np.cumsum(held[order]) / prompt_tokens.sum()
    return Reuse(
        blocks.tokens,
        float(shares[-1]) if len(shares) else 0.0,
        int(needs[-1]) if len(needs) else 0,
        tuple((size, _share(needs, shares, size)) for size in sizes),
        _curve(needs, shares),
    )


def _dense(ids: Ints) -> bool:
    """Whether ids are so few and small that an array over them does."""
    return int(ids.min()) >= 0 and int(ids.max()) < 4 * len(ids) + 1000


def _tokens_of_blocks(blocks: Blocks, prompt_tokens: Ints) -> Ints:
    """Tokens in each block: full, but for the rest of a prompt in its last."""
    import numpy as np

    tokens = np.full(len(blocks.ids), blocks.tokens, np.int64)
    some = blocks.counts > 0
    over = np.maximum(0, blocks.counts * blocks.tokens - prompt_tokens)[some]
    tokens[blocks.starts[1:][some] - 1] -= np.minimum(over, blocks.tokens)
    return tokens


def _share(needs: Ints, shares: NDArray[np.float64], size: int) -> float:
    import numpy as np

    found = int(np.searchsorted(needs, size, side="right"))
    return float(shares[found - 1]) if found else 0.0


def _curve(needs: Ints, shares: NDArray[np.float64]) -> tuple[tuple[int, float], ...]:
    """Points for a chart, evenly spaced on a logarithmic axis."""
    import numpy as np

    if not len(needs):
        return ()
    sizes = np.unique(np.geomspace(max(1, needs[0]), needs[-1], _CURVE_POINTS).astype(np.int64))
    return tuple((int(size), _share(needs, shares, int(size))) for size in sizes)
