"""When tokens came, of answers of which only the chunks' times are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bide.bench.apportion import apportioned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def tokens_at(chunks_s: Floats, tokens: int) -> Floats:
    """The time of each of `tokens`, spread evenly over the chunks."""
    import numpy as np

    if not len(chunks_s) or tokens <= 0:
        return np.empty(0)
    if tokens == len(chunks_s):
        return chunks_s
    return np.repeat(chunks_s, apportioned([1] * len(chunks_s), tokens))
