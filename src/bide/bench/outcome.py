"""What became of one request: the row that goes to the journal and to the request table."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

Status = Literal[
    "ok",
    "http_error",
    "stream_error",
    "truncated",
    "empty",
    "disconnected",
    "connect_error",
    "bad_response",
    "timeout",
    "cancelled",
]
STATUSES: Mapping[Status, str] = {
    "ok": "finished, no error, at least one token",
    "http_error": "an HTTP status other than 200",
    "stream_error": "an error inside a stream that had begun with 200, or an event that is no JSON",
    "truncated": "the stream ended without finish_reason and without [DONE]",
    "empty": "the stream ended well and held no token",
    "disconnected": "the connection closed in the middle",
    "connect_error": "no connection",
    "bad_response": "not HTTP, or nothing that an answer could be",
    "timeout": "not finished in time",
    "cancelled": "in flight when the run was interrupted",
}
_US = 1e6


@dataclass(slots=True)
class Outcome:
    """Times are seconds since the start of the cell; None where a thing did not happen.

    `chunk_s` are the times of chunks with output, `chunk_tokens` the tokens of each.
    """

    number: int
    arrival_s: float
    sent_s: float | None = None
    first_byte_s: float | None = None
    content_s: float | None = None
    end_s: float | None = None
    status: Status = "cancelled"
    error: str = ""
    prompt_tokens: int = 0
    prompt_asked: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    output_asked: int = 0
    counted_by: Literal["server", "chunks"] = "chunks"
    finish: str = ""
    late_s: float = 0.0
    """From the intended time to the moment at which the client took it up: its own delay and nobody else's."""
    new_connection: bool = False
    retried: int = 0
    chunk_s: array[float] = field(default_factory=lambda: array("d"))
    chunk_tokens: array[int] = field(default_factory=lambda: array("i"))

    @property
    def ok(self) -> bool:
        return self.status == "ok"


_TIME = (float, int)
_TIME_OR_NONE = (float, int, type(None))
_PLAIN: Mapping[str, tuple[type, ...]] = {
    "number": (int,),
    "arrival_s": _TIME,
    "sent_s": _TIME_OR_NONE,
    "first_byte_s": _TIME_OR_NONE,
    "content_s": _TIME_OR_NONE,
    "end_s": _TIME_OR_NONE,
    "status": (str,),
    "error": (str,),
    "prompt_tokens": (int,),
    "prompt_asked": (int,),
    "cached_tokens": (int,),
    "output_tokens": (int,),
    "output_asked": (int,),
    "counted_by": (str,),
    "finish": (str,),
    "late_s": _TIME,
    "new_connection": (bool,),
    "retried": (int,),
}
"""What a line holds beside the chunks, and of which types."""


def to_line(outcome: Outcome) -> dict[str, Any]:
    """For the journal: times in seconds to the microsecond, chunks as gaps in whole microseconds.

    All times are rounded in the same way (`round(value, 6)` is another one), so that none comes before its cause.
    """
    import numpy as np

    line = {name: getattr(outcome, name) for name in _PLAIN}
    line |= {name: round(value * _US) / _US for name, value in line.items() if isinstance(value, float)}
    times_us = np.rint(np.array(outcome.chunk_s) * _US).astype(np.int64)
    times_us[1:] -= times_us[:-1].copy()
    line["chunk_us"] = times_us.tolist()
    if sum(outcome.chunk_tokens) != len(outcome.chunk_tokens) or 0 in outcome.chunk_tokens:
        line["chunk_tokens"] = list(outcome.chunk_tokens)
    return line


def from_line(line: Mapping[str, Any]) -> Outcome:
    """The outcome that `to_line` wrote. Raises KeyError, TypeError, ValueError or OverflowError for anything else."""
    outcome = Outcome(**{name: _as(kind, line[name]) for name, kind in _PLAIN.items()})
    time_us = 0
    for gap in line["chunk_us"]:
        time_us += gap
        outcome.chunk_s.append(time_us / _US)
    outcome.chunk_tokens = array("i", line.get("chunk_tokens") or [1] * len(outcome.chunk_s))
    _check(outcome)
    return outcome


def _as(kinds: tuple[type, ...], value: object) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, float) and not math.isfinite(value)):
        raise TypeError(f"not of {kinds}")
    return value


def _check(outcome: Outcome) -> None:
    """Raises ValueError for what no client can have seen: an effect before its cause, other chunks than times."""
    chunk_s = outcome.chunk_s
    times = (outcome.sent_s, outcome.first_byte_s, *chunk_s[:1], *chunk_s[-1:], outcome.end_s)
    there = [outcome.arrival_s, *(time for time in times if time is not None)]
    ordered = all(before <= after for before, after in pairwise(there))
    known = outcome.status in STATUSES and (bool(chunk_s) or not outcome.ok)
    if not ordered or not known or len(outcome.chunk_tokens) != len(chunk_s) or outcome.number < 0:
        raise ValueError("not a request that was measured")
