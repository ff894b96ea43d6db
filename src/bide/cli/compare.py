"""`bide compare`: two results, or a result and a prediction, percentile by percentile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.options import deployment_options, json_option, output_option, profile_option
from bide.cli.output import json_text, print_json, print_table, say, write_output
from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    from bide.calibrate.comparing import Comparison
    from bide.facts.deployment import Deployment

_SUFFIXES = (".html", ".md", ".json", ".csv")
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    help=_("Lay B beside A: measured results, `bide curve --json`, `bide simulate --json`, or a deployment.")
)
@click.argument("a", type=_FILE)
@click.argument("b", type=_FILE, required=False)
@click.option("--model", metavar="MODEL", help=_("Instead of B: predict this deployment under the loads of A."))
@deployment_options
@profile_option
@json_option
@output_option(*_SUFFIXES)
def command(
    a: Path,
    b: Path | None,
    model: str | None,
    deployment: dict[str, Any],
    profile: Path | None,
    as_json: bool,
    output: Path | None,
) -> None:
    """Compare, print, write."""
    from bide.calibrate.comparing import compare

    if b is not None and (model or deployment):
        raise BadInput("b", str(b), _("either a second file or a deployment"))
    made = compare(a, b if b is not None else _deployment(model, deployment), profile=profile)
    if as_json:
        print_json("compare", made.to_dict())
    else:
        _print(made)
    if output is not None:
        write_output(output, _writers(made))


def _deployment(model: str | None, given: dict[str, Any]) -> Deployment:
    from bide.facts.deployment import Deployment
    from bide.facts.layout import laid_out

    if model is None:
        raise BadInput("b", None, _("a second result, a prediction in JSON, or --model with a deployment"))
    return Deployment.resolve(laid_out({"model": model, **given}))


def _print(made: Comparison) -> None:
    from bide.report import compare_text as words

    for text in words.sentences(made):
        say(text)
    for pair in made.pairs:
        click.echo()
        print_table(*words.pair_table(pair), title=words.title(pair), left=(0, 1), optional=(3, 5))
    click.echo()
    for line in words.endnotes(made):
        say(line, hang=2)


def _writers(made: Comparison) -> dict[str, Callable[[], str | bytes]]:
    from bide.report import compare_files as files

    return {
        ".html": lambda: files.compare_page(made),
        ".md": lambda: files.compare_markdown(made),
        ".csv": lambda: files.compare_csv(made),
        ".json": lambda: json_text("compare", made.to_dict()) + "\n",
    }
