"""The one definition of each latency, and of a percentile of it.

All times are measured from a request's intended arrival, so that queueing counts wherever it
happens. Requests that did not go well, or that have no such time, give NaN and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bide.records import RequestTable

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Latency = Literal["ttft", "tpot", "e2e"]
LATENCIES: tuple[Latency, ...] = ("ttft", "tpot", "e2e")

ENOUGH_FOR_P99 = 1000
"""Below this many requests a p99 is too rough: 4-19 % off at 1,000 rows, 13-52 % at 100 (one standard deviation)."""

_ROWS_AT_ONCE = 64
"""Requests whose tokens are looked at together: long runs would need several times their memory otherwise."""


def ttft_s(table: RequestTable) -> Floats:
    """Time to first token: from arrival to the first output token, queueing included."""
    return _where_ok(table, table.first_token_s - table.arrival_s)


def e2e_s(table: RequestTable) -> Floats:
    """End to end: from arrival to the last output token."""
    return _where_ok(table, table.last_token_s - table.arrival_s)


def tpot_s(table: RequestTable) -> Floats:
    """Time per output token: (last - first) / (output tokens - tokens of the first chunk).

    NaN for a request whose first chunk held everything.
    """
    import numpy as np

    later = table.output_tokens - table.first_chunk_tokens
    return _where_ok(
        table, np.where(later > 0, (table.last_token_s - table.first_token_s) / np.maximum(later, 1), np.nan)
    )


def chunk_gaps(table: RequestTable) -> tuple[Floats, Floats, Ints]:
    """When each chunk but a request's first came, the seconds since the one before, and its tokens.

    Tokens that came at one time came in one chunk: the time between tokens is the gap over the tokens,
    for each of them. Nothing where token times were not kept.
    """
    import numpy as np

    rows = zip(table.token_times_s or (), table.status, strict=False)
    kept = [times for times, status in rows if status == "ok" and len(times)]
    size = sum(len(times) for times in kept)
    when_s, gaps_s, tokens = np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)
    end = 0
    for at in range(0, len(kept), _ROWS_AT_ONCE):
        part = _gaps_of(kept[at : at + _ROWS_AT_ONCE])
        begin, end = end, end + len(part[0])
        when_s[begin:end], gaps_s[begin:end], tokens[begin:end] = part
    return when_s[:end], gaps_s[:end], tokens[:end]


def token_gaps(times_s: Floats, gaps_s: Floats, tokens: Ints) -> tuple[Floats, Floats]:
    """ITL from `chunk_gaps`: for each token when it came, and the gap of its chunk over the tokens of that chunk.

    `gaps_s` is divided where it stands: there are as many as tokens, and no second column is wanted.
    """
    import numpy as np

    if not (tokens > 1).any():
        return times_s, gaps_s
    gaps_s /= tokens
    return np.repeat(times_s, tokens), np.repeat(gaps_s, tokens)


def _gaps_of(kept: Sequence[Floats]) -> tuple[Floats, Floats, Ints]:
    """The chunk gaps of some requests, each of which has a token."""
    import numpy as np

    times = np.concatenate(kept)
    begins = np.zeros(len(times), dtype=np.bool_)
    begins[np.cumsum([0, *(len(each) for each in kept[:-1])])] = True
    first = begins.copy()
    first[1:] |= times[1:] != times[:-1]
    start = np.flatnonzero(first)
    at, tokens, later = times[start], np.diff(start, append=len(times)), ~begins[start[1:]]
    return at[1:][later], np.diff(at)[later], tokens[1:][later]


def latency_s(table: RequestTable, latency: Latency) -> Floats:
    """One of the above, by name."""
    return {"ttft": ttft_s, "tpot": tpot_s, "e2e": e2e_s}[latency](table)


def summary(seconds: Floats, percent: float | None) -> float:
    """The `percent`-th percentile of `seconds` (linear between ranks), or the mean for None; NaN when there is none.

    >>> import numpy as np
    >>> summary(np.array([1.0, 2.0, 3.0, np.nan]), 50)
    2.0
    """
    import numpy as np

    there = seconds[~np.isnan(seconds)]
    if not len(there):
        return float("nan")
    return float(np.mean(there) if percent is None else np.percentile(there, percent))


def _where_ok(table: RequestTable, seconds: Floats) -> Floats:
    import numpy as np

    return np.where(table.status == "ok", seconds, np.nan)
