"""One try of a client to have its request answered."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bide.simulate.fleet.served import OK, Served
from bide.simulate.fleet.station import Station
from bide.simulate.scheduler.kernel import fields as at


@dataclass(slots=True, eq=False)
class Attempt:
    """A request at `station`, where it is `number`, in the pool that `stage` says; at none while its cache moves."""

    request: int
    tries: int
    stage: int = 0
    engine: int = -1
    """In the pool."""
    station: Station | None = None
    number: int = -1
    first_scheduled_s: float = math.nan
    preemptions: int = 0
    cached_tokens: int = 0
    """These three of the stages before."""

    def join(self, engine: int, station: Station, now_s: float) -> None:
        """Come to an engine now."""
        self.engine, self.station = engine, station
        self.number = station.send(self.request, now_s)

    def leave(self) -> None:
        """Go on to the next stage, with what was seen in this one."""
        assert self.station is not None
        if self.stage == 0:
            self.first_scheduled_s = self.time_s(at.FIRST_SCHEDULED_S)
            self.cached_tokens = self._count(at.CACHED)
        self.preemptions += self._count(at.TIMES_PREEMPTED)
        self.stage, self.station = self.stage + 1, None

    def time_s(self, field: int) -> float:
        """A time at the engine where it is; NaN where it is at none."""
        return self.station.time_s(field, self.number) if self.station else math.nan

    def _count(self, field: int) -> int:
        return int(self.station.column(field)[self.number]) if self.station else 0

    def note(self, served: Served, status: str, engine: int) -> None:
        """Enter how it ended, at which of the fleet's engines."""
        first, request = self.stage == 0, self.request
        served.status[request], served.attempts[request] = status, self.tries
        served.first_scheduled_s[request] = self.time_s(at.FIRST_SCHEDULED_S) if first else self.first_scheduled_s
        served.cached_tokens[request] = self._count(at.CACHED) if first else self.cached_tokens
        served.preemptions[request] = self.preemptions + self._count(at.TIMES_PREEMPTED)
        served.engine[request] = engine if self.station else -1
        if status == OK:
            served.first_token_s[request] = self.time_s(at.FIRST_TOKEN_S)
            served.finish_s[request] = self.time_s(at.FINISH_S)
            served.output_tokens[request] = self._count(at.KNOWN_SO_FAR) - self._count(at.ITS_PROMPT)
