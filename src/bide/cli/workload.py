"""`bide workload`: what the traffic is; the group of its commands, each in a module of its own."""

from __future__ import annotations

import click

from bide.cli.lazy import LazyGroup
from bide.i18n import _


def help_lines() -> dict[str, str]:
    """The commands of the group, each with its line of help."""
    return {
        "describe": _("Lengths, arrivals, prefix reuse of a trace or log, and how sure they are."),
        "sample": _("Draw a synthetic trace of any size after a trace, or from figures alone."),
        "convert": _("Write a trace or log in another format."),
        "observe": _("Lengths, rates and latencies from a Prometheus that scrapes vLLM or SGLang."),
    }


@click.group(
    "workload",
    cls=LazyGroup,
    lines=help_lines,
    module="bide.cli.workload_{}",
    invoke_without_command=True,
    help=_("What the traffic is: traces, logs, models."),
)
@click.pass_context
def command(context: click.Context) -> None:
    """Show the help where no command is given."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
