"""Where a chunk of a prompt has to end so that its state can be kept."""

from __future__ import annotations

from bide.simulate.scheduler.kernel.fields import ALIGNED, ALIGNS_STATES, THRESHOLD, TOKEN_BUDGET
from bide.simulate.scheduler.kernel.jit import Ints, compiled, inlined


@inlined
def cut_for_states(rules: Ints, prompt: int, known: int, junction: int, start: int, tokens: int) -> int:
    """Of `tokens` after `start`, how many to compute now; 0 where a larger budget must be waited for."""
    prefill_end = max(prompt, known - 1)
    if not rules[ALIGNS_STATES] or start >= prefill_end:
        return tokens
    block, end = rules[ALIGNED], start + tokens
    if end < prefill_end:
        most = min(rules[TOKEN_BUDGET], rules[THRESHOLD]) if rules[THRESHOLD] else rules[TOKEN_BUDGET]
        boundary = end // block * block
        if boundary > start or block <= most:
            end = boundary
    stop = end
    if start % block:
        stop = _earlier(stop, (start // block + 1) * block, start)
    stop = _earlier(stop, (known - 1) // block * block, start)
    if start < junction < end:
        stop = _earlier(stop, start + (junction - start) // block * block, start)
    return max(0, stop - start)


@compiled
def _earlier(stop: int, other: int, start: int) -> int:
    return other if start < other < stop else stop
