"""`bide workload describe`: the measures of a trace or log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bide.cli.options import json_option, output_option
from bide.cli.output import json_text, print_json, print_table, say, say_facts, write_output
from bide.cli.workload_flags import reading_options
from bide.i18n import _

if TYPE_CHECKING:
    from bide.report.workload_text import WorkloadSaid
    from bide.workload.reading.asking import Ask

_SUFFIXES = (".html", ".md", ".json", ".csv", ".png", ".svg")


@click.command(
    "describe",
    help=_("Lengths, arrivals, sessions and prefix reuse of traces or logs (files, globs, folders), and how sure."),
)
@reading_options
@click.option("--keep-ticks", is_flag=True, help=_("Leave times at the ticks of a coarse clock."))
@json_option
@output_option(*_SUFFIXES)
def command(sources: Sequence[str], ask: Ask, keep_ticks: bool, as_json: bool, output: Path | None) -> None:
    """Print the measures, and write a report of them."""
    from dataclasses import replace

    from bide.report.workload_answer import workload_dict, workload_said

    said = workload_said(sources, replace(ask, spread_ticks=not keep_ticks))
    if as_json:
        print_json("workload.describe", workload_dict(said))
    else:
        _print(said)
    if output:
        write_output(output, _writers(said))


def _writers(said: WorkloadSaid) -> dict[str, Callable[[], str | bytes]]:
    from bide.report import workload_files as files
    from bide.report import workload_page as page
    from bide.report.workload_answer import workload_dict

    assert said.trace is not None
    trace = said.trace
    return {
        ".html": lambda: page.workload_page(said),
        ".md": lambda: files.workload_markdown(said),
        ".csv": lambda: files.workload_csv(trace),
        ".json": lambda: json_text("workload.describe", workload_dict(said)) + "\n",
        ".png": lambda: page.workload_png(said),
        ".svg": lambda: page.workload_svg(said),
    }


def _print(said: WorkloadSaid) -> None:
    from bide.report import workload_text as words

    say(words.sentence(said))
    click.echo()
    print_table(*words.length_table(said.description))
    click.echo()
    say_facts(words.facts(said.description))
    for table in (words.arrival_table(said.description), words.reuse_table(said.description)):
        if table:
            click.echo()
            print_table(*table)
    click.echo()
    for line in (*words.reading_lines(said.report), *words.endnotes(said)):
        say(line, hang=2)
