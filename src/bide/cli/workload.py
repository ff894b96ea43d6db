"""`bide workload`: what the traffic is; the group of its commands, each in a module of its own."""

from __future__ import annotations

from importlib import import_module

import click

from bide.errors import nearest
from bide.i18n import _


def help_lines() -> dict[str, str]:
    """The commands of the group, each with its line of help."""
    return {
        "describe": _("Lengths, arrivals, prefix reuse of a trace or log, and how sure they are."),
        "sample": _("Draw a synthetic trace of any size after a trace, or from figures alone."),
        "convert": _("Write a trace or log in another format."),
        "observe": _("Lengths, rates and latencies from a Prometheus that scrapes vLLM or SGLang."),
    }


class WorkloadGroup(click.Group):
    """A group whose commands are `bide.cli.workload_NAME`, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(help_lines())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in help_lines():
            return None
        command: click.Command = import_module(f"bide.cli.workload_{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(_("Commands")):
            formatter.write_dl(list(help_lines().items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in help_lines():
            near = nearest(args[0], help_lines())
            text = _("no such command: {name}").format(name=f"workload {args[0]}")
            raise click.UsageError(text + (_(". Did you mean {name}?").format(name=near[0]) if near else ""), ctx)
        return super().resolve_command(ctx, args)


@click.group(
    "workload", cls=WorkloadGroup, invoke_without_command=True, help=_("What the traffic is: traces, logs, models.")
)
@click.pass_context
def command(context: click.Context) -> None:
    """Show the help where no command is given."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
