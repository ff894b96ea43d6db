"""`bide`: finds the command, runs it, and turns every error into one line and an exit code.

Exit codes: 0 an answer, 1 the answer is "cannot be met", 2 bad input, 130 interrupted, 141 the reader
of a pipe went away. Commands are imported only when called; their help lines stand here.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from bide import __version__
from bide.errors import BideError, nearest
from bide.i18n import _, use_language

INTERRUPTED, BROKEN_PIPE = 130, 141


def help_lines() -> dict[str, str]:
    """Every command and its line in `bide --help`, in the chosen language."""
    return {
        "memory": _("What fits: bytes per token and request, the pool as a ledger, requests at once, levers."),
        "curve": _("Speed against throughput as more requests run, what binds, cost; several GPUs on one chart."),
        "workload": _("What the traffic is: describe, sample, convert traces and logs; observe a Prometheus."),
        "simulate": _("A workload through a fleet, step for step: percentiles, goodput, queue and KV over time."),
        "plan": _("The fleet for a service file: which GPUs, how many, percentiles, cost."),
        "bench": _(
            "Load a live OpenAI-compatible server: percentiles with intervals, sweeps, the highest load for an SLO."
        ),
        "calibrate": _("Step times from measured runs of one deployment, anyone's; the pool from an engine's log."),
        "compare": _("Two results, or a result and a prediction, percentile by percentile, with their intervals."),
        "models": _("The catalogue of models, with sources."),
        "gpus": _("The catalogue of accelerators, with sources, unverified figures marked."),
    }


class LazyGroup(click.Group):
    """A group whose commands are modules of `bide.cli`, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(help_lines())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in help_lines():
            return None
        command: click.Command = import_module(f"bide.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(_("Commands")):
            formatter.write_dl(list(help_lines().items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in help_lines():
            raise click.UsageError(_unknown_command(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _silence_stdout()
            return BROKEN_PIPE


def _unknown_command(name: str) -> str:
    near = nearest(name, help_lines())
    text = _("no such command: {name}").format(name=name)
    return text + ". " + _("Did you mean {names}?").format(names=_(" or ").join(near)) if near else text


def _open_stdout() -> None:
    """A stdout that takes every character (`?` for what its encoding has not), and one where it was closed."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for as long as the process lives
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the flush at exit does not complain about the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _asked_language(args: Sequence[str]) -> str | None:
    """What `--lang` says, wherever it stands: help texts are translated before click parses anything."""
    for number, arg in enumerate(args):
        if arg.startswith("--lang="):
            return arg.partition("=")[2]
        if arg == "--lang" and number + 1 < len(args):
            return args[number + 1]
    return None


def group() -> LazyGroup:
    """The whole command line, in the language chosen by then."""
    about = _("Capacity planning for serving LLMs: how long a context, how many at once, how fast, how many GPUs.")
    language = click.Option(["--lang"], metavar="CODE", expose_value=False, help=_("Language of the output (en, ...)."))
    bide = LazyGroup(
        "bide",
        help=about,
        params=[language],
        callback=_help_unless_called,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    return click.version_option(__version__, prog_name="bide")(bide)


@click.pass_context
def _help_unless_called(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line on `args` (None: the process's) and return its exit code. Never raises a BideError."""
    given = sys.argv[1:] if args is None else list(args)
    _open_stdout()
    use_language(_asked_language(given))
    try:
        result = group().main(args=given, prog_name="bide", standalone_mode=False)
        sys.stdout.flush()
    except BideError as error:
        return _fail(str(error), error.exit_code)
    except click.Abort:
        return _fail(_("interrupted"), INTERRUPTED)
    except click.ClickException as error:
        return _fail(error.format_message() + _usage_hint(error), 2)
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except OSError as error:
        _silence_stdout()
        what = error.filename or _("the answer cannot be written")
        return _fail(f"{what}: {error.strerror or error}", 2)
    return result if isinstance(result, int) else 0


def _fail(message: str, code: int) -> int:
    click.echo(_("error: {message}").format(message=message), err=True)
    return code


def _usage_hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return "\n" + _("`{command} --help` shows what there is").format(command=context.command_path) if context else ""
