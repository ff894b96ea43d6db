"""`bide plan`: the fleet for a service file, and its report. `bide plan diff` lies in a module of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.options import Whole, WrittenFolder, explain_option, json_option, output_option, profile_option
from bide.cli.output import json_text, note, print_json, write_output
from bide.errors import BadInput, CannotBeMet
from bide.i18n import _

if TYPE_CHECKING:
    from bide.plan.answer import Plan
    from bide.plan.asked.overrides import Overrides

_PIPED_WIDTH = 120
_SUFFIXES = (".html", ".md", ".json")
_OVERRIDES = ("gpu", "max_gpus", "peak_rps", "margin", "patience")


class PlanCommand(click.Command):
    """`bide plan FILE`, and `bide plan diff OLD NEW` where the first word is diff (a file of that name is ./diff)."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] != ["diff"]:
            return super().make_context(info_name, args, parent, **extra)
        from bide.cli.plan_diff import command as diff

        return diff.make_context(f"{info_name} diff", args[1:], parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


def _what_ifs(function: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that stand in for values of the file; `function` gets them as `overrides`."""
    several = _(" Repeatable.")
    flags = (
        click.option("--gpu", multiple=True, metavar="GPU", help=_("These GPUs instead of the file's.") + several),
        click.option("--max-gpus", type=Whole(), metavar="N", help=_("At most so many instead.")),
        click.option(
            "--peak-rps", multiple=True, metavar="[NAME=]RPS", help=_("This peak (of that service) instead.") + several
        ),
        click.option(
            "--margin", multiple=True, metavar="[NAME=]FACTOR", help=_("This margin on the peak instead.") + several
        ),
        click.option(
            "--patience", multiple=True, metavar="MEASURE=TIME", help=_("These limits instead: e2e_p95=5s.") + several
        ),
    )
    for flag in reversed(flags):
        function = flag(function)
    return function


@click.command(
    cls=PlanCommand,
    help=_("The fleet for a service file: which GPUs, how many, percentiles, cost, and how sure that is."),
    epilog=_("bide plan diff OLD NEW says what changed from one plan to another, and why: bide plan diff --help."),
)
@click.argument("service_file", type=click.Path(path_type=Path), required=False)
@click.option("--interactive", is_flag=True, help=_("Ask a few questions, write the service file, plan it."))
@json_option
@explain_option
@profile_option
@output_option(*_SUFFIXES)
@click.option("--no-report", is_flag=True, help=_("Write no page. Without -o one is written as <service file>.html."))
@click.option(
    "--manifests",
    type=WrittenFolder(),
    metavar="DIR",
    help=_("Write the start commands, Kubernetes manifests and chart values there."),
)
@_what_ifs
def command(service_file: Path | None, interactive: bool, as_json: bool, explain: bool, **given: Any) -> int:
    """Print the answer and write the report; exit code 1 where the patience cannot be kept."""
    path = _asked_file(service_file, interactive)
    answer = _planned(path, _overrides(given), given["profile"])
    if as_json:
        from bide.plan.as_dict import plan_dict

        print_json("plan", plan_dict(answer))
    else:
        click.echo(_text(answer, explain), nl=False)
    if given["output"]:
        write_output(given["output"], _writers(answer))
    elif not (given["no_report"] or as_json):
        _write_page(Path(f"{path.stem}.html"), answer)
    if not answer.feasible:
        note(_("cannot be met"))
    elif given["manifests"]:
        _write_manifests(answer, given["manifests"])
    return 0 if answer.feasible else CannotBeMet.exit_code


def _asked_file(service_file: Path | None, interactive: bool) -> Path:
    """The file that was given; one that is made by asking, where that is wanted or nobody gave one at a terminal."""
    if service_file is not None and not interactive:
        return service_file
    at_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    if not (interactive or at_terminal):
        raise click.UsageError(_("a service file is missing; --interactive makes one"), click.get_current_context())
    from bide.cli.plan_interactive import ask_for_file

    return ask_for_file(service_file)


def _overrides(given: Mapping[str, Any]) -> Overrides:
    from bide.plan.asked.overrides import Overrides

    gpus, *others = (given[name] for name in _OVERRIDES)
    return Overrides(gpus, *others)


def _planned(path: Path, overrides: Overrides, profile: Path | None) -> Plan:
    from bide.cli.plan_making import made
    from bide.plan.service_file import read_question

    return made(read_question(path, overrides), profile)


def _write_manifests(answer: Plan, folder: Path) -> None:
    from bide.report.handover import handover, write_handover

    for path in write_handover(answer, folder):
        note(_("wrote {path}").format(path=path))
    for made in handover(answer):
        for name, why in made.left_out.items():
            note(_("{service}: no {name}: {why}").format(service=made.service, name=name, why=why))


def _write_page(path: Path, answer: Plan) -> None:
    """The page that nobody asked for by name: where it cannot be written, a note says so and the answer stands."""
    try:
        write_output(path, _writers(answer))
    except BadInput as error:
        note(_("no page was written; -o FILE says where. {why}").format(why=error))


def _text(answer: Plan, explain: bool) -> str:
    from bide.report.plan_explain import plan_explain
    from bide.report.plan_text import plan_text

    width = _width()
    return plan_text(answer, width) + ("\n" + plan_explain(answer, width) if explain else "")


def _width() -> int:
    """The terminal's columns, but no longer lines than one likes to read."""
    import shutil

    return max(60, min(shutil.get_terminal_size((_PIPED_WIDTH, 24)).columns, _PIPED_WIDTH))


def _writers(answer: Plan) -> Mapping[str, Callable[[], str | bytes]]:
    made = (partial(_html, answer), partial(_markdown, answer), partial(_json, answer))
    return dict(zip(_SUFFIXES, made, strict=True))


def _html(answer: Plan) -> str:
    from bide.report.plan_html import plan_html

    return plan_html(answer)


def _markdown(answer: Plan) -> str:
    from bide.report.plan_markdown import plan_markdown

    return plan_markdown(answer)


def _json(answer: Plan) -> str:
    from bide.plan.as_dict import plan_dict

    return json_text("plan", plan_dict(answer)) + "\n"
