"""What is said of a line that click cannot read: what is wrong, and what was likely meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import click

from bide.i18n import _

_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "--answer": ("--output",),
    "--answer-tokens": ("--answer", "--output"),
    "--context-length": ("--max-model-len",),
    "--data-parallel-size": ("--dp",),
    "--input": ("--prompt",),
    "--max-seq-len": ("--max-model-len",),
    "--num-gpus": ("--gpus", "--max-gpus"),
    "--output-tokens": ("--output", "--answer"),
    "--pipeline-parallel-size": ("--pp",),
    "--quantization": ("--weights",),
    "--request-rate": ("--rate", "--rps"),
    "--rps": ("--rate", "--peak-rps"),
    "--rate": ("--rps", "--peak-rps"),
    "--tensor-parallel-size": ("--tp",),
    "--tp-size": ("--tp",),
    "--users": ("--concurrency",),
}
"""Flags that engines, other tools or other commands of bide have, and those that mean the same here."""


def said(error: click.ClickException, given: Sequence[str]) -> str:
    """The error as a line; `given` is what was typed."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return error.format_message()
    meant = _meant(error, context, given)
    guess = _("Did you mean {names}?").format(names=meant) if meant else ""
    where = _("`{command} --help` shows what there is").format(command=context.command_path)
    told = error.message if meant else error.format_message()  # the latter has click's own guess
    parts = (_ended(told), guess, where)
    return " ".join(filter(None, parts))


def _ended(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _meant(error: click.ClickException, context: click.Context, given: Sequence[str]) -> str:
    """The flag that was likely meant, or "": click knows those that are spelled alike."""
    known = {name for param in context.command.params for name in (*param.opts, *param.secondary_opts)}
    if isinstance(error, click.NoSuchOption):
        return next(_flags(error.option_name, known, given), "")
    if type(error) is click.UsageError and "--gpu" in known:
        return next((f"--gpu {word}" for word in _alone(given) if _is_gpu(word)), "")
    return ""


def _flags(name: str, known: set[str], given: Sequence[str]) -> Iterator[str]:
    """Flags of the command for one that it has not: `-gpu`, which click takes for `-g`, and what others call it."""
    for word in given:
        if word.startswith(name) and f"-{word.partition('=')[0]}" in known:
            yield f"-{word.partition('=')[0]}"
    yield from (other for other in _ELSEWHERE.get(name, ()) if other in known)


def _alone(given: Sequence[str]) -> Iterator[str]:
    """The words that are no flag and follow none."""
    return (word for before, word in pairwise(("", *given)) if not word.startswith("-") and not before.startswith("-"))


def _is_gpu(word: str) -> bool:
    from bide.errors import BadInput
    from bide.facts.gpus import find_gpu

    try:
        find_gpu(word)
    except BadInput:
        return False
    return True
