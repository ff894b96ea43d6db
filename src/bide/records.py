"""The request table: one row a request, when what happened to it.

The simulator, the steady state and the load generator all emit this table, so that every latency
is defined once, in `bide.metrics`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Strings = NDArray[np.str_]

_TIMES = ("arrival_s", "sent_s", "first_byte_s", "first_token_s", "first_content_s", "last_token_s")
_COUNTS = ("prompt_tokens", "cached_tokens", "output_tokens", "first_chunk_tokens", "preemptions", "replica")


@dataclass(frozen=True, slots=True, eq=False)
class RequestTable:
    """Columns of equal length. Times are seconds on one clock; NaN where a thing did not happen.

    `arrival_s` is when the request was meant to be sent and `sent_s` when it was, so that a client
    that falls behind does not hide the wait. `first_chunk_tokens` are the output tokens that came
    with the first one. `status` is "ok" or a word for what went wrong, told in `error`.
    Build it with `RequestTable.of`, which fills in what is not given.
    """

    id: Strings
    arrival_s: Floats
    sent_s: Floats
    first_byte_s: Floats
    first_token_s: Floats
    first_content_s: Floats
    last_token_s: Floats
    prompt_tokens: Ints
    cached_tokens: Ints
    output_tokens: Ints
    first_chunk_tokens: Ints
    status: Strings
    error: Strings
    preemptions: Ints
    replica: Ints
    token_times_s: tuple[Floats, ...] | None = None
    """The time of each output token of each request, where they were kept."""

    @classmethod
    def of(
        cls,
        arrival_s: Floats,
        first_token_s: Floats,
        last_token_s: Floats,
        prompt_tokens: Ints,
        output_tokens: Ints,
        **columns: Any,
    ) -> RequestTable:
        """A table from what every source knows.

        Unless given: ids count from 0, requests were sent when they arrived, the first byte and the
        first content came with the first token, that chunk held one token, nothing was cached or
        preempted, all ran on replica 0 and went well. Raises ValueError for unequal lengths, an
        unknown column, or an effect before its cause.
        """
        import numpy as np

        count = len(arrival_s)
        given: dict[str, Any] = {
            "id": _serials(count),
            "arrival_s": arrival_s,
            "sent_s": arrival_s,
            "first_byte_s": first_token_s,
            "first_token_s": first_token_s,
            "first_content_s": first_token_s,
            "last_token_s": last_token_s,
            "prompt_tokens": prompt_tokens,
            "cached_tokens": np.zeros(count),
            "output_tokens": output_tokens,
            "first_chunk_tokens": np.ones(count),
            "status": np.full(count, "ok"),
            "error": np.full(count, ""),
            "preemptions": np.zeros(count),
            "replica": np.zeros(count),
        } | columns
        unknown = sorted(given.keys() - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"no such column: {', '.join(unknown)}")
        given |= {name: np.asarray(given[name], dtype=np.float64) for name in _TIMES}
        given |= {name: np.asarray(given[name], dtype=np.int64) for name in _COUNTS}
        table = cls(**given)
        table._check()
        return table

    def __len__(self) -> int:
        return len(self.arrival_s)

    def _check(self) -> None:
        """Equal lengths, and arrival <= sent <= first byte <= first token <= last token (NaN passes)."""
        lengths = {len(getattr(self, field.name)) for field in fields(self) if getattr(self, field.name) is not None}
        if len(lengths) > 1:
            raise ValueError(f"columns of different lengths: {sorted(lengths)}")
        known = ("arrival_s", "first_token_s", "last_token_s")  # first: other columns may be copies of these
        order = ("arrival_s", "sent_s", "first_byte_s", "first_token_s", "last_token_s")
        for before, after in (*pairwise(known), *pairwise(order)):
            if (getattr(self, after) < getattr(self, before)).any():
                raise ValueError(f"{after} before {before}")

    def taken(self, rows: Ints) -> RequestTable:
        """Some of the rows, in that order."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        times = columns.pop("token_times_s")
        return RequestTable(
            **{name: column[rows] for name, column in columns.items()},
            token_times_s=None if times is None else tuple(times[row] for row in rows.tolist()),
        )

    def to_polars(self) -> pl.DataFrame:
        """One column for each field; token times as a list column where they were kept."""
        import polars as pl

        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        times = columns.pop("token_times_s")
        texts = {name: column.tolist() for name, column in columns.items() if column.dtype.kind == "U"}
        frame = pl.DataFrame(columns | texts)
        return frame if times is None else frame.with_columns(pl.Series("token_times_s", [t.tolist() for t in times]))


@lru_cache(maxsize=8)
def _serials(count: int) -> Strings:
    """Serial numbers as text: "0", "1", "2", ...; kept, because making them takes longer than the rest of a table."""
    import numpy as np

    serials: Strings = np.arange(count).astype(str)
    serials.flags.writeable = False
    return serials
