"""Users that wait for an answer, think, and send the next request: a closed loop."""

from __future__ import annotations

from collections.abc import Iterable


class Users:
    """`count` of them share `requests`, in their order; each begins at once and thinks `think_s` between two."""

    def __init__(self, count: int, think_s: float, requests: int) -> None:
        self.think_s = think_s
        self._count, self._requests, self._taken = count, requests, 0

    def first(self) -> Iterable[int]:
        """The request that each user begins with."""
        self._taken = min(self._count, self._requests)
        return range(self._taken)

    def next(self) -> int | None:
        """The next one that nobody has sent; None where there is none."""
        if self._taken == self._requests:
            return None
        self._taken += 1
        return self._taken - 1
