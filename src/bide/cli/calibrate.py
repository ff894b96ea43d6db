"""`bide calibrate`: measured runs and an engine's log to a profile of one deployment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.options import Written, deployment_options, json_option, output_option
from bide.cli.output import json_text, note, print_json, print_table, say, write_output
from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    from bide.calibrate.calibration import Calibration

_SUFFIXES = (".html", ".md", ".json", ".csv")
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    help=_("Fit step times to measured RESULTS of one deployment (ours, vllm bench, GuideLLM, AIPerf, ...); save them.")
)
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--model", metavar="MODEL", help=_("What was served: a catalogue name, a config.json, a directory, an id.")
)
@deployment_options
@click.option("--log", type=_FILE, metavar="FILE", help=_("The engine's start-up log: its pool is taken."))
@click.option(
    "--step-law",
    type=click.Choice(["roofline", "affine"]),
    default="roofline",
    help=_("Correct the shipped roofline, or fit fixed + token + KV token + sequence freely (any hardware)."),
)
@click.option("--profile", type=_FILE, envvar="BIDE_PROFILE", metavar="FILE", help=_("Begin with this one (shipped)."))
@click.option("--save", type=Written(), metavar="FILE", help=_("Write the profile, for --profile of other commands."))
@click.option("--name", default="", help=_("Of the profile."))
@click.option("--force", is_flag=True, help=_("Use runs that there are doubts about too."))
@json_option
@output_option(*_SUFFIXES)
def command(
    results: Sequence[Path],
    model: str | None,
    deployment: dict[str, Any],
    log: Path | None,
    save: Path | None,
    as_json: bool,
    output: Path | None,
    **asked: Any,
) -> None:
    """Fit, print, write. Raises CannotBeMet where no run can be used."""
    made = _made(results, model, deployment, log, asked)
    if as_json:
        print_json("calibrate", made.to_dict())
    else:
        _print(made)
    if save is not None:
        made.save(save)
        note(_("wrote {path}").format(path=save))
    if output is not None:
        write_output(output, _writers(made))


def _made(
    results: Sequence[Path], model: str | None, given: dict[str, Any], log: Path | None, asked: dict[str, Any]
) -> Calibration:
    from bide.bench.formats.reading import read_runs
    from bide.calibrate.calibration import calibrate
    from bide.calibrate.logs import read_log
    from bide.calibrate.stated import stated_deployment

    if not results and log is None:
        raise BadInput("results", None, _("a measured result, or --log with an engine's log"))
    runs = [run for path in results for run in read_runs(path)]
    read = read_log(log) if log is not None else None
    deployment = stated_deployment({**given, **({"model": model} if model else {})}, runs, read)
    return calibrate(
        runs,
        deployment,
        profile=asked["profile"],
        step_law=asked["step_law"],
        log=read,
        force=asked["force"],
        name=asked["name"],
    )


def _print(made: Calibration) -> None:
    from bide.report import calibrate_text as words
    from bide.report.calibrate_files import tables

    for text in words.sentences(made):
        say(text)
    for title, shown in tables(made):
        click.echo()
        print_table(*shown, title=title, left=(0, 1, 2) if len(shown[0]) > 5 else (0,))
    click.echo()
    for line in words.endnotes(made):
        say(line, hang=2)


def _writers(made: Calibration) -> dict[str, Callable[[], str | bytes]]:
    from bide.report import calibrate_files as files

    return {
        ".html": lambda: files.calibrate_page(made),
        ".md": lambda: files.calibrate_markdown(made),
        ".csv": lambda: files.calibrate_csv(made),
        ".json": lambda: json_text("calibrate", made.to_dict()) + "\n",
    }
