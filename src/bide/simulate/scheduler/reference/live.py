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
    known: int = field(init=False)
    computed: int = 0
    placeholders: int = 0
    in_flight: int = 0
    stale: int = 0
    drafts: int = 0
    in_chunk: bool = False
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
        """Tokens that are computed as a prompt is: those of a resumed request's output too, but for the last."""
        return max(self.prompt_tokens, self.known - 1)

    @property
    def victim_key(self) -> tuple[int, float]:
        """The largest is preempted first under the policy "priority"."""
        return (self.priority, self.arrival_s)

    def content(self, block: int) -> object:
        """The name of its block's content: shared, or its own."""
        return self.content_ids[block] if block < len(self.content_ids) else (self.index, block)

    def __lt__(self, other: Live) -> bool:
        return (*self.victim_key, self.tie_rank) < (*other.victim_key, other.tie_rank)
