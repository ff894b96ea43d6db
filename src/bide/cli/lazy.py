"""A group of commands that are imported when they are called; their lines of help stand in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import click

from bide.errors import nearest
from bide.i18n import _


class LazyGroup(click.Group):
    """`lines` gives every command with its line of help, in the language chosen by then.

    `module`: where a command is, such as `bide.cli.{}`; it is called `command` there. `examples`: a line to try for
    each, shown at the end of its help.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        lines: Callable[[], dict[str, str]],
        module: str,
        examples: Mapping[str, str],
        **kept: Any,
    ) -> None:
        super().__init__(name, **kept)
        self._lines, self._module, self._examples = lines, module, examples

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lines())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lines():
            return None
        command: click.Command = import_module(self._module.format(cmd_name)).command
        _show_example(command, self._examples[cmd_name])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(_("Commands")):
            formatter.write_dl(list(self._lines().items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self._lines():
            raise click.UsageError(self._unknown(ctx, args[0]), ctx)
        return super().resolve_command(ctx, args)

    def _unknown(self, ctx: click.Context, name: str) -> str:
        near = nearest(name, self._lines())
        called = name if ctx.parent is None else f"{self.name} {name}"
        text = _("no such command: {name}").format(name=called)
        return text + ". " + _("Did you mean {names}?").format(names=_(" or ").join(near)) if near else text


def _show_example(command: click.Command, example: str) -> None:
    """Put the line at the end of the command's help, where it is not yet."""
    if example not in (command.epilog or ""):
        shown = "\b\n" + _("For example:") + f"\n  {example}"
        command.epilog = "\n\n".join(filter(None, (shown, command.epilog)))
