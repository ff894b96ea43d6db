"""A scheduled batch, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bide.simulate.scheduler.cost import StepLoad, within_windows
from bide.simulate.scheduler.reference.live import Live


@dataclass(slots=True)
class Share:
    """What a request got in a step, and where it stood before."""

    tokens: int
    computed_before: int
    is_prompt: bool
    drafts: int
    """How many of the tokens are drafts, which the step verifies."""
    samples: bool = False
    """Whether the step gives it a token."""


@dataclass(slots=True)
class Step:
    """One batch, in order."""

    shares: dict[Live, Share] = field(default_factory=dict)
    admitted: list[Live] = field(default_factory=list)
    preempted: list[Live] = field(default_factory=list)
    hits: dict[Live, int] = field(default_factory=dict)
    """Tokens that an admitted request need not compute, found or sent, where there are any."""
    has_chunk: bool = False
    """Whether a running request has part of its prompt in it."""

    @property
    def serves_running(self) -> bool:
        """Whether it has requests that were running before."""
        return len(self.shares) > len(self.admitted)

    def give(self, request: Live, tokens: int) -> None:
        """Tokens for a request; those beyond what it knows verify its drafts."""
        beyond = request.computed + tokens - request.known - request.placeholders
        is_prompt = request.computed < request.known - 1  # a single token is computed as a decode is
        self.shares[request] = Share(tokens, request.computed, is_prompt, min(max(0, beyond), request.drafts))
        self.has_chunk |= request.in_chunk and request not in self.admitted
        request.drafts = 0

    def take_back(self, request: Live) -> int:
        """The tokens that a request had got in this step, if any; it gets none."""
        share = self.shares.pop(request, None)
        return share.tokens if share else 0

    def admit(self, request: Live, tokens: int) -> None:
        """Tokens for a request that joins."""
        self.admitted.append(request)
        if request.computed:
            self.hits[request] = request.computed
        self.give(request, tokens)

    def load(self, windows: Sequence[int], prompts_read_cache: bool) -> StepLoad:
        """What is in it, for its cost."""
        reading = [s for s in self.shares.values() if prompts_read_cache or not s.is_prompt]
        contexts = [share.computed_before + share.tokens for share in reading]
        within = [within_windows(tokens, windows) for tokens in contexts]
        prompts = [share for share in self.shares.values() if share.is_prompt]
        return StepLoad(
            tokens=sum(share.tokens for share in self.shares.values()),
            sequences=len(self.shares),
            kv_tokens=sum(contexts),
            window_kv_tokens=tuple(sum(column) for column in zip(*within, strict=True)) or (0,) * len(windows),
            area_pairs=sum(share.tokens * share.computed_before + share.tokens**2 / 2 for share in prompts),
            carries_prompt=bool(prompts),
        )


@dataclass(slots=True)
class Progress:
    """Who got a first token and who finished when a step had run, in batch order."""

    first_tokens: list[Live] = field(default_factory=list)
    finished: list[Live] = field(default_factory=list)
