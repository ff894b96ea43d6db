"""Pools of token slots (SGLang, TensorRT-LLM): no common blocks; windows and states have pools of their own.

SGLang 0.5.23: srt/model_executor/pool_configurator.py and srt/mem_cache/kv_cache_configurator.py
(swa_full_tokens_ratio, mamba_full_memory_ratio). TensorRT-LLM is approximated by the same division.
"""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.deployment import Deployment
from bide.facts.kv_formats import kv_format
from bide.facts.layers import Cost, RecurrentState, total_cost
from bide.physics.kv import cached_groups

_WINDOW_TO_FULL_TOKENS = 0.8
"""Slots of the window pool for each slot of the full pool, by default."""
_STATE_TO_FULL_MEMORY = 0.9
"""Bytes of the state pool for each byte of the rest, by default."""


@dataclass(frozen=True, slots=True)
class FlatPool:
    """Slots for tokens, and for states: `tokens` is what the log prints (max_total_num_tokens)."""

    tokens: int
    window_tokens: int
    """Slots in the window pool; 0 where there are no windows."""
    states: int | None
    """Requests that have room for their states; None where there are none."""
    cost: Cost
    page_tokens: int

    def request_bytes(self, context_tokens: int) -> int:
        """Bytes that a request of `context_tokens` holds, its tokens rounded up to pages."""
        return round(self.cost.request_bytes(self._paged(context_tokens)))

    def requests(self, context_tokens: int) -> float:
        """Requests of `context_tokens` at once, by the pool that runs out first."""
        held = self._paged(context_tokens)
        limits = [self.tokens / held]
        if self.window_tokens and self.cost.windows:
            longest = max(window.window_tokens for window in self.cost.windows)
            limits.append(self.window_tokens / min(held, longest))
        if self.states is not None:
            limits.append(float(self.states))
        return min(limits)

    def _paged(self, tokens: int) -> int:
        return -(-tokens // self.page_tokens) * self.page_tokens


def flat_pool(deployment: Deployment, pool_bytes: int) -> FlatPool:
    """The slots that `pool_bytes` on each GPU give; pipeline stages share the layers evenly."""
    groups = cached_groups(deployment.model, deployment.speculative_tokens)
    kv, tp = kv_format(deployment.kv_dtype, deployment.model), deployment.attention_tp
    cost = total_cost(groups, kv, tp)
    state_bytes = sum(
        len(group.layers) * group.layer_bytes(tp, deployment.speculative_tokens)
        for group in groups
        if isinstance(group, RecurrentState)
    )
    whole = max(0, pool_bytes) * deployment.pp
    growing, in_windows = cost.growing_bytes_per_token, sum(w.bytes_per_token for w in cost.windows)
    states = None
    if state_bytes:
        share = _STATE_TO_FULL_MEMORY / (1 + _STATE_TO_FULL_MEMORY) if growing or in_windows else 1.0
        states = int(whole * share // state_bytes)
        whole -= states * state_bytes
    page = deployment.block_size
    ratio = _WINDOW_TO_FULL_TOKENS if growing else 1.0
    slot_bytes = growing + ratio * in_windows
    tokens = int(whole // slot_bytes) // page * page if slot_bytes else 0
    return FlatPool(tokens, int(ratio * tokens) if in_windows else 0, states, cost, page)
