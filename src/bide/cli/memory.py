"""`bide memory`: what fits, why, and what would let more in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.batch import batch_option, run_batch
from bide.cli.options import TOKENS, deployment_options, explain_option, json_option, output_option, profile_option
from bide.cli.output import json_text, note, print_json, print_table, say, write_output
from bide.errors import BadInput, CannotBeMet
from bide.i18n import _
from bide.units import parse_tokens

if TYPE_CHECKING:
    from bide.facts.deployment import Deployment
    from bide.physics.memory import Memory
    from bide.plan.levers import Lever
    from bide.plan.tenants import Need
    from bide.report.memory_text import MemorySaid

_SUFFIXES = (".html", ".md", ".json", ".csv", ".png", ".svg")


@click.command(help=_("How long a context, how many at once: the cache, the weights, the pool, and the levers."))
@click.argument("model", required=False)
@deployment_options
@click.option("--context", metavar="TOKENS[,..]", help=_("Contexts to show (2k,8k,32k,128k)."))
@click.option("--mean-tokens", type=TOKENS, help=_("Mean context of a request: allocation as tokens come (paged)."))
@click.option("--service", multiple=True, metavar="NAME:TOKENS:USERS", help=_("A service that shares the GPUs."))
@click.option("--services", type=click.Path(path_type=Path), help=_("The same as a YAML list: name, tokens, users."))
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
        return _batch(batch, {"model": model, **deployment, **asked, "explain": explain, "output": output})
    raw = _raw(model, deployment)
    answer = _Answer(raw, _contexts(context), mean_tokens, _tenants(service, services), profile)
    if as_json:
        print_json("memory", answer.to_dict())
    else:
        _print(answer)
        if explain:
            from bide.report.memory_explain import explained

            click.echo()
            for line in explained(answer.memory, answer.context_tokens):
                say(line, hang=len(line) - len(line.lstrip()) + 4)
    if output:
        write_output(output, answer.writers())
    if answer.memory.fits:
        return 0
    note(_("error: {message}").format(message=answer.why_not()))
    return CannotBeMet.exit_code


def _batch(batch: Path, beside: dict[str, Any]) -> int:
    """Answer the lines of `batch`; raises BadInput for what would be ignored `beside` it."""
    for name, value in beside.items():
        if value not in (None, False, ()):
            raise BadInput(name, value, _("nothing beside --batch but --json: each line says its own"))
    from bide.physics.memory_dict import batch_line

    run_batch(batch, batch_line)
    return 0


def _raw(model: str | None, deployment: dict[str, Any]) -> dict[str, Any]:
    if model is None:
        raise BadInput("model", None, _("a catalogue name (`bide models`), a config.json, a directory or an id"))
    raw = {"model": model, **deployment}
    gpus = raw.pop("gpus", None)
    if gpus is None:
        return raw
    from bide.plan.layout import fitting_layout

    return {**raw, **fitting_layout(raw, gpus)}


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


def _with_pool(deployment: Deployment, profile: Path | None) -> Deployment:
    if profile is None:
        return deployment
    from bide.physics.own import with_own_pool
    from bide.physics.profile import load_profile

    found = load_profile(profile)
    return with_own_pool(deployment, found.own, found.name)


class _Answer:
    """What was asked, and what follows from it."""

    def __init__(
        self,
        raw: dict[str, Any],
        asked: Sequence[int],
        mean_tokens: int | None,
        tenants: Sequence[Any],
        profile: Path | None,
    ) -> None:
        from bide.facts.deployment import Deployment
        from bide.physics.memory import memory_of
        from bide.plan.levers import levers
        from bide.plan.tenants import needs
        from bide.report.memory_text import lever_context, shown_contexts

        self.memory: Memory = memory_of(_with_pool(Deployment.resolve(raw), profile))
        self.contexts = list(asked) or shown_contexts(self.memory)
        self.context_tokens = asked[0] if asked else lever_context(self.memory)
        self.mean_tokens = mean_tokens
        self.levers: list[Lever] = levers(raw, self.memory, self.context_tokens, mean_tokens)
        self.needs: list[Need] = needs(self.memory, tenants)

    def sentence(self) -> str:
        """How many fit: of the mean length where one was given, else of the context that levers are shown at."""
        from bide.report.memory_text import sentence

        if self.mean_tokens and self.memory.fits:
            return sentence(self.memory, self.mean_tokens, mean=True)
        return sentence(self.memory, self.context_tokens)

    def to_dict(self) -> dict[str, Any]:
        from bide.physics.memory_dict import memory_dict
        from bide.plan.tenants import needs_dict

        contexts = [*self.contexts, self.mean_tokens] if self.mean_tokens else self.contexts
        return {
            "model": self.memory.deployment.model.name,
            "gpu": self.memory.deployment.gpu.id if self.memory.deployment.gpu else None,
            "fits": self.memory.fits,
            **memory_dict(self.memory, contexts),
            "levers": [lever.to_dict() for lever in self.levers],
            "services": needs_dict(self.memory, self.needs) if self.needs else None,
            "assumptions": [assumption.to_dict() for assumption in self.memory.deployment.assumptions],
            "sources": self._sources(),
        }

    def _sources(self) -> dict[str, str | None]:
        """Where the model's facts and the card's memory come from, and the logs behind the other terms."""
        deployment = self.memory.deployment
        return {
            "model": str(deployment.model.source),
            "gpu": str(deployment.gpu.sources["usable"]) if deployment.gpu else None,
            "engine_terms": deployment.engine.memory.rows or None,
        }

    def why_not(self) -> str:
        """What is needed, what there is, and what would work."""
        from bide.physics.pool import no_room, stage_pools

        deployment = self.memory.deployment
        if deployment.gpu is None or deployment.pool_bytes_per_gpu is not None:
            return _("the pool that was given is empty")
        text = no_room(deployment, stage_pools(deployment))
        working = [lever.name for lever in self.levers if lever.requests and lever.id not in ("tp", "paged")]
        return text + ("; " + _("or {names}").format(names=", ".join(working)) if working else "")

    def _said(self) -> MemorySaid:
        from bide.report.memory_text import MemorySaid

        return MemorySaid(
            self.memory,
            self.sentence(),
            self.contexts,
            self.context_tokens,
            self.levers,
            self.mean_tokens,
            self.needs,
        )

    def writers(self) -> dict[str, Callable[[], str | bytes]]:
        """What `-o` writes, by suffix; pictures only where there is something to draw."""
        from bide.report import memory_files as files
        from bide.report import memory_page as page

        made: dict[str, Callable[[], str | bytes]] = {
            ".html": lambda: page.memory_page(self._said()),
            ".md": lambda: files.memory_markdown(self._said()),
            ".csv": lambda: files.memory_csv(self.memory, self.contexts),
            ".json": lambda: json_text("memory", self.to_dict()) + "\n",
        }
        if self.memory.fits:
            made[".png"] = lambda: page.memory_png(self.memory, self.contexts)
            made[".svg"] = lambda: page.memory_svg(self.memory, self.contexts)
        return made


def _print(answer: _Answer) -> None:
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
