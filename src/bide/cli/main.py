"""`bide`: finds the command, runs it, and turns every error into one line and an exit code.

Exit codes: 0 an answer, 1 the answer is "cannot be met", 2 bad input, 130 interrupted, 141 the reader
of a pipe went away. Commands are imported only when called; their help lines stand here.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click

from bide import __version__
from bide.cli import language
from bide.cli.lazy import LazyGroup
from bide.errors import BideError
from bide.i18n import LANGUAGES, _

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
        "serve": _("The page and the HTTP API, for this machine alone unless told otherwise."),
        "models": _("The catalogue of models, with sources."),
        "gpus": _("The catalogue of accelerators, with sources, unverified figures marked."),
    }


EXAMPLES = {
    "memory": "bide memory llama-3.1-8b --gpu h100-sxm --context 8k,32k",
    "curve": "bide curve llama-3.1-8b --gpu h100-sxm --gpu l40s --prompt 1000 --output 500",
    "workload": "bide workload describe trace.csv -o trace.html",
    "simulate": "bide simulate llama-3.1-8b --gpu h100-sxm --workload trace.csv --slo ttft=1s,tpot=50ms",
    "plan": "bide plan service.yaml -o report.html",
    "bench": "bide bench http://localhost:8000 --rate 4 --duration 2min --prompt 900 --answer 200",
    "calibrate": "bide calibrate run.jsonl --model llama-3.1-8b --gpu h100-sxm --save mine.json",
    "compare": "bide compare run.jsonl --model llama-3.1-8b --gpu h100-sxm",
    "serve": "bide serve --port 8321",
    "models": "bide models llama-3.1-8b",
    "gpus": "bide gpus h100-sxm",
}
"""A line to try for each command."""


class _Everything(LazyGroup):
    """The whole command line: a reader that went away is no error."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _silence_stdout()
            return BROKEN_PIPE


def _open_streams() -> None:
    """A stdout that takes every character (`?` for what its encoding has not), and nothing in place of closed ones.

    A closed stdin stays one: who reads from it says so.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the flush at exit does not complain about the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def group() -> LazyGroup:
    """The whole command line, in the language chosen by then."""
    about = _("Capacity planning for serving LLMs: how long a context, how many at once, how fast, how many GPUs.")
    speaks = _("Language of all output, anywhere on the line: {codes}; otherwise BIDE_LANG, then the locale says.")
    lang = click.Option(["--lang"], metavar="CODE", expose_value=False, help=speaks.format(codes=", ".join(LANGUAGES)))
    bide = _Everything(
        "bide",
        lines=help_lines,
        module="bide.cli.{}",
        examples=EXAMPLES,
        help=about,
        epilog=_("New to this? `bide serve` opens a page whose tab Learn teaches the two ideas behind it."),
        params=[lang],
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
    asked, given = language.taken(sys.argv[1:] if args is None else args)
    _open_streams()
    try:
        language.speak(asked)
        result = group().main(args=given, prog_name="bide", standalone_mode=False)
        sys.stdout.flush()
    except BideError as error:
        return _fail(str(error), error.exit_code)
    except click.Abort:
        return _fail(_("interrupted"), INTERRUPTED)
    except click.ClickException as error:
        return _fail(_unreadable(error, given), 2)
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


def _unreadable(error: click.ClickException, given: Sequence[str]) -> str:
    from bide.cli.usage import said

    return said(error, given)
