"""`bide memory`: what fits, why, and what would let more in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.batch import batch_option, run_batch
from bide.cli.options import (
    TOKENS,
    deployment_options,
    explain_option,
    json_option,
    output_option,
    profile_option,
    with_model,
)
from bide.cli.output import json_text, note, print_json, print_table, say, write_output
from bide.errors import BadInput, CannotBeMet
from bide.i18n import _
from bide.units import parse_tokens

if TYPE_CHECKING:
    from bide.physics.profile import Profile
    from bide.report.memory_answer import MemoryAnswer

_SUFFIXES = (".html", ".md", ".json", ".csv", ".png", ".svg")


@click.command(
    help=with_model(_("How long a context, how many at once: the cache, the weights, the pool, and the levers."))
)
@click.argument("model", required=False)
@deployment_options
@click.option("--context", metavar="TOKENS[,..]", help=_("Contexts to show (2k,8k,32k,128k)."))
@click.option("--mean-tokens", type=TOKENS, help=_("Mean context of a request: allocation as tokens come (paged)."))
@click.option("--service", multiple=True, metavar="NAME:TOKENS:USERS", help=_("A service that shares the GPUs."))
@click.option(
    "--services",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=_("The same as a YAML list: name, tokens, users."),
)
@profile_option
@batch_option
@json_option
@explain_option
@output_option(*_SUFFIXES)
def command(
    model: str | None,
    deployment: dict[str, Any],
    context: str | None,
    mean_tokens: int | None,
    service: Sequence[str],
    services: Path | None,
    profile: Path | None,
    batch: Path | None,
    as_json: bool,
    explain: bool,
    output: Path | None,
) -> int:
    """Answer one deployment, or each line of a batch; exit code 1 where the model does not fit.

    A profile is read for the pool that it took from the log of this deployment.
    """
    if batch is not None:
        asked = {"context": context, "mean_tokens": mean_tokens, "service": service, "services": services}
        return _batch(batch, profile, {"model": model, **deployment, **asked, "explain": explain, "output": output})
    from bide.report.memory_answer import MemoryAnswer

    raw = _raw(model, deployment)
    answer = MemoryAnswer(raw, _contexts(context), mean_tokens, _tenants(service, services), profile)
    if as_json:
        print_json("memory", answer.to_dict())
    else:
        _print(answer)
        if explain:
            click.echo()
            _explain(answer)
    if output:
        write_output(output, _writers(answer))
    if answer.memory.fits:
        return 0
    note(_("error: {message}").format(message=answer.why_not()))
    return CannotBeMet.exit_code


def _batch(batch: Path, profile: Path | None, beside: dict[str, Any]) -> int:
    """Answer the lines of `batch`; raises BadInput for what would be ignored `beside` it."""
    for name, value in beside.items():
        if value not in (None, False, ()):
            raise BadInput(name, value, _("nothing beside --batch but --json and --profile: each line says its own"))
    from bide.physics.memory_dict import batch_line

    run_batch(batch, partial(batch_line, profile=_loaded(profile)))
    return 0


def _loaded(profile: Path | None) -> Profile | None:
    if profile is None:
        return None
    from bide.physics.profile import load_profile

    return load_profile(profile)


def _raw(model: str | None, deployment: dict[str, Any]) -> dict[str, Any]:
    if model is None:
        raise BadInput("model", None, _("a catalogue name (`bide models`), a config.json, a directory or an id"))
    from bide.facts.layout import laid_out

    return laid_out({"model": model, **deployment})


def _contexts(text: str | None) -> list[int]:
    """The contexts that were asked for; none where nobody asked."""
    if text is None:
        return []
    return [parse_tokens(part.strip(), "context") for part in text.split(",")]


def _tenants(texts: Sequence[str], file: Path | None) -> list[Any]:
    if not texts and file is None:
        return []
    from bide.plan.tenants import parse_tenant, read_tenants

    return [parse_tenant(text) for text in texts] + (read_tenants(file) if file else [])


def _writers(answer: MemoryAnswer) -> dict[str, Callable[[], str | bytes]]:
    """What `-o` writes, by suffix; pictures only where there is something to draw."""
    from bide.report import memory_files as files
    from bide.report import memory_page as page

    memory, contexts = answer.memory, answer.contexts
    made: dict[str, Callable[[], str | bytes]] = {
        ".html": lambda: page.memory_page(answer.said()),
        ".md": lambda: files.memory_markdown(answer.said()),
        ".csv": lambda: files.memory_csv(memory, contexts),
        ".json": lambda: json_text("memory", answer.to_dict()) + "\n",
    }
    if memory.fits:
        made[".png"] = lambda: page.memory_png(memory, contexts)
        made[".svg"] = lambda: page.memory_svg(memory, contexts)
    return made


def _explain(answer: MemoryAnswer) -> None:
    """The arithmetic of the figures at the context, and of how many fit at the mean where one was given."""
    from bide.report.memory_explain import explained, explained_count

    at_mean = explained_count(answer.memory, answer.mean_tokens) if answer.mean_tokens and answer.memory.fits else []
    for line in (*explained(answer.memory, answer.context_tokens), *at_mean):
        say(line, hang=len(line) - len(line.lstrip()) + 4)


def _print(answer: MemoryAnswer) -> None:
    from bide.report import memory_text as words

    memory = answer.memory
    if answer.needs:
        say(words.tenant_sentence(memory, answer.needs))
        click.echo()
        print_table(*words.tenant_table(answer.needs))
        click.echo()
    say(answer.sentence())
    click.echo()
    for name, text in words.figures(memory, answer.context_tokens):
        say(f"{name:8}  {text}", hang=10)
    click.echo()
    if memory.size:
        click.echo("\n".join(words.ledger_lines(memory)) + "\n")
    if memory.fits:
        print_table(*words.context_table(memory, answer.contexts, answer.mean_tokens), left=())
        click.echo()
    levers = words.lever_table(memory, answer.levers, answer.context_tokens)
    print_table(*levers, title=words.lever_title(answer.context_tokens), left=(0, 4), wrap=(0, 4))
    click.echo()
    for line in words.endnotes(memory, answer.contexts):
        say(line, hang=2)
