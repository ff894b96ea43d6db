"""The flags by which the commands of `bide workload` are told what a file does not say."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.options import TOKENS
from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    from bide.workload.reading.asking import Ask

Function = Callable[..., Any]


def reading_options(function: Function, required: bool = True) -> Function:
    """Add the flags; `function` gets them as one value, `ask`, and the sources as `sources`."""

    @functools.wraps(function)
    def collect(**values: Any) -> Any:
        names = ("from_format", "field", "time_unit", "trace_block_tokens", "tokenizer", "strict", "drop_duplicates")
        given = {name: values.pop(name) for name in names}
        return function(ask=_ask(given), **values)

    flags = [
        click.argument("sources", nargs=-1, required=required),
        click.option("--from", "from_format", metavar="FORMAT", help=_("Format of the source; found out by default.")),
        click.option(
            "--field",
            multiple=True,
            metavar="ROLE=NAME",
            help=_("Column or dotted path of time, prompt, output, blocks, session, think, cached, id. Repeatable."),
        ),
        click.option("--time-unit", metavar="s|ms|us|ns", help=_("Unit of numeric time stamps.")),
        click.option("--trace-block-tokens", type=TOKENS, help=_("Tokens of a hashed block of the source.")),
        click.option("--tokenizer", metavar="FILE", help=_("tokenizer.json, for sources that hold text.")),
        click.option("--strict", is_flag=True, help=_("The first row that cannot be read is an error.")),
        click.option("--drop-duplicates", is_flag=True, help=_("Leave out rows that equal another.")),
    ]
    for flag in reversed(flags):
        collect = flag(collect)
    return collect


def _ask(given: dict[str, Any]) -> Ask:
    from bide.workload.reading.asking import SECONDS_OF, Ask

    if given["time_unit"] not in (None, *SECONDS_OF):
        raise BadInput("time_unit", given["time_unit"], _("one of {units}").format(units=", ".join(SECONDS_OF)))
    if given["tokenizer"] and not Path(given["tokenizer"]).exists():  # also where no text needs it
        raise BadInput("tokenizer", given["tokenizer"], _("a tokenizer.json or a folder that has one"))
    return Ask(
        format=given["from_format"],
        fields=_fields(given["field"]),
        time_unit=given["time_unit"],
        block_tokens=given["trace_block_tokens"],
        tokenizer=given["tokenizer"],
        strict=given["strict"],
        drop_duplicates=given["drop_duplicates"],
    )


def _fields(texts: Sequence[str]) -> dict[str, str]:
    fields = {}
    for text in texts:
        role, equals, name = text.partition("=")
        if not equals or not name:
            raise BadInput("field", text, _("ROLE=NAME, such as prompt=usage.input_tokens"))
        fields[role.strip()] = name.strip()
    return fields
