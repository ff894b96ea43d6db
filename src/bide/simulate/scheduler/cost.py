"""Seconds of a step by what is in it, as the numbers that both engines read.

step = linear(scheduled tokens) + fixed + sequence x sequences + kv_token x cached tokens read
       + sum over windows of window_token x tokens read within it
       + area x pairs of prompt tokens + prefill_step where the step carries a prompt
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from bide.facts.layers import Cost

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class StepTimes(Protocol):
    """What of a step table a cost is made from (`bide.physics.steptime.StepTable`)."""

    per_kv_byte_s: float
    per_sequence_s: float
    per_area_s: float
    fixed_s: float

    def linear(self, tokens: ArrayLike) -> Floats: ...


@dataclass(frozen=True, slots=True)
class StepLoad:
    """What is in a step."""

    tokens: int
    sequences: int
    kv_tokens: int
    """Cached tokens that attention reads, this step's own included."""
    window_kv_tokens: tuple[int, ...]
    """The same, each sequence's counted up to each of the cost's windows."""
    area_pairs: float
    """Pairs of a prompt token and an earlier token of its request."""
    carries_prompt: bool


@dataclass(frozen=True, slots=True, eq=False)
class StepCost:
    """Coefficients in seconds. `linear_s[n]` is the linear layers' time for n tokens, for all n that may be scheduled.

    `prompts_read_cache` counts what a prompt's chunk attends to among the cached tokens read; where
    it is off, a prompt pays by area alone.
    """

    linear_s: Floats
    fixed_s: float = 0.0
    per_sequence_s: float = 0.0
    per_kv_token_s: float = 0.0
    per_area_s: float = 0.0
    prefill_step_s: float = 0.0
    window_tokens: tuple[int, ...] = ()
    per_window_token_s: tuple[float, ...] = ()
    prompts_read_cache: bool = False

    def __post_init__(self) -> None:
        if len(self.window_tokens) != len(self.per_window_token_s) or any(n < 1 for n in self.window_tokens):
            raise ValueError("window_tokens: at least 1, one cost each")
        seconds = (self.fixed_s, self.per_sequence_s, self.per_kv_token_s, self.per_area_s, self.prefill_step_s)
        if min(*seconds, *self.per_window_token_s, self.linear_s.min()) < 0:
            raise ValueError("seconds: not negative")
        if self.fixed_s + self.linear_s[1:].min(initial=float("inf")) <= 0:
            raise ValueError("a step must take time")

    @classmethod
    def affine(
        cls, fixed_s: float, per_token_s: float, per_kv_token_s: float, per_sequence_s: float, most_tokens: int
    ) -> StepCost:
        """fixed + per_token x tokens + per_kv_token x (cached + scheduled tokens) + per_sequence x sequences."""
        import numpy as np

        return cls(
            np.arange(most_tokens + 1, dtype=np.float64) * per_token_s,
            fixed_s=fixed_s,
            per_sequence_s=per_sequence_s,
            per_kv_token_s=per_kv_token_s,
            prompts_read_cache=True,
        )

    @classmethod
    def of_table(cls, table: StepTimes, cache: Cost, most_tokens: int, prefill_step_s: float = 0.0) -> StepCost:
        """From a step table and the cache bytes of one GPU; states are read whole by every sequence."""
        import numpy as np

        byte_s = table.per_kv_byte_s
        return cls(
            table.linear(np.arange(most_tokens + 1)),
            fixed_s=table.fixed_s,
            per_sequence_s=table.per_sequence_s + byte_s * cache.fixed_bytes_per_request,
            per_kv_token_s=byte_s * cache.growing_bytes_per_token,
            per_area_s=table.per_area_s,
            prefill_step_s=prefill_step_s,
            window_tokens=tuple(window.window_tokens for window in cache.windows),
            per_window_token_s=tuple(byte_s * window.bytes_per_token for window in cache.windows),
        )

    def seconds(self, load: StepLoad) -> float:
        """The time of one step. The kernel adds the same terms in the same order, to the same bits."""
        base_s = float(self.linear_s[load.tokens]) + (self.fixed_s + self.per_sequence_s * load.sequences)
        total_s = base_s + self.per_kv_token_s * load.kv_tokens
        for window_s, kv_tokens in zip(self.per_window_token_s, load.window_kv_tokens, strict=True):
            total_s += window_s * kv_tokens
        if load.carries_prompt:
            total_s += self.per_area_s * load.area_pairs + self.prefill_step_s
        return total_s


def within_windows(context_tokens: int, windows: Sequence[int]) -> tuple[int, ...]:
    """How many of a sequence's tokens each window reads."""
    return tuple(min(context_tokens, window) for window in windows)
