"""`bide plan --interactive`: asks the few questions that a plan cannot do without, and writes the service file.

The questions go to stderr, so that what the plan prints on stdout can be piped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from bide.cli.output import note
from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    from bide.plan.interactive import AskedFor

Answer = TypeVar("Answer")
_FILE = "service.yaml"


def ask_for_file(suggested: Path | None) -> Path:
    """Ask, write, and say where: the path of the file. Raises click.Abort where the answers end."""
    from bide.plan import interactive

    note(_("A few questions; Enter takes what stands in brackets."))
    model = _ask(
        _("Model (a catalogue name, a Hugging Face id, a path)"),
        "meta-llama/Llama-3.1-8B-Instruct",
        interactive.model_name,
    )
    gpus = _ask(_("GPUs to choose from, with commas in between"), "h100-sxm", interactive.gpu_names)
    work = _workload()
    rps = _ask(
        _("Requests a second at the peak, or trace: as in the trace")
        if work.knows_its_peak
        else _("Requests a second at the peak"),
        "trace" if work.knows_its_peak else "10",
        lambda answer: interactive.peak(answer, work),
    )
    limits = _ask(
        _("How long users wait (streamed, for example: ttft_p95=1s, tpot_p95=50ms)"),
        "e2e_p95=5s",
        lambda answer: interactive.patience(answer, work),
    )
    path = _where(suggested)
    return _write(path, lambda to: interactive.service_text(to, model, gpus, work, rps, limits))


def _workload() -> AskedFor:
    from bide.plan import interactive

    question = _("A trace or log of real requests, if there is one (Enter: none)")
    found = _ask(question, "", lambda answer: interactive.trace(answer) if answer else None)
    if found is not None:
        return found
    prompt, output = (
        _ask(
            _("{kind}: median and 95th percentile, or the mean alone").format(kind=kind),
            default,
            partial(_checked, field),
        )
        for kind, field, default in (
            (_("Prompt tokens"), "prompt", interactive.PROMPT_TOKENS),
            (_("Output tokens"), "output", interactive.OUTPUT_TOKENS),
        )
    )
    return interactive.lengths(prompt, output)


def _checked(field: str, answer: str) -> str:
    from bide.plan.interactive import figures

    figures(answer, field)
    return answer


def _ask(question: str, default: str, read: Callable[[str], Answer]) -> Answer:
    """What `read` makes of the answer; asks again where it is wrong."""
    while True:
        answer = _answer(question, default)
        try:
            return read(answer)
        except BadInput as error:
            note(_("error: {message}").format(message=error))


def _answer(question: str, default: str) -> str:
    """One line; `default` for an empty one. Raises BadInput where the lines end, click.Abort for Ctrl-C."""
    if sys.stdin is None:
        raise _ended(question)
    try:
        typed: str = click.prompt(question, default=default, show_default=bool(default), err=True)
    except click.Abort as abort:
        if not isinstance(abort.__context__, EOFError):
            raise
        click.echo(err=True)
        raise _ended(question) from abort
    return typed.strip() or default


def _ended(question: str) -> BadInput:
    """Where the lines end at a question."""
    return BadInput(
        _("answers"),
        None,
        _("a line for each question; an empty one takes what stands in brackets"),
        _("the input ended at: {question}; no file was written").format(question=question),
    )


def _where(suggested: Path | None) -> Path:
    """A name for the file, and leave to overwrite where there is one."""
    from bide.plan.interactive import file_path

    while True:
        path = _ask(_("File to write"), str(suggested or _FILE), file_path)
        if not os.path.exists(path) or _may_overwrite(path):
            return path


def _may_overwrite(path: Path) -> bool:
    """Whether a plain yes was said; asked again where it was neither yes nor no."""
    yes, no = ("y", "yes", _("yes")), ("n", "no", _("no"))

    def read(answer: str) -> bool:
        if answer.lower() not in (*yes, *no):
            raise BadInput(_("answer"), answer, "y, n")
        return answer.lower() in yes

    return _ask(_("{file} exists. Overwrite it?").format(file=path), "n", read)


def _write(path: Path, text: Callable[[Path], str]) -> Path:
    """Write, elsewhere where it cannot be written there."""
    while True:
        try:
            path.write_text(text(path), encoding="utf-8")
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            why = getattr(error, "strerror", None) or str(error)
            note(_("error: {message}").format(message=f"{path}: {why}"))
            path = _where(None)
            continue
        note(_("wrote {path}").format(path=path))
        return path
