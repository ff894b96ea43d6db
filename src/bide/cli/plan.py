"""`bide plan`: the fleet for a service file, and its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bide.cli.options import explain_option, json_option, output_option, profile_option
from bide.cli.output import json_text, note, print_json, write_output
from bide.errors import BadInput, CannotBeMet
from bide.i18n import _

if TYPE_CHECKING:
    from bide.plan.answer import Plan

_PIPED_WIDTH = 120
_SUFFIXES = (".html", ".md", ".json")


@click.command(help=_("The fleet for a service file: which GPUs, how many, percentiles, cost, and how sure that is."))
@click.argument("service_file", type=click.Path(path_type=Path))
@json_option
@explain_option
@profile_option
@output_option(*_SUFFIXES)
@click.option("--no-report", is_flag=True, help=_("Write no page. Without -o one is written as <service file>.html."))
def command(
    service_file: Path, as_json: bool, explain: bool, profile: Path | None, output: Path | None, no_report: bool
) -> int:
    """Print the answer and write the report; exit code 1 where the patience cannot be kept."""
    from bide.plan.search import plan
    from bide.plan.service_file import read_question

    answer = plan(read_question(service_file), profile=profile)
    if as_json:
        from bide.plan.as_dict import plan_dict

        print_json("plan", plan_dict(answer))
    else:
        click.echo(_text(answer, explain), nl=False)
    if output:
        write_output(output, _writers(answer))
    elif not (no_report or as_json):
        _write_page(Path(f"{service_file.stem}.html"), answer)
    if not answer.feasible:
        note(_("cannot be met"))
    return 0 if answer.feasible else CannotBeMet.exit_code


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
    return plan_text(answer, width) + ("\n" + plan_explain(answer) if explain else "")


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
