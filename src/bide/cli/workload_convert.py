"""`bide workload convert`: a trace or log in another format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bide.cli.options import Written, json_option
from bide.cli.output import note, print_json, say
from bide.cli.workload_flags import reading_options
from bide.i18n import _

if TYPE_CHECKING:
    from bide.workload.reading.asking import Ask


@click.command(
    "convert",
    help=_("Write traces or logs (files, globs, folders) as one trace of another format. Times start at 0."),
)
@reading_options
@click.option(
    "-o",
    "--output",
    required=True,
    type=Written(),
    metavar="FILE",
    help=_("The trace to write (.csv, .jsonl, .parquet; .gz packs it)."),
)
@click.option(
    "--to",
    "to_format",
    metavar="FORMAT",
    help=_("bide (the default), azure, burstgpt, mooncake, timed-trace, bailian, vidur."),
)
@click.option("--spread-ticks", is_flag=True, help=_("Undo the rounding of a coarse clock, at random."))
@json_option
def command(
    sources: Sequence[str], ask: Ask, output: Path, to_format: str | None, spread_ticks: bool, as_json: bool
) -> None:
    """Read, write, and say what was read and what the new format cannot hold."""
    from bide.report.workload_text import reading_lines
    from bide.workload.reading.reader import read
    from bide.workload.writing import lost, write

    reading = read(sources, replace(ask, spread_ticks=spread_ticks), "source")
    name = write(reading.trace, output, to_format)
    left = lost(reading.trace, name)
    if as_json:
        written = {"file": str(output), "format": name, "requests": len(reading.trace), "lost": list(left)}
        print_json("workload.convert", {"reading": reading.report.to_dict(), "written": written})
    else:
        for line in reading_lines(reading.report):
            say(line, hang=2)
        if left:
            say(_("The format {name} has no place for: {columns}").format(name=name, columns=", ".join(left)))
    note(_("wrote {path}").format(path=output))
