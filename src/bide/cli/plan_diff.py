"""`bide plan diff OLD NEW`: what changed from one plan to another, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bide.cli.options import json_option, output_option, profile_option
from bide.cli.output import json_text, print_json, print_table, say, write_output
from bide.i18n import _

if TYPE_CHECKING:
    from bide.plan.diff import PlanDiff, Side
    from bide.plan.outcome import Outcome
    from bide.plan.question import Question
    from bide.plan.recorded import Data

_SUFFIXES = (".md", ".json")
_SCHEMA = "plan.diff"


@click.command("diff", help=_("What changed from plan OLD to plan NEW, and which change did how much."))
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@json_option
@profile_option
@output_option(*_SUFFIXES)
def command(old: Path, new: Path, as_json: bool, profile: Path | None, output: Path | None) -> None:
    """Each of the two is a service file, or a plan that `bide plan --json` printed."""
    from bide.report.plan_diff import diff_dict

    diff = _differences(old, new, profile)
    if as_json:
        print_json(_SCHEMA, diff_dict(diff))
    else:
        _print(diff)
    if output:
        write_output(output, _writers(diff))


def _differences(old: Path, new: Path, profile: Path | None) -> PlanDiff:
    from bide.cli.plan_making import made
    from bide.plan.as_dict import plan_dict
    from bide.plan.diff import differences
    from bide.plan.outcome import outcome_of
    from bide.plan.recorded import read_side, recorded_changes

    one, of_one = read_side(old, "OLD")
    other, of_other = read_side(new, "NEW")

    def asked(question: Question) -> Data:
        return plan_dict(made(question, profile, one_of_several=True))

    def answer(question: Question) -> Outcome:
        return outcome_of(asked(question), "plan", question.file)

    if one.question and other.question:
        return differences(one, other, answer)
    recorded = (_recorded(side, data, asked) for side, data in ((one, of_one), (other, of_other)))
    return differences(one, other, answer, recorded_changes(*recorded))


def _recorded(side: Side, data: Data | None, asked: Callable[[Question], Data]) -> Data:
    """The plan as it was recorded, or as it is now."""
    if data is not None:
        return data
    assert side.question is not None
    return asked(side.question)


def _print(diff: PlanDiff) -> None:
    from bide.report import plan_diff as words

    say(words.sentence(diff))
    for table, wrapped in ((words.effects_table(diff), (0, 1, 2)), (words.services_table(diff), (1, 2))):
        if table[1]:
            click.echo()
            print_table(*table, left=(0, 1, 2), wrap=wrapped)
    if notes := words.endnotes(diff):
        click.echo()
        for line in notes:
            say(f"- {line}", hang=2)


def _writers(diff: PlanDiff) -> Mapping[str, Callable[[], str | bytes]]:
    from bide.report.plan_diff import diff_dict, diff_markdown

    made: tuple[Callable[[], str | bytes], ...] = (
        lambda: diff_markdown(diff),
        lambda: json_text(_SCHEMA, diff_dict(diff)) + "\n",
    )
    return dict(zip(_SUFFIXES, made, strict=True))
