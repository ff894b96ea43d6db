"""Chains of blocks from what is known of sharing: tokens seen before, growing sessions, a shared system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bide.workload.blocks import Blocks, starts_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

SEEN_BLOCK_TOKENS = 16
"""Blocks of chains that are made from counts of shared tokens."""


def chains_of_seen(
    prompt_tokens: Ints, seen_tokens: Sequence[int] | Ints, session: Sequence[int] | Ints, tokens: int
) -> Blocks:
    """Chains in which each request begins as the one before in its session did, for as long as was seen.

    Requests of a session stand in their order. Only full blocks have ids; every block that was not seen
    in the prompt before is new.
    """
    import numpy as np

    counts = np.asarray(prompt_tokens) // tokens
    before = _before(np.asarray(session))
    seen = np.minimum(np.asarray(seen_tokens, np.int64) // tokens, counts)
    seen = np.where(before < 0, 0, np.minimum(seen, counts[before]))
    starts = starts_of(counts)
    fresh = starts_of(counts - seen)
    ids = np.empty(starts[-1], np.int64)
    for row, start in enumerate(starts[:-1].tolist()):
        shared, end = int(seen[row]), int(starts[row + 1])
        if shared:
            begin = int(starts[before[row]])
            ids[start : start + shared] = ids[begin : begin + shared]
        ids[start + shared : end] = np.arange(fresh[row], fresh[row + 1])
    return Blocks(starts, ids, tokens)


def _before(session: Ints) -> Ints:
    """The row before in the same session; -1 for the first."""
    import numpy as np

    order = np.argsort(session, kind="stable")
    before = np.full(len(session), -1, np.int64)
    same = session[order][1:] == session[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    return before


def families(blocks: Blocks, common_share: float = 0.01) -> tuple[Ints, NDArray[np.bool_]]:
    """Conversations told from shared prefixes: a number for each request, and which ids are common.

    Ids in more than `common_share` of all requests (and in more than 8) are system prompts and the like. Two
    requests whose first id after those is the same are of one conversation.
    """
    import numpy as np

    size = int(blocks.ids.max()) + 1 if len(blocks.ids) else 0
    uses = np.bincount(blocks.ids, minlength=size)
    common = uses > max(8.0, common_share * len(blocks))
    own = np.flatnonzero(~common[blocks.ids])
    request = blocks.requests()[own]
    first_request, first = np.unique(request, return_index=True)
    family = size + np.arange(len(blocks))
    family[first_request] = blocks.ids[own[first]]
    _names, numbered = np.unique(family, return_inverse=True)
    return numbered.astype(np.int64), common


def between_sessions(blocks: Blocks, session: Ints, common_share: float = 0.01) -> NDArray[np.bool_]:
    """Which ids are common to sessions: in two of them at least, and in more than `common_share` of all."""
    import numpy as np

    size = int(blocks.ids.max()) + 1 if len(blocks.ids) else 0
    sessions = int(session.max()) + 1 if len(session) else 0
    once = np.unique(blocks.ids * sessions + session[blocks.requests()])
    uses = np.bincount(once // max(1, sessions), minlength=size)
    return np.asarray(uses > max(1.0, common_share * len(np.unique(session))))
