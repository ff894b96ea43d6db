"""The garbage collector, where most of what is made stays to the end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_MANY = 100_000


@contextmanager
def few_collections() -> Iterator[None]:
    """Look for cycles after 100,000 new objects instead of 700.

    The modules of numba and polars are half a million objects that all stay: walking them again and
    again while they are loaded takes 0.3 s. Not for what measures time: a collection takes longer.
    """
    before = gc.get_threshold()
    gc.set_threshold(_MANY, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
