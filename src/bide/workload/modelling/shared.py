"""What prompts share: system prompts common to many, and the earlier turns of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bide.workload.blocks import Blocks, starts_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The first `tokens` of the prompts of a `share` of the sessions are the same."""

    tokens: int
    share: float = 1.0


def chains(
    prompt_tokens: Ints, session: Ints, system: Sequence[SystemPrompt], tokens: int, rng: np.random.Generator
) -> Blocks:
    """Chains of prompts that begin with a system prompt and hold all that their session said before.

    Sessions are numbered from 0. Only full blocks have ids: what fills the rest of the last one is not yet known.
    """
    import numpy as np

    counts = prompt_tokens // tokens
    starts = starts_of(counts)
    place = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
    whose = np.repeat(session, counts)
    sizes = np.zeros(int(session.max()) + 1 if len(session) else 0, np.int64)
    np.maximum.at(sizes, session, counts)
    shared = np.array([prompt.tokens // tokens for prompt in system], np.int64)
    own = int(shared.sum()) + starts_of(sizes)[:-1]
    ids = own[whose] + place
    for number, chosen in enumerate(_chosen(len(sizes), system, rng)):
        common = chosen[whose] & (place < shared[number])
        ids[common] = int(shared[:number].sum()) + place[common]
    return Blocks(starts, ids, tokens)


def _chosen(sessions: int, system: Sequence[SystemPrompt], rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    """Which sessions have which system prompt, at most one each."""
    import numpy as np

    drawn = rng.random(sessions)
    edges = np.cumsum([0.0, *(prompt.share for prompt in system)])
    return [(drawn >= low) & (drawn < high) for low, high in pairwise(edges)]
