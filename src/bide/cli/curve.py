"""`bide curve`: how fast and how much, as more requests press on a replica, for one deployment or several."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.batch import batch_option, run_batch_chunks
from bide.cli.options import deployment_options, explain_option, json_option, profile_option, with_model
from bide.cli.output import check_file, json_text, note, print_json, print_table, say, write_output
from bide.errors import BadInput, CannotBeMet
from bide.i18n import _

if TYPE_CHECKING:
    from bide.report.curve_said import CurvesSaid
    from bide.simulate.step_tables import Steps

_SUFFIXES = (".html", ".md", ".json", ".csv", ".png", ".svg")
_FILE = re.compile(r"\.[A-Za-z]+")
"""What ends a file's name, and no number of tokens."""


@click.command(
    help=with_model(_("Time between tokens against throughput as more requests run, and what binds; several at once."))
)
@click.argument("model", required=False)
@partial(deployment_options, several_gpus=True)
@click.option("--prompt", multiple=True, metavar="TOKENS", help=_("Mean prompt (1000). Repeatable."))
@click.option(
    "--output",
    multiple=True,
    metavar="TOKENS",
    help=_("Mean answer (500), as many as prompts or one; a file name is --report."),
)
@click.option("--mix", multiple=True, metavar="PROMPT:OUTPUT", help=_("Both together. Repeatable."))
@click.option("--concurrency", metavar="N[,..]", help=_("Clients, each with one request at a time (1, 2, 4, ...)."))
@click.option("--rate", metavar="R[,..]", help=_("Requests a second that come on their own, instead of clients."))
@click.option("--batch-size", metavar="N[,..]", help=_("Requests sent all at once and run to the end, instead."))
@click.option("--vary", multiple=True, metavar="FLAG=V1,V2", help=_("A curve for each value (tp=1,2,4). Repeatable."))
@profile_option
@click.option(
    "--steps",
    type=click.Choice(["roofline", "kernels"]),
    default="roofline",
    help=_("Step times from the fitted roofline, or measured kernels (extra `measured`) where there are."),
)
@batch_option
@json_option
@explain_option
@click.option(
    "-o", "--report", metavar="FILE", help=_("Write the report; by suffix: {s}.").format(s=", ".join(_SUFFIXES))
)
def command(
    model: str | None,
    deployment: dict[str, Any],
    output: Sequence[str],
    report: str | None,
    profile: Path | None,
    steps: Steps,
    batch: Path | None,
    as_json: bool,
    explain: bool,
    **asked: Any,
) -> int:
    """Answer for each deployment and mix, or for each line of a batch; exit code 1 where none fits or none holds."""
    if batch is not None:
        _batch(
            batch,
            profile,
            steps,
            {"model": model, **deployment, "output": output or report, **asked, "explain": explain},
        )
        return 0
    from bide.cli.curve_asked import asked_curves
    from bide.report.curve_answer import curves_dict, curves_said

    outputs, file = _split_outputs(output, report)
    asked_for = asked_curves(model, deployment, output=outputs, **asked)
    said = curves_said(asked_for.curves, asked_for.loads, profile, steps, explain, asked_for.assumptions)
    if as_json:
        print_json("curve", curves_dict(said))
    else:
        _print(said)
    code = _exit_code(said)
    if file:
        _write(file, said, code)
    return code


def _batch(batch: Path, profile: Path | None, steps: Steps, beside: dict[str, Any]) -> None:
    """Answer the lines of `batch`; raises BadInput for what would be ignored `beside` it."""
    for name, value in beside.items():
        if value not in (None, False, ()):
            raise BadInput(
                name, value, _("nothing beside --batch but --json, --profile and --steps: each line says its own")
            )
    from bide.simulate.curve_lines import CurveLines

    run_batch_chunks(batch, CurveLines(profile, steps))


def _split_outputs(outputs: Sequence[str], report: str | None) -> tuple[list[str], Path | None]:
    """The output tokens and the report's file: `--output` takes both, told apart by the suffix."""
    files = [report] if report is not None else []
    files += [text for text in outputs if _FILE.fullmatch(Path(text).suffix)]
    if len(files) > 1:
        raise BadInput("output", files[1], _("one file to write"))
    if files:
        if Path(files[0]).suffix.lower() not in _SUFFIXES:
            allowed = _("a file ending in {suffixes}").format(suffixes=", ".join(_SUFFIXES))
            raise BadInput("output", files[0], allowed, _("--output 500 says how many tokens an answer has"))
        check_file(Path(files[0]))
    return [text for text in outputs if text not in files], Path(files[0]) if files else None


def _print(said: CurvesSaid) -> None:
    from bide.report.curve_explain import explained
    from bide.report.curve_notes import notes
    from bide.report.curve_sentences import sentences
    from bide.report.curve_table import OPTIONAL_COLUMNS, curve_table, limits

    if not said.curves:
        return
    for text in sentences(said):
        say(text)
    for number, curve in enumerate(said.curves):
        click.echo()
        title = said.names[number] if len(said.curves) > 1 else ""
        print_table(*curve_table(said, number), title=title, left=(11, 12), optional=OPTIONAL_COLUMNS)
        click.echo()
        say(limits(curve))
    click.echo()
    if said.explained:
        click.echo("\n".join(explained(said)) + "\n")
    for line in notes(said):
        say(line, hang=2)


def _write(file: Path, said: CurvesSaid, code: int) -> None:
    """Write the report. Where there is none of this kind, `code` not 0 has been explained; else raises BadInput."""
    writers = _writers(said)
    if file.suffix.lower() in writers:
        write_output(file, writers)
    elif not code:
        allowed = _("a file ending in {suffixes}").format(suffixes=", ".join(writers))
        raise BadInput("output", str(file), allowed, _("no point has a time between tokens to draw"))


def _writers(said: CurvesSaid) -> dict[str, Callable[[], str | bytes]]:
    """What `-o` writes, by suffix; pictures only where there is something to draw."""
    from bide.report import curve_files as files
    from bide.report import curve_page as page
    from bide.report.curve_answer import curves_dict

    made: dict[str, Callable[[], str | bytes]] = {".json": lambda: json_text("curve", curves_dict(said)) + "\n"}
    if said.curves:
        made[".html"] = lambda: page.curve_page(said)
        made[".md"] = lambda: files.curve_markdown(said)
        made[".csv"] = lambda: files.curve_csv(said)
    if page.drawable(said):
        made[".png"] = lambda: page.curve_png(said)
        made[".svg"] = lambda: page.curve_svg(said)
    return made


def _exit_code(said: CurvesSaid) -> int:
    """1, and why, where nothing fits or no load can be held."""
    if not said.curves:
        for name, why in said.misfits:
            note(_("error: {message}").format(message=f"{name}: {why}" if len(said.misfits) > 1 else why))
        return CannotBeMet.exit_code
    if all(point.bound == "unstable" for curve in said.curves for point in curve.points):
        note(_("error: {message}").format(message=_("the load cannot be held")))
        return CannotBeMet.exit_code
    return 0
