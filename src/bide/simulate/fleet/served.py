"""What came of a fleet's requests: columns by request, and the engines' states over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.simulate.scheduler.outcome import Samples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Strings = NDArray[np.str_]

OK, REFUSED, REJECTED, TIMED_OUT, LEFT, FAILED, UNFINISHED = (
    "ok",
    "too_long",
    "rejected",
    "timeout",
    "abandoned",
    "failed",
    "unfinished",
)
STATUSES = (OK, REFUSED, REJECTED, TIMED_OUT, LEFT, FAILED, UNFINISHED)
"""`too_long` for the engine; `rejected` by the router; `timeout` of the client; `abandoned` before the first token;
`failed` with its replica; `unfinished` where the engine can never fit it in."""


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """An engine's states over time, until it failed or the run ended."""

    samples: Samples
    until_s: float = float("inf")


@dataclass(frozen=True, slots=True, eq=False)
class Inbox:
    """What one engine got, in order of time."""

    requests: Ints
    arrival_s: Floats
    left: tuple[tuple[float, int], ...] = ()
    """(seconds, place in `requests`): whose client left without the whole answer, or who was lost, and when."""

    def between(self, first: int, last: int) -> Inbox:
        """Those at these places, the last one excluded."""
        left = tuple((time_s, place - first) for time_s, place in self.left if first <= place < last)
        return Inbox(self.requests[first:last], self.arrival_s[first:last], left)


@dataclass(eq=False)
class Served:
    """Of every request: the times of its last attempt (NaN where a thing did not happen), and how it ended."""

    first_scheduled_s: Floats
    first_token_s: Floats
    finish_s: Floats
    preemptions: Ints
    cached_tokens: Ints
    output_tokens: Ints
    engine: Ints
    """-1 for a request that no engine took."""
    attempts: Ints
    status: Strings
    sent_s: Floats
    """When it was first sent, where that is not as in the trace; NaN there."""
    steps: int = 0
    samples: tuple[Watched, ...] = ()
    inbox: Inbox | None = None
    """Of the first engine that answers."""

    @classmethod
    def nothing(cls, count: int) -> Served:
        """`count` requests of which nothing has happened yet."""
        import numpy as np

        first_s, token_s, finish_s = (np.full(count, np.nan) for _ in range(3))
        preemptions, cached, outputs = (np.zeros(count, dtype=np.int64) for _ in range(3))
        return cls(
            first_s,
            token_s,
            finish_s,
            preemptions,
            cached,
            outputs,
            engine=np.full(count, -1, dtype=np.int64),
            attempts=np.ones(count, dtype=np.int64),
            status=np.full(count, UNFINISHED, dtype="<U10"),
            sent_s=np.full(count, np.nan),
        )
