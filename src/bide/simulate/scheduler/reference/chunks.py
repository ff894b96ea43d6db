"""Where a prompt's chunk has to end so that its state can be kept for later requests.

vLLM's Scheduler._mamba_block_aligned_split (v1/core/sched/scheduler.py, 0.32).
"""

from __future__ import annotations

from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.reference.live import Live


class StateChunks:
    """Cuts chunks at block boundaries where states are cached; leaves them alone elsewhere."""

    def __init__(self, config: SchedulerConfig) -> None:
        self._active = config.enable_prefix_caching and any(group.kind == "state" for group in config.groups)
        self._block = config.groups[0].block_tokens
        self._most = config.token_budget
        if config.long_prefill_token_threshold:
            self._most = min(self._most, config.long_prefill_token_threshold)

    def cut(self, request: Live, start: int, tokens: int) -> int:
        """Of `tokens` after `start`, how many to compute now; 0 where a larger budget must be waited for."""
        if not self._active or start >= request.prefill_end:
            return tokens
        end = start + tokens
        if end < request.prefill_end:
            boundary = end // self._block * self._block
            if boundary > start or self._block <= self._most:
                end = boundary
        inside = [stop for stop in self._stops(request, start, end) if start < stop < end]
        return max(0, min(inside, default=end) - start)

    def _stops(self, request: Live, start: int, end: int) -> tuple[int, ...]:
        """The next boundary for a chunk that starts off one; the last that can be kept; the junction."""
        next_boundary = (start // self._block + 1) * self._block if start % self._block else 0
        last_kept = (request.known - 1) // self._block * self._block
        junction = request.junction
        floored = start + (junction - start) // self._block * self._block if start < junction < end else 0
        return next_boundary, last_kept, floored
