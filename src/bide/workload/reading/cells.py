"""Text cells into numbers of tokens and seconds, as polars expressions; what cannot be read becomes null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

LARGEST_TOKENS = 100_000_000
"""More tokens than any request has: such a cell is something else."""
_LARGEST_TIME = 1e19
"""Nanoseconds since 1970 have 19 digits: a larger number is no time."""
_EARLIEST_US, _LATEST_US = 631_152_000_000_000, 4_102_444_800_000_000
"""1990 and 2100: programs write year 1 or 9999 where they have no time."""
_STAMP = "%Y-%m-%d %H:%M:%S"
_STAMP_LENGTH = 19
_ZONED = ("%d/%b/%Y:%H:%M:%S %z", "%a, %d %b %Y %H:%M:%S %z")
_REST = r"^(?P<whole>(?P<fraction>[.,]\d+)?\s*(?:Z|UTC|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)?)?)$"
Clock = Literal["number", "stamp"]


def tokens(column: pl.Expr) -> pl.Expr:
    """Whole numbers from 0 to 100 million (`123` and `123.0`); null for anything else."""
    import polars as pl

    whole = column.cast(pl.Int64, strict=False)
    other = pl.when(whole.is_null()).then(column).str.strip_chars().cast(pl.Float64, strict=False)
    found = pl.coalesce(whole, pl.when(other == other.floor()).then(other).cast(pl.Int64, strict=False))
    return pl.when(found.is_between(0, LARGEST_TOKENS)).then(found)


def number(column: pl.Expr) -> pl.Expr:
    """Any number of time, a large one of nanoseconds at most; null for anything else."""
    import polars as pl

    value = column.str.strip_chars().cast(pl.Float64, strict=False)
    return pl.when(value.abs() < _LARGEST_TIME).then(value)


def empty(column: pl.Expr) -> pl.Expr:
    """Whether nothing stands in the cell."""
    return column.is_null() | (column.str.strip_chars() == "") | (column.str.strip_chars() == "null")


def stamp_us(column: pl.Expr) -> pl.Expr:
    """Microseconds since 1970 of `2023-11-16 18:15:46.6805900`, with `T`, `Z` or `+02:00` where they stand.

    So are `2023-11-16 18:15`, a web server's `16/Nov/2023:18:15:46 +0000` and `Thu, 16 Nov 2023 18:15:46 GMT`. Null
    for anything else. Times without an offset are taken as UTC: only differences count.
    """
    import polars as pl

    usual = column.str.to_datetime(_STAMP + "%.f", time_unit="us", strict=False).dt.epoch("us")
    found = pl.coalesce(usual, _other_stamp_us(pl.when(usual.is_null()).then(column)))
    found = pl.coalesce(found, _rare_stamp_us(pl.when(found.is_null()).then(column)))
    return pl.when(found.is_between(_EARLIEST_US, _LATEST_US)).then(found)


def _other_stamp_us(column: pl.Expr) -> pl.Expr:
    """The same for stamps that are not quite of the usual form: slower."""
    import polars as pl

    text = column.str.strip_chars()
    whole = text.str.slice(0, _STAMP_LENGTH).str.replace("T", " ", literal=True)
    seconds_us = whole.str.to_datetime(_STAMP, time_unit="us", strict=False).dt.epoch("us")
    parts = text.str.slice(_STAMP_LENGTH).str.extract_groups(_REST)
    fraction = parts.struct.field("fraction").str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    return seconds_us + (fraction.fill_null(0.0) * 1e6).floor().cast(pl.Int64) - _offset_us(parts)


def _rare_stamp_us(column: pl.Expr) -> pl.Expr:
    """Whole minutes, and what web servers and mail write."""
    import polars as pl

    text = column.str.strip_chars().str.replace(r" (GMT|UTC)$", " +0000")
    whole = text.str.replace("T", " ", literal=True)
    minutes = whole.str.to_datetime("%Y-%m-%d %H:%M", time_unit="us", strict=False).dt.epoch("us")
    zoned = (text.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False) for form in _ZONED)
    return pl.coalesce(minutes, *(each.dt.epoch("us") for each in zoned))


def _offset_us(parts: pl.Expr) -> pl.Expr:
    """How far a zone is ahead of UTC; null where the text had no such ending at all."""
    import polars as pl

    hours, minutes = (
        parts.struct.field(name).cast(pl.Int64, strict=False).fill_null(0) for name in ("hours", "minutes")
    )
    sign = pl.when(parts.struct.field("sign") == "-").then(-1).otherwise(1)
    fits = parts.struct.field("whole").is_not_null()
    return pl.when(fits).then(sign * (hours * 60 + minutes) * 60_000_000)


def clock_of(texts: list[str]) -> Clock:
    """Whether a column holds numbers or stamps, by most of its first cells."""
    numbers = sum(_is_number(text) for text in texts)
    return "number" if 2 * numbers > len(texts) else "stamp"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
