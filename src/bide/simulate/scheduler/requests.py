"""The requests of one replica, as columns, and what their prompts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Requests in order of arrival.

    `content_ids[content_starts[i]:content_starts[i + 1]]` name the content of request i's first
    blocks of `hash_block_tokens` tokens (prompt, then output), as far as another request may share
    it. Equal ids mean an equal block after an equal beginning, as vLLM's chained hashes do; ids
    count from 0, best by first appearance. Blocks beyond the list are the request's own.
    """

    arrival_s: Floats
    prompt_tokens: Ints
    output_tokens: Ints
    priority: Ints
    """Smaller goes first; only read under the policy "priority"."""
    tie_rank: Ints
    """Order between requests of equal priority and arrival."""
    content_starts: Ints
    content_ids: Ints
    loaded_tokens: Ints
    """Tokens of the prompt whose cache another engine has computed and sent: held like others, not computed again
    but for the prompt's last. A preempted request has to compute them itself."""

    @classmethod
    def of(
        cls,
        arrival_s: ArrayLike,
        prompt_tokens: ArrayLike,
        output_tokens: ArrayLike,
        *,
        priority: ArrayLike | None = None,
        tie_rank: ArrayLike | None = None,
        content: tuple[ArrayLike, ArrayLike] | None = None,
        loaded_tokens: ArrayLike | None = None,
    ) -> Requests:
        """Columns from what there is; `content` is (starts, ids). Nothing is shared unless given.

        Raises ValueError for unequal lengths, arrivals out of order, lengths below 1, or starts that do not fit.
        """
        import numpy as np

        arrivals = np.ascontiguousarray(arrival_s, dtype=np.float64)
        count = len(arrivals)
        starts, ids = content if content is not None else (np.zeros(count + 1), np.zeros(0))

        def ints(values: ArrayLike) -> Ints:
            return np.ascontiguousarray(values, dtype=np.int64)

        requests = cls(
            arrivals,
            ints(prompt_tokens),
            ints(output_tokens),
            ints(np.zeros(count) if priority is None else priority),
            ints(np.arange(count) if tie_rank is None else tie_rank),
            ints(starts),
            ints(ids),
            ints(np.zeros(count) if loaded_tokens is None else loaded_tokens),
        )
        requests._check()
        return requests

    def __len__(self) -> int:
        return len(self.arrival_s)

    def _check(self) -> None:
        import numpy as np

        orders = (self.priority, self.tie_rank, self.content_starts[1:])
        columns = (self.prompt_tokens, self.output_tokens, self.loaded_tokens, *orders)
        if any(len(column) != len(self) for column in columns):
            raise ValueError(f"columns of different lengths: {[len(column) for column in columns]}")
        if not len(self):
            return
        if not np.isfinite(self.arrival_s).all() or (np.diff(self.arrival_s) < 0).any():
            raise ValueError("arrival_s: finite and in order")
        if min(self.prompt_tokens.min(), self.output_tokens.min()) < 1:
            raise ValueError("prompt_tokens and output_tokens: at least 1")
        if (self.loaded_tokens < 0).any() or (self.loaded_tokens > self.prompt_tokens).any():
            raise ValueError("loaded_tokens: no more than the prompt has")
        starts = self.content_starts
        if starts[0] != 0 or starts[-1] != len(self.content_ids) or (np.diff(starts) < 0).any():
            raise ValueError("content_starts: from 0 to the number of ids, never falling")
        if len(self.content_ids) and self.content_ids.min() < 0:
            raise ValueError("content_ids: not negative")


def chained_ids(blocks: Sequence[Sequence[object]]) -> tuple[list[int], list[int]]:
    """(starts, ids) for requests given as lists of block contents, by chaining each block to those before it.

    >>> chained_ids([["a", "b"], ["a", "c"], ["b"]])
    ([0, 2, 4, 5], [0, 1, 0, 2, 3])
    """
    known: dict[tuple[int, object], int] = {}
    starts, ids = [0], []
    for contents in blocks:
        parent = -1
        for content in contents:
            parent = known.setdefault((parent, content), len(known))
            ids.append(parent)
        starts.append(len(ids))
    return starts, ids


def only_shared(starts: ArrayLike, ids: ArrayLike) -> tuple[Ints, Ints]:
    """(starts, ids) without the ids that only one request has, renumbered by first appearance.

    >>> starts, ids = only_shared([0, 2, 4, 5], [0, 1, 0, 2, 3])
    >>> starts.tolist(), ids.tolist()
    ([0, 1, 2, 2], [0, 0])
    """
    import numpy as np

    first, names = np.asarray(starts, dtype=np.int64), np.asarray(ids, dtype=np.int64)
    shared = np.bincount(names, minlength=1)[names] > 1
    _, places, inverse = np.unique(names[shared], return_index=True, return_inverse=True)
    by_appearance = np.argsort(np.argsort(places))
    return np.concatenate(([0], np.cumsum(shared)))[first], by_appearance[inverse].astype(np.int64)
