"""Traces written in the formats that other tools read; the same trace gives the same bytes."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from bide.errors import BadInput, UnknownName
from bide.i18n import _
from bide.workload.blocks import Blocks, resized, starts_of
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import polars as pl

_ROWS = 200_000
"""Rows that are turned into text at a time."""
_FIRST_DAY = datetime(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class Writable:
    """A format that can be written: by `suffix` ("" takes any of `.csv`, `.jsonl`, `.parquet`).

    `frame` makes all columns but the chains, which `chains` makes: None where the format has none.
    """

    name: str
    suffix: str
    frame: Callable[[Trace], pl.DataFrame]
    chains: Callable[[Trace], Blocks] | None = None
    timed: bool = True


def write(trace: Trace, path: Path, name: str | None) -> str:
    """Write a trace, packed where the path ends in `.gz`; gives the name of the format.

    Without a name it is what the suffix says: `bide` columns. Raises BadInput for a format that is not
    known, a suffix that it has not, a trace without the times it needs, and a path that cannot be written.
    """
    plain = path.name.lower().removesuffix(".gz")
    suffix = Path(plain).suffix
    known = _known(name or "bide")
    if suffix not in ((known.suffix,) if known.suffix else (".csv", ".jsonl", ".parquet")):
        allowed = _("a file ending in {suffixes} for {name}").format(
            suffixes=known.suffix or ".csv, .jsonl, .parquet", name=known.name
        )
        raise BadInput("output", str(path), allowed)
    if known.timed and trace.arrival_s is None:
        hint = _("`bide workload sample --rps` gives it some")
        raise BadInput("format", known.name, _("bide or vidur: the trace has no times"), hint)
    try:
        with _opened(path) as file:
            _write(known, trace, suffix, file)
    except OSError as error:
        raise BadInput("output", str(path), _("a file that can be written"), str(error.strerror)) from error
    return known.name


def lost(trace: Trace, name: str) -> tuple[str, ...]:
    """The columns of a trace that a format has no place for."""
    kept = {
        "bide": ("blocks", "session", "think_s", "cached_tokens"),
        "mooncake": ("blocks",),
        "timed-trace": ("blocks",),
        "bailian": ("blocks", "session"),
        "burstgpt": ("session",),
    }.get(name, ())
    optional = ("blocks", "session", "think_s", "cached_tokens")
    return tuple(column for column in optional if getattr(trace, column) is not None and column not in kept)


def _known(name: str) -> Writable:
    for known in WRITABLE:
        if known.name == name.lower():
            return known
    names = [known.name for known in WRITABLE]
    raise UnknownName("format", name, names, _("one of {names}").format(names=", ".join(names)))


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The file, packed without a date or a name, so that the same content gives the same bytes."""
    with path.open("wb") as file:
        if path.name.lower().endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                yield cast("IO[bytes]", packed)
        else:
            yield file


def _write(known: Writable, trace: Trace, suffix: str, file: IO[bytes]) -> None:
    frame = known.frame(trace)
    blocks = known.chains(trace) if known.chains and trace.blocks is not None else None
    if suffix == ".parquet":
        buffer = io.BytesIO()
        (frame if blocks is None else frame.with_columns(_lists(blocks))).write_parquet(buffer)
        file.write(buffer.getvalue())
        return
    for first in range(0, len(trace), _ROWS):
        part = frame.slice(first, _ROWS)
        if blocks is not None:
            part = part.with_columns(_lists(_slice(blocks, first, first + len(part))))
        text = _flat(part).write_csv(include_header=first == 0) if suffix == ".csv" else _without_nulls(part)
        file.write(text.encode())


def _slice(blocks: Blocks, first: int, end: int) -> Blocks:
    starts = blocks.starts[first : end + 1]
    return Blocks(starts - starts[0], blocks.ids[starts[0] : starts[-1]], blocks.tokens)


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists as ids with blanks between them: a cell is one text."""
    import polars as pl

    return frame.with_columns(pl.col(pl.List(pl.Int64)).cast(pl.List(pl.String)).list.join(" "))


def _without_nulls(frame: pl.DataFrame) -> str:
    """JSON lines; a column that is null everywhere is left out."""
    kept = [name for name in frame.columns if frame[name].null_count() < len(frame)]
    return frame.select(kept).write_ndjson()


def _bide(trace: Trace) -> pl.DataFrame:
    """All that a trace has, in bide's own names."""
    import polars as pl

    columns: dict[str, object] = {}
    if trace.arrival_s is not None:
        columns["arrival_s"] = trace.arrival_s.round(6)
    columns |= {"prompt_tokens": trace.prompt_tokens, "output_tokens": trace.output_tokens}
    for name in ("session", "think_s", "cached_tokens"):
        if getattr(trace, name) is not None:
            columns[name] = getattr(trace, name)
    frame = pl.DataFrame(columns)
    return frame if trace.think_s is None else frame.with_columns(pl.col("think_s").round(6).fill_nan(None))


