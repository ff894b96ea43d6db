"""A simulation's requests as a table in a file, and its report as Markdown."""

from __future__ import annotations

from pathlib import Path

from bide.report.markdown import bullets, plain, table
from bide.report.simulate_text import endnotes, facts, latency_table, sentences
from bide.simulate.simulation import Simulation


def write_requests(made: Simulation, path: Path) -> None:
    """One row a request, by suffix: Parquet, CSV or JSON lines. Raises OSError."""
    frame = made.to_polars()
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        frame.write_parquet(path)
    elif suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.fill_nan(None).write_ndjson(path)


def simulate_markdown(made: Simulation) -> str:
    """Sentences, percentiles, figures, notes."""
    head = "\n\n".join(f"**{plain(text)}**" for text in sentences(made))
    figures = bullets(f"{name}: {text}" for name, text in facts(made))
    notes = bullets(line.removeprefix("- ") for line in endnotes(made))
    return "\n\n".join([head, table(*latency_table(made.summary)), figures, notes]) + "\n"
