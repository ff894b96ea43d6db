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


EXAMPLES = {
    "describe": "bide workload describe trace.csv -o trace.html",
    "sample": "bide workload sample --prompt p50=900,p95=3800 --answer p50=150,p95=500 --rps 12 -o synthetic.csv",
    "convert": "bide workload convert log.jsonl --to azure -o trace.csv",
    "observe": "bide workload observe --prometheus http://prometheus:9090 --gpu h100-sxm -o service.yaml",
}
"""A line to try for each."""


@click.group(
    "workload",
    cls=LazyGroup,
    lines=help_lines,
    module="bide.cli.workload_{}",
    examples=EXAMPLES,
    invoke_without_command=True,
    help=_("What the traffic is: traces, logs, models."),
)
@click.pass_context
def command(context: click.Context) -> None:
    """Show the help where no command is given."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
