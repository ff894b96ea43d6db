"""Traces as they are published, read into a Workload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput, nearest
from bide.i18n import _
from bide.sourced import Assumption, Source
from bide.workload.arrivals import find_tick_s, recorded_gaps, spread_in_ticks
from bide.workload.requests import Workload

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST_ROWS = 100
"""Fewer rows than this say too little about a 95th percentile."""
_AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_LARGEST_TOKENS = 100_000_000


def read_trace(path: Path, field: str = "trace") -> Workload:
    """A trace in the Azure LLM inference format: CSV with TIMESTAMP, ContextTokens and GeneratedTokens.

    Rows without output are failures: they are left out and counted in the notes. Times rounded to a
    coarse clock are spread within its ticks. Raises BadInput naming `field` for a file that is not
    there, is not such a CSV, or has fewer than 100 usable rows.
    """
    frame = _table(path, field)
    times_s = _times_s(frame, path, field)
    prompt, output = (_tokens(frame, column, path, field) for column in _AZURE[1:])
    answered = output > 0
    if answered.sum() < FEWEST_ROWS:
        allowed = _("a trace of at least {count} answered requests").format(count=FEWEST_ROWS)
        hint = _("{rows} rows are too few for a percentile; describe the lengths instead").format(
            rows=int(answered.sum())
        )
        raise BadInput(field, str(path), allowed, hint)
    order = times_s[answered].argsort(kind="stable")
    gaps, assumptions, notes = _gaps(times_s[answered][order], path, field)
    if not answered.all():
        notes += (_("{count} rows without output (failures) left out").format(count=int((~answered).sum())),)
    source = Source(_("trace {name}, {rows} requests").format(name=path.name, rows=len(order)), kind="given")
    return Workload(prompt[answered][order], output[answered][order], gaps, source, assumptions, notes)


def _table(path: Path, field: str) -> pl.DataFrame:
    import polars as pl

    try:
        if not path.is_file():
            raise BadInput(field, str(path), _("a file that exists"), _("paths are relative to the service file"))
        frame = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BadInput(field, str(path), _("a CSV file"), reason) from error
    for column in _AZURE:
        if column not in frame.columns:
            columns = [_printable(name) for name in frame.columns[:12]]
            near = nearest(column, columns, 1)
            hint = _("it has {columns}").format(columns=", ".join(columns))
            hint += _("; is {near} meant?").format(near=near[0]) if near else ""
            raise BadInput(field, str(path), _("a CSV with columns {columns}").format(columns=", ".join(_AZURE)), hint)
    return frame


def _printable(name: str) -> str:
    """A column's name as an error can show it, whatever file it came from."""
    return name[:40] if name[:40].isprintable() else ascii(name[:20])


def _times_s(frame: pl.DataFrame, path: Path, field: str) -> Floats:
    """`2023-11-16 18:15:46.6805900` and `2024-05-10 00:00:00.009930+00:00`, to the microsecond."""
    import polars as pl

    stamp = (
        pl.col("TIMESTAMP").str.extract(r"^\s*(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?)").str.replace("T", " ")
    )
    times = frame.select(stamp.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)).to_series()
    _no_gaps(times, frame["TIMESTAMP"], path, field, _("times such as 2023-11-16 18:15:46.68"))
    return times.dt.epoch("us").to_numpy() / 1e6


def _tokens(frame: pl.DataFrame, column: str, path: Path, field: str) -> Any:
    import polars as pl

    counts = frame[column].str.strip_chars().cast(pl.Int64, strict=False)
    counts = counts.set((counts < 0) | (counts > _LARGEST_TOKENS), None)
    _no_gaps(counts, frame[column], path, field, _("{column} of 0 or more, whole").format(column=column))
    return counts.to_numpy()


def _no_gaps(parsed: pl.Series, text: pl.Series, path: Path, field: str, allowed: str) -> None:
    """Raise for the first row that could not be read, with its line in the file."""
    bad = parsed.is_null().arg_true()
    if len(bad):
        row = int(bad[0])
        given = f"{path.name}:{row + 2}: {text.name} = {text[row]!r}"
        raise BadInput(field, given, allowed)


def _gaps(times_s: Floats, path: Path, field: str) -> tuple[Floats, tuple[Assumption, ...], tuple[str, ...]]:
    notes: tuple[str, ...] = ()
    tick_s = find_tick_s(times_s)
    if tick_s is not None:
        times_s = spread_in_ticks(times_s, tick_s)
        notes = (_("time stamps are rounded to {tick:g} s: spread within it, at random").format(tick=tick_s),)
    try:
        gaps = recorded_gaps(times_s)
    except ValueError as error:
        raise BadInput(field, str(path), _("requests that arrive at different times")) from error
    why = _("played faster or slower until its mean rate is that of one replica, as bursty as the whole")
    return gaps, (Assumption(_("arrivals"), _("as in the trace"), why),), notes
