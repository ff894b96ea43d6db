"""A measured run's requests as a table in a file, and its report as Markdown."""

from __future__ import annotations

from pathlib import Path

from bide.bench.result import Bench
from bide.report.bench_facts import facts
from bide.report.bench_text import endnotes, latency_table, level_table, sentences, shown_cell
from bide.report.markdown import bullets, plain, table


def write_requests(made: Bench, path: Path) -> None:
    """One row a request, by suffix: Parquet, CSV (without token times) or JSON lines. Raises OSError."""
    frame = made.to_polars()
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        frame.write_parquet(path)
    elif suffix == ".csv":
        frame.drop("token_times_s").fill_nan(None).write_csv(path)
    else:
        frame.fill_nan(None).write_ndjson(path)


def bench_markdown(made: Bench) -> str:
    """Sentences, levels, percentiles, figures, notes."""
    cell = shown_cell(made)
    head = "\n\n".join(f"**{plain(text)}**" for text in sentences(made))
    levels = [table(*level_table(made))] if len(made.cells) > 1 else []
    figures = bullets(f"{name}: {text}" for name, text in facts(cell))
    notes = bullets(line.removeprefix("- ") for line in endnotes(made, cell))
    return "\n\n".join([head, *levels, table(*latency_table(cell)), figures, notes]) + "\n"
