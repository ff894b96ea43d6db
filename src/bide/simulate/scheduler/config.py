"""What the scheduler of one replica is told: its limits, its block pool, its policy. Names follow vLLM's flags."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

GroupKind = Literal["full", "window", "chunk", "state"]
Policy = Literal["fcfs", "priority"]
Release = Literal["0.32", "0.33"]

GROUP_KINDS: tuple[GroupKind, ...] = ("full", "window", "chunk", "state")


@dataclass(frozen=True, slots=True)
class CacheGroup:
    """Layers that share a block table. A block of any group comes from the same pool.

    `kind`: "full" keeps every block, "window" those of the last `reach_tokens`, "chunk" those since
    the last multiple of `reach_tokens`, "state" one state whatever the length.
    """

    kind: GroupKind
    block_tokens: int
    reach_tokens: int = 0

    def __post_init__(self) -> None:
        if self.kind not in GROUP_KINDS:
            raise ValueError(f"kind {self.kind!r}: one of {', '.join(GROUP_KINDS)}")
        if self.block_tokens < 1:
            raise ValueError(f"block_tokens {self.block_tokens}: at least 1")
        if (self.reach_tokens > 0) != (self.kind in ("window", "chunk")):
            raise ValueError(f"reach_tokens {self.reach_tokens} for a {self.kind} group")


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConfig:
    """One replica's scheduler. Raises ValueError for values that the engine would refuse.

    `num_blocks` counts the null block, which no request can hold. Defaults are vLLM's, except for
    the sizes, which depend on the card.
    """

    num_blocks: int
    groups: tuple[CacheGroup, ...]
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    max_num_active_seqs: int | None = None
    """Admits fewer than `max_num_seqs` into the running batch."""
    max_num_scheduled_tokens: int | None = None
    """A step's token budget where it is smaller than `max_num_batched_tokens`."""
    enable_chunked_prefill: bool = True
    enable_prefix_caching: bool = True
    long_prefill_token_threshold: int = 0
    """A prompt gets at most this many tokens a step beside others; 0 sets no limit."""
    long_prefill_token_threshold_adaptive: bool = False
    """Raise that limit to the fair share of the budget."""
    policy: Policy = "fcfs"
    watermark: float = 0.0
    """Share of the pool to keep free when a request is admitted beside others."""
    scheduler_reserve_full_isl: bool = True
    """Admit a request only where its whole prompt fits, not just its first chunk."""
    reserved_output_tokens: int = 0
    """Admit a request only where its prompt and so much output fit beside what those that run may still take, as
    TensorRT-LLM's GUARANTEED_NO_EVICT does. Shared blocks are set aside for each of those that hold them."""
    prompts_alone: bool = False
    """A step carries prompts, while there are any that fit, or decodes, never both (SGLang without mixed chunks)."""
    async_scheduling: bool = True
    """Schedule a step while the one before it runs."""
    speculative_tokens: int = 0
    """Draft tokens that each decoding request verifies in a step."""
    draft_acceptance: float = 0.0
    """Chance that a draft token is accepted, given that those before it were."""
    draft_holds_cache: bool = True
    """Whether the drafter has a cache of its own, which reserves slots for its tokens (not n-gram drafters)."""
    prefix_retention_tokens: int | None = 0
    """How often windows and states keep a point to resume at: 0 at the end of the prompt only, None at every block."""
    release: Release = "0.33"
    """Whose rules. Up to 0.32, a request that preempts itself under "priority" ends the round of running requests,
    and a prompt's last state counts as new in every step until the next block."""
    seed: int = 0
    """Of the draft acceptance, the only chance in the scheduler."""

    def __post_init__(self) -> None:
        at_least_one = ("num_blocks", "max_model_len", "max_num_seqs", "max_num_batched_tokens")
        for name in at_least_one:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}: at least 1")
        if not self.groups:
            raise ValueError("groups: at least one")
        if self.policy not in ("fcfs", "priority") or self.release not in ("0.32", "0.33"):
            raise ValueError(f"policy {self.policy!r}: fcfs or priority; release {self.release!r}: 0.32 or 0.33")
        if self.reserved_output_tokens < 0:
            raise ValueError("reserved_output_tokens: not negative")
        if self.watermark < 0 or not 0 <= self.draft_acceptance <= 1 or self.speculative_tokens < 0:
            raise ValueError("watermark and speculative_tokens: not negative; draft_acceptance: 0 to 1")
        if self.enable_prefix_caching:
            self._check_caching()

    def _check_caching(self) -> None:
        """Blocks of every group must be made of whole hashed blocks; chunks and states need one block size."""
        sizes = {group.block_tokens for group in self.groups}
        if any(size % self.hash_block_tokens for size in sizes):
            raise ValueError(f"block_tokens {sorted(sizes)}: the smallest must divide the others for prefix caching")
        if len(sizes) > 1 and any(group.kind in ("chunk", "state") for group in self.groups):
            raise ValueError("chunk and state groups need one block size for prefix caching")
        retention = self.prefix_retention_tokens
        if retention is not None and (retention < 0 or retention % self.aligned_block_tokens):
            raise ValueError(f"prefix_retention_tokens {retention}: a multiple of {self.aligned_block_tokens}")

    @property
    def max_running(self) -> int:
        """Requests in the running batch, at most."""
        return self.max_num_seqs if self.max_num_active_seqs is None else self.max_num_active_seqs

    @property
    def token_budget(self) -> int:
        """Tokens of a step, at most."""
        budget = self.max_num_scheduled_tokens
        return self.max_num_batched_tokens if budget is None else min(budget, self.max_num_batched_tokens)

    @property
    def watermark_blocks(self) -> int:
        return int(self.watermark * self.num_blocks)

    @property
    def in_flight_tokens(self) -> int:
        """Tokens scheduled and not yet settled, at most: a batch, or two with async scheduling."""
        return self.max_num_batched_tokens * (2 if self.async_scheduling else 1)

    @property
    def lookahead_tokens(self) -> int:
        """Slots reserved beyond the scheduled tokens."""
        return self.speculative_tokens if self.draft_holds_cache else 0

    @property
    def aligned_block_tokens(self) -> int:
        """A prefix hit of several groups ends at a multiple of this."""
        return lcm(*(group.block_tokens for group in self.groups))

    @property
    def hash_block_tokens(self) -> int:
        """Tokens whose content one id names (see `Requests`): the smallest block."""
        return min(group.block_tokens for group in self.groups)

    def blocks_for(self, tokens: int) -> int:
        """Blocks that a request alone needs, at most, to reach `tokens`."""
        return sum(self._blocks_of(group, tokens + self.lookahead_tokens) for group in self.groups)

    def set_aside(self, prompt_tokens: int) -> int:
        """Blocks that `reserved_output_tokens` keeps for a request; no more than there are, so that one can run."""
        return min(self.blocks_for(prompt_tokens + self.reserved_output_tokens), self.num_blocks - 1)

    def _blocks_of(self, group: CacheGroup, tokens: int) -> int:
        if group.kind == "state":
            return self.speculative_tokens + (2 if self.enable_prefix_caching else 1)
        blocks, cap = -(-min(tokens, self.max_model_len) // group.block_tokens), self.admission_cap(group)
        return blocks if cap is None else min(blocks, cap)

    def check_lengths(self, prompt_tokens: Ints, output_tokens: Ints) -> None:
        """ValueError where the model or the pool is too small for one of these requests, even alone."""
        if not len(prompt_tokens):
            return
        if int(prompt_tokens.max()) >= self.max_model_len:
            raise ValueError(f"a prompt of {int(prompt_tokens.max())} tokens; max_model_len is {self.max_model_len}")
        longest = min(int((prompt_tokens + output_tokens).max()), self.max_model_len)
        if self.blocks_for(longest) > self.num_blocks - 1:
            raise ValueError(
                f"{longest} tokens need {self.blocks_for(longest)} blocks; {self.num_blocks - 1} can be used"
            )

    def patience_steps(self, longest_tokens: int) -> int:
        """Steps in a row without a token to anybody after which no more will come.

        A prompt may take as many steps as it has tokens. But requests of equal priority and arrival
        can push each other out for ever: the engine preempts the first of equals, who is the one
        that has come farthest.
        """
        return 1000 + 4 * min(longest_tokens, self.max_model_len)

    def admission_cap(self, group: CacheGroup) -> int | None:
        """Blocks of `group` that a request holds at most, or None where it keeps them all.

        vLLM's SlidingWindowSpec and ChunkedLocalAttentionSpec.max_admission_blocks_per_request
        (v1/kv_cache_interface.py); a window need not start at a block's first token, hence the 1.
        """
        if group.kind == "window":
            tokens = min(group.reach_tokens - 1 + self.in_flight_tokens, self.max_model_len)
            return -(-tokens // group.block_tokens) + 1
        if group.kind == "chunk":
            tokens = min(group.reach_tokens + self.in_flight_tokens, self.max_model_len)
            return -(-tokens // group.block_tokens)
        return None
