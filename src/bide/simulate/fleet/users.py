"""Users that wait for an answer, think, and send the next request: a closed loop."""

from __future__ import annotations

from bide.simulate.fleet.rules import FleetRules


class Users:
    """They share so many `requests`, in their order: whoever sends takes the next one."""

    def __init__(self, rules: FleetRules, requests: int) -> None:
        self.starts_s = rules.user_starts_s or (0.0,) * (rules.users or 0)
        self.think_s = rules.think_s
        self._requests, self._taken = requests, 0

    def next(self) -> int | None:
        """The next one that nobody has sent; None where there is none."""
        if self._taken == self._requests:
            return None
        self._taken += 1
        return self._taken - 1
