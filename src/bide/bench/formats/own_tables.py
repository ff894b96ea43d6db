"""Tables of requests, ours or made elsewhere: Parquet, CSV or JSON lines, one run for each `cell`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.bench.formats.assembling import check_times, run_of_table
from bide.bench.formats.seen_load import seen_load
from bide.bench.formats.values import Run
from bide.errors import BadInput
from bide.i18n import _
from bide.records import RequestTable

if TYPE_CHECKING:
    import polars as pl

_NEEDED = ("arrival_s", "first_token_s", "last_token_s", "prompt_tokens", "output_tokens")
_COUNTS = ("prompt_tokens", "cached_tokens", "output_tokens", "first_chunk_tokens")
_TIMES = ("sent_s", "first_byte_s", "first_content_s")


def is_row(found: Mapping[str, Any]) -> bool:
    return set(_NEEDED) <= found.keys()


def table_runs(path: Path, field: str) -> list[Run]:
    """Runs of a table of requests (.parquet, .csv, .jsonl), one for each `cell`; the load is seen from the rows."""
    import polars as pl

    readers: dict[str, Any] = {".parquet": pl.read_parquet, ".csv": pl.read_csv}
    reader = readers.get(path.suffix.lower(), pl.read_ndjson)
    try:
        frame = reader(path)
    except OSError as error:
        raise BadInput(field, str(path), _("a file that can be read"), str(error.strerror or error)) from error
    except (pl.exceptions.PolarsError, ValueError) as error:
        hint = _("not understood: {why}").format(why=str(error).splitlines()[0][:100])
        raise BadInput(field, str(path), _("a table of requests"), hint) from error
    missing = [name for name in _NEEDED if name not in frame.columns]
    if missing:
        hint = _("it has no column {names}").format(names=", ".join(missing))
        raise BadInput(field, str(path), _("a table of requests, as `bide bench -o` writes"), hint)
    parts = frame.partition_by("cell", maintain_order=True) if "cell" in frame.columns else [frame]
    several = len(parts) > 1
    return [
        _table_run(_table(part, path, field), f"{path}#{place}" if several else str(path))
        for place, part in enumerate(parts)
    ]


def _table(frame: pl.DataFrame, path: Path, field: str) -> RequestTable:
    import numpy as np
    import polars as pl

    try:
        times = {
            name: frame[name].cast(pl.Float64).to_numpy() for name in ("arrival_s", "first_token_s", "last_token_s")
        }
        counts = {name: frame[name].cast(pl.Int64).fill_null(0).to_numpy() for name in _COUNTS if name in frame.columns}
        more: dict[str, Any] = {
            name: frame[name].cast(pl.Float64).to_numpy() for name in _TIMES if name in frame.columns
        }
        for name in ("id", "status", "error"):
            if name in frame.columns:
                more[name] = np.array(frame[name].cast(pl.String).fill_null("").to_list(), dtype=np.str_)
        if "token_times_s" in frame.columns and isinstance(frame["token_times_s"].dtype, pl.List):
            more["token_times_s"] = tuple(
                np.array(each or [], dtype=np.float64) for each in frame["token_times_s"].to_list()
            )
        prompt, output = counts.pop("prompt_tokens"), counts.pop("output_tokens")
        return RequestTable.of(
            times["arrival_s"], times["first_token_s"], times["last_token_s"], prompt, output, **counts, **more
        )
    except (ValueError, pl.exceptions.PolarsError) as error:
        raise BadInput(field, str(path), _("a table of requests"), str(error).splitlines()[0][:120]) from error


def _table_run(table: RequestTable, source: str) -> Run:
    check_times(table)
    asked, fault = seen_load(table)
    return run_of_table(table, source, _("table of requests"), asked, (fault,))
