"""Transfers over links that carry one at a time, compiled. Import it inside functions only: numba takes its time."""

from __future__ import annotations

import numpy as np

from bide.simulate.scheduler.kernel.jit import Floats, Ints, compiled_entry


@compiled_entry
def in_turn(ready_s: Floats, takes_s: Floats, source: Ints, target: Ints) -> Floats:
    """When each transfer ends: in the order in which they are given, once both of its links are free."""
    out_s, in_s = np.zeros(source.max() + 1), np.zeros(target.max() + 1)
    ends_s = np.empty(len(ready_s))
    for number in range(len(ready_s)):
        one, other = source[number], target[number]
        free_s = max(out_s[one], in_s[other])
        ends_s[number] = max(ready_s[number], free_s) + takes_s[number]
        out_s[one] = ends_s[number]
        in_s[other] = ends_s[number]
    return ends_s
