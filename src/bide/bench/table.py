"""Outcomes as the request table that everything else reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bide.bench.outcome import Outcome
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def table_of(outcomes: Sequence[Outcome]) -> RequestTable:
    """One row a request in order of arrival, with the time of every token. Times are seconds since the cell began."""
    import numpy as np

    rows = sorted(outcomes, key=lambda each: (each.arrival_s, each.number))

    def times(name: str) -> Floats:
        return np.array([getattr(row, name) for row in rows], dtype=np.float64)

    def counts(name: str) -> list[int]:
        return [getattr(row, name) for row in rows]

    sent = np.maximum(times("sent_s"), times("arrival_s"))
    return RequestTable.of(
        times("arrival_s"),
        np.array([row.chunk_s[0] if row.chunk_s else np.nan for row in rows]),
        np.array([row.chunk_s[-1] if row.chunk_s else np.nan for row in rows]),
        np.array(counts("prompt_tokens"), dtype=np.int64),
        np.array(counts("output_tokens"), dtype=np.int64),
        id=np.array([str(row.number) for row in rows], dtype=np.str_),
        sent_s=sent,
        first_byte_s=times("first_byte_s"),
        first_content_s=times("content_s"),
        cached_tokens=np.array(counts("cached_tokens"), dtype=np.int64),
        first_chunk_tokens=np.array([row.chunk_tokens[0] if row.chunk_tokens else 0 for row in rows], dtype=np.int64),
        status=np.array([row.status for row in rows], dtype=np.str_),
        error=np.array([row.error for row in rows], dtype=np.str_),
        token_times_s=tuple(_token_times_s(row) for row in rows),
    )


def _token_times_s(row: Outcome) -> Floats:
    """Of each token; where chunks are tokens nothing is copied."""
    import numpy as np

    times_s = np.asarray(row.chunk_s)
    alone = row.chunk_tokens.count(1) == len(row.chunk_tokens)
    return times_s if alone else np.repeat(times_s, np.asarray(row.chunk_tokens))