def _lists(blocks: Blocks) -> pl.Series:
    """Chains as one list a row."""
    import polars as pl

    whole = pl.DataFrame({"row": blocks.requests(), "hash_ids": blocks.ids})
    lists = whole.group_by("row", maintain_order=True).agg("hash_ids")
    every = pl.DataFrame({"row": pl.int_range(len(blocks), eager=True)}).join(lists, on="row", how="left")
    return every.sort("row")["hash_ids"].fill_null([])


def _azure(trace: Trace) -> pl.DataFrame:
    """TIMESTAMP with seven digits, as in 2023; the clock begins on 2000-01-01."""
    import polars as pl

    assert trace.arrival_s is not None
    us = pl.Series((trace.arrival_s * 1e6).round().astype("int64"))
    stamps = (us + int((_FIRST_DAY - datetime(1970, 1, 1)) / timedelta(microseconds=1))).cast(pl.Datetime("us"))
    text = stamps.dt.strftime("%Y-%m-%d %H:%M:%S%.6f") + "0"
    return pl.DataFrame(
        {"TIMESTAMP": text, "ContextTokens": trace.prompt_tokens, "GeneratedTokens": trace.output_tokens}
    )


def _burstgpt(trace: Trace) -> pl.DataFrame:
    import polars as pl

    assert trace.arrival_s is not None
    return pl.DataFrame(
        {
            "Timestamp": trace.arrival_s.round(6),
            "Session ID": trace.session,
            "Model": ["unknown"] * len(trace),
            "Request tokens": trace.prompt_tokens,
            "Response tokens": trace.output_tokens,
            "Total tokens": trace.prompt_tokens + trace.output_tokens,
            "Log Type": ["unknown"] * len(trace),
        }
    )


def _mooncake(trace: Trace) -> pl.DataFrame:
    """Whole milliseconds."""
    import polars as pl

    assert trace.arrival_s is not None
    return _lengths(pl.Series("timestamp", (trace.arrival_s * 1e3).round().astype("int64")), trace)


def _timed(trace: Trace) -> pl.DataFrame:
    """Seconds."""
    import polars as pl

    assert trace.arrival_s is not None
    return _lengths(pl.Series("timestamp", trace.arrival_s.round(6)), trace)


def _lengths(times: pl.Series, trace: Trace) -> pl.DataFrame:
    import polars as pl

    lengths = (pl.Series("input_length", trace.prompt_tokens), pl.Series("output_length", trace.output_tokens))
    return pl.DataFrame([times, *lengths])


def _bailian(trace: Trace) -> pl.DataFrame:
    """A request's parent is the one before it in its session."""
    import polars as pl

    number = pl.int_range(len(trace), eager=True)
    session = pl.Series(trace.session) if trace.session is not None else number
    linked = pl.DataFrame({"chat_id": number, "session": session}).with_columns(
        pl.col("chat_id").shift(1).over("session").fill_null(-1).alias("parent_chat_id"),
        (pl.int_range(pl.len()).over("session") + 1).alias("turn"),
    )
    links = linked.select("chat_id", "parent_chat_id")
    return pl.concat([links, _timed(trace), linked.select(pl.lit("unknown").alias("type"), "turn")], how="horizontal")


def _vidur(trace: Trace) -> pl.DataFrame:
    import polars as pl

    columns: dict[str, object] = {}
    if trace.arrival_s is not None:
        columns["arrived_at"] = trace.arrival_s.round(6)
    prompt, output = trace.prompt_tokens, trace.output_tokens
    return pl.DataFrame({**columns, "num_prefill_tokens": prompt, "num_decode_tokens": output})


def full_chains(trace: Trace, tokens: int) -> Blocks:
    """Chains in blocks of `tokens`, an id also for the rest of a prompt, as the published traces have it."""
    import numpy as np

    assert trace.blocks is not None
    blocks = resized(trace.blocks, trace.prompt_tokens, tokens)
    missing = -(-trace.prompt_tokens // tokens) - blocks.counts
    if not (missing > 0).any():
        return blocks
    counts = blocks.counts + np.maximum(missing, 0)
    starts = starts_of(counts)
    ids = np.empty(starts[-1], np.int64)
    old = np.repeat(starts[:-1] - blocks.starts[:-1], blocks.counts) + np.arange(len(blocks.ids))
    new = np.ones(len(ids), bool)
    new[old] = False
    ids[old] = blocks.ids
    ids[new] = (int(blocks.ids.max()) + 1 if len(blocks.ids) else 0) + np.arange(int(new.sum()))
    return Blocks(starts, ids, tokens)


def _own(trace: Trace) -> Blocks:
    """The chains as they are."""
    assert trace.blocks is not None
    return trace.blocks


def _own_full(trace: Trace) -> Blocks:
    return full_chains(trace, _own(trace).tokens)


WRITABLE = (
    Writable("bide", "", _bide, _own, timed=False),
    Writable("azure", ".csv", _azure),
    Writable("burstgpt", ".csv", _burstgpt),
    Writable("mooncake", ".jsonl", _mooncake, partial(full_chains, tokens=512)),
    Writable("timed-trace", ".jsonl", _timed, _own_full),
    Writable("bailian", ".jsonl", _bailian, partial(full_chains, tokens=16)),
    Writable("vidur", ".csv", _vidur, timed=False),
)
"""The formats that can be written."""
