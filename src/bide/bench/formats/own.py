"""Our own results: the JSON of `bide bench --json`, its journal, and tables of requests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.bench.formats.assembling import check_times, run_of_table
from bide.bench.formats.faults import client_behind, warnings_of_counts
from bide.bench.formats.numbers import count, items, mapping, number, positive, words
from bide.bench.formats.seen_load import seen_load
from bide.bench.formats.values import Asked, Fault, Figures, Metric, Run
from bide.errors import BadInput
from bide.i18n import _
from bide.records import RequestTable

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TOOL = "bide bench"
_METRICS: tuple[Metric, ...] = ("ttft", "tpot", "itl", "e2e")
_NEEDED = ("arrival_s", "first_token_s", "last_token_s", "prompt_tokens", "output_tokens")
_COUNTS = ("prompt_tokens", "cached_tokens", "output_tokens", "first_chunk_tokens")
_TIMES = ("sent_s", "first_byte_s", "first_content_s")


def is_bench(found: Mapping[str, Any]) -> bool:
    return found.get("schema") == "bide.bench/1"


def is_journal(found: Mapping[str, Any]) -> bool:
    return str(found.get("schema", "")).startswith("bide.bench.journal/")


def is_row(found: Mapping[str, Any]) -> bool:
    return set(_NEEDED) <= found.keys()


def bench_runs(found: Mapping[str, Any], source: str) -> list[Run]:
    """A run for each cell."""
    settings, cells = mapping(found.get("settings")), items(found.get("cells"))
    several = len(cells) > 1
    return [
        _cell(mapping(cell), settings, f"{source}#{place}" if several else source) for place, cell in enumerate(cells)
    ]


def _cell(cell: Mapping[str, Any], settings: Mapping[str, Any], source: str) -> Run:
    load = asked_of(mapping(cell.get("load")))
    status, rates = mapping(cell.get("status")), mapping(cell.get("rates"))
    completed = count(status.get("ok")) or 0
    failed = sum(count(n) or 0 for name, n in status.items() if name not in ("ok", "cancelled"))
    shares = [number(cell.get("cached_share")), number(mapping(cell.get("server")).get("hit_share"))]
    cached = max((share for share in shares if share is not None), default=None)
    kept_up = mapping(cell.get("client")).get("kept_up")
    per_s, prompts = positive(rates.get("completed_per_s")), positive(rates.get("prompt_tokens_per_s"))
    outputs = positive(rates.get("output_tokens_per_s"))
    flight = positive(mapping(cell.get("in_flight")).get("mean"))
    latency = {metric: made for metric in _METRICS if (made := _figures(mapping(cell.get("latency")).get(metric)))}
    return Run(
        source,
        TOOL,
        load,
        completed=completed,
        failed=failed,
        duration_s=_seconds(mapping(cell.get("window"))),
        prompt_tokens=prompts / per_s if prompts and per_s else None,
        output_tokens=outputs / per_s if outputs and per_s else None,
        requests_per_s=per_s,
        output_tokens_per_s=outputs,
        concurrency=flight,
        latency=latency,
        cached_share=cached,
        deployment=stated_of(settings),
        date=words(settings.get("date")) or "",
        client_kept_up=kept_up if isinstance(kept_up, bool) else None,
        faults=(*own_faults(kept_up, load, flight), *warnings_of_counts(completed, failed, cached, load)),
    )


def own_faults(kept_up: object, load: Asked, flight: float | None) -> list[Fault]:
    found = list(client_behind(load, flight))
    if kept_up is False:
        text = _("the client did not keep up: these figures are of the client as much as of the server")
        found.append(Fault("client_saturated", text, "unusable"))
    return found


def _seconds(window: Mapping[str, Any]) -> float | None:
    first, last = number(window.get("start_s")), number(window.get("end_s"))
    return last - first if first is not None and last is not None and last > first else None


def _figures(said: object) -> Figures | None:
    found = mapping(said)
    points, sure = {}, {}
    for name, raw in found.items():
        each = mapping(raw)
        value, low, high = (number(each.get(key)) for key in ("value", "low", "high"))
        if value is None:
            continue
        percent = float(name.removeprefix("p").removesuffix("_s"))
        points[percent] = value
        if low is not None and high is not None:
            sure[percent] = (low, high)
    mean = number(found.get("mean_s"))
    return Figures(mean, points, count(found.get("count")), None, sure) if points or mean is not None else None


def asked_of(load: Mapping[str, Any]) -> Asked:
    """The load of a cell."""
    if load.get("ramp_from") is not None:
        return Asked("unknown")
    if load.get("kind") == "closed" and not load.get("think_s"):
        clients = positive(load.get("concurrency"))
        return Asked("concurrency", clients) if clients else Asked("unknown")
    rate = positive(load.get("rate"))
    if load.get("kind") == "open" and rate:
        return Asked("requests_per_s", rate, number(load.get("burstiness")) or float("inf"))
    return Asked("unknown")


def stated_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the settings and the server's own facts say."""
    server = mapping(settings.get("server"))
    version = words(server.get("version"))
    stated = {"model": words(settings.get("model")), "engine_version": version}
    return {key: value for key, value in stated.items() if value is not None}


def journal_runs(path: Path, field: str) -> list[Run]:
    """A run with its table for each cell of a journal."""
    from bide.bench.kept import load_result

    made = load_result(path, field)
    lost = [Fault("broken_lines", note) for note in made.notes]
    several = len(made.cells) > 1
    found = []
    for cell in made.cells:
        load = asked_of(cell.load.to_dict())
        flight = cell.summary.flight.mean
        share = cell.server.hit_share
        found.append(
            run_of_table(
                cell.table,
                f"{path}#{cell.number}" if several else str(path),
                TOOL,
                load,
                [*own_faults(cell.client_kept_up, load, None), *lost],
                cell.warm_up_s,
                deployment=stated_of(made.settings),
                date=str(made.settings.get("date", "")),
                client_kept_up=cell.client_kept_up,
                concurrency=flight,
                cached_share=share if share > cell.summary.cached_share else None,
            )
        )
    return found


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
