"""A request inside the scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import total_ordering


@total_ordering
@dataclass(slots=True, eq=False)
class Live:
    """What the scheduler knows of a request. It reads the output's length only to see that the last token came.

    known: tokens of the prompt and of the output delivered so far.
    computed: tokens whose cache is scheduled so far; set back to 0 by a preemption.
    placeholders: tokens that steps under way will deliver (async scheduling only).
    in_flight: tokens of steps under way; stale: those of them that a preemption has overtaken.
    drafts: draft tokens waiting to be verified. in_chunk: its last step was a chunk of its prompt
    with more to come.
    """

    index: int
    arrival_s: float
    prompt_tokens: int
    limit_tokens: int
    """Where it ends: prompt and output, or the model's length."""
    priority: int
    tie_rank: int
    content_ids: Sequence[int]
    loaded: int = 0
    """Tokens of its prompt whose cache was sent to it; 0 once it was admitted."""
    known: int = field(init=False)
    computed: int = 0
    placeholders: int = 0
    in_flight: int = 0
    stale: int = 0
    drafts: int = 0
    in_chunk: bool = False
    aborted: bool = False
    """Its client has left."""
    junction: int = 0
    """How far another group's cached prefix goes beyond the one that all have; 0 for no farther."""

    def __post_init__(self) -> None:
        self.known = self.prompt_tokens

    @property
    def finished(self) -> bool:
        return self.known >= self.limit_tokens

    @property
    def outputs(self) -> int:
        return self.known - self.prompt_tokens

    @property
    def prefill_end(self) -> int:
        """Where its prompt ends, or what it knows once it is resumed, but for the last token."""
        return max(self.prompt_tokens, self.known - 1)

    def start_after(self, hit_tokens: int) -> int:
        """Where it begins to compute: what was sent counts as computed, but for the last token that is known."""
        return max(hit_tokens, min(self.loaded, self.known - 1))

    @property
    def victim_key(self) -> tuple[int, float]:
        """The largest is preempted first under the policy "priority"."""
        return (self.priority, self.arrival_s)

    def content(self, block: int) -> object:
        """The name of its block's content: shared, or its own."""
        return self.content_ids[block] if block < len(self.content_ids) else (self.index, block)

    def __lt__(self, other: Live) -> bool:
        return (*self.victim_key, self.tie_rank) < (*other.victim_key, other.tie_rank)
