"""The flags of `bide bench`, and what they ask for."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.bench_loads import loads
from bide.cli.options import POSITIVE, TOKENS, Function, Quantity, Whole, Written
from bide.errors import BadInput
from bide.i18n import _
from bide.units import parse_seconds

if TYPE_CHECKING:
    from bide.bench.asking import Ask
    from bide.bench.target import Target

_SECONDS = Quantity("seconds", parse_seconds)
_FILE = click.Path(path_type=Path, dir_okay=False)
LIMITED = ("ttft", "tpot", "e2e")


def _load_flags() -> list[Function]:
    return [
        click.option("--rate", type=POSITIVE, help=_("Open loop: requests a second, whatever the answers take.")),
        click.option("--concurrency", type=Whole(1), help=_("Closed loop: users that wait for their answer.")),
        click.option("--workload", metavar="FILE", help=_("Play a trace, a log or a workload file, at its own times.")),
        click.option("--scale", type=POSITIVE, help=_("Play the workload so many times as fast.")),
        click.option("--follow-sessions", is_flag=True, help=_("Further turns wait for the answer before, and think.")),
        click.option("--arrivals", type=click.Choice(["poisson", "gamma", "constant"]), default="poisson"),
        click.option("--burstiness", type=POSITIVE, help=_("Shape of gamma gaps: 1 is Poisson, less has bursts.")),
        click.option("--ramp", type=POSITIVE, metavar="FROM", help=_("Begin here and grow evenly to the load.")),
        click.option("--requests", type=Whole(1), help=_("How many, at each level.")),
        click.option("--duration", type=_SECONDS, help=_("How long, at each level.")),
        click.option("--think", type=_SECONDS, default=0.0, help=_("Closed loop: pause of a user after an answer.")),
        click.option("--spread", type=_SECONDS, help=_("Closed loop: users begin over so long (one answer).")),
        click.option("--sweep", metavar="LEVELS", help=_("rate=1,2,4 or concurrency=1..64 (doubling): the knee.")),
        click.option("--slo", metavar="LIMITS", help=_("Search the highest load with ttft_p95=1s,tpot_p95=50ms.")),
        click.option("--precision", type=POSITIVE, default=0.05, help=_("How near the search comes (0.05).")),
        click.option("--goodput", metavar="LIMITS", help=_("Share of requests within ttft=1s,tpot=50ms,e2e=30s.")),
    ]


def _prompt_flags() -> list[Function]:
    return [
        click.option("--model", metavar="NAME", help=_("As the server calls it (the first that it lists).")),
        click.option("--endpoint", type=click.Choice(["chat", "completions"]), help=_("chat, unless the URL says.")),
        click.option("--prompt", default="512", metavar="FIGURES", help=_("Tokens: 512, p50=900,p95=3800 (512).")),
        click.option("--answer", default="128", metavar="FIGURES", help=_("Tokens, likewise (128).")),
        click.option("--shared-prefix", type=TOKENS, help=_("Tokens that all prompts begin with.")),
        click.option("--tokenizer", metavar="PATH|ID", help=_("Words from it instead of common English ones.")),
        click.option("--text", type=_FILE, metavar="FILE", help=_("Prompts are cut from this text.")),
        click.option("--seed", type=Whole(0), default=0, help=_("Of lengths, words and arrivals (0).")),
        click.option("--no-nonce", is_flag=True, help=_("The same prompts in every run: the cache may know them.")),
        click.option("--no-ignore-eos", is_flag=True, help=_("Answers may end before the length asked for.")),
        click.option("--extra", metavar="JSON", help=_("Further fields of each request.")),
        click.option("--no-probe", is_flag=True, help=_("Ask nothing before the load; needs --model.")),
    ]


def _client_flags() -> list[Function]:
    return [
        click.option("--warm-up", type=_SECONDS, help=_("Left out of the figures (three stays, at most a fifth).")),
        click.option("--warm-up-requests", type=Whole(0), default=0, help=_("Sent before, with other prompts.")),
        click.option("--timeout", type=_SECONDS, default=600.0, help=_("A request that takes longer failed (10min).")),
        click.option("--retries", type=Whole(0), default=0, help=_("Of failed requests (0).")),
        click.option("--max-in-flight", type=Whole(1), help=_("The rest waits here, and the wait counts.")),
        click.option("--new-connections", is_flag=True, help=_("One for each request.")),
        click.option("--processes", metavar="N|auto", default="auto", help=_("Client processes (auto).")),
        click.option("--header", multiple=True, metavar="NAME: VALUE", help=_("Repeatable; never shown or written.")),
        click.option("--insecure", is_flag=True, help=_("Do not look at the server's certificate.")),
        click.option("--ca", type=_FILE, metavar="FILE", help=_("Certificates to trust.")),
        click.option("--no-metrics", is_flag=True, help=_("Do not read the server's /metrics.")),
        click.option("--journal", type=Written(), metavar="FILE", help=_("Where results go as they come.")),
        click.option("--no-journal", is_flag=True, help=_("Nowhere: a run that dies is lost.")),
        click.option("--resume", type=_FILE, metavar="FILE", help=_("Complete the run of this journal.")),
    ]


def bench_options(function: Function) -> Function:
    """Add the flags; `function` gets them as one dict, `asked`."""
    flags = [*_load_flags(), *_prompt_flags(), *_client_flags()]
    probe = click.command()(_with(lambda: None, flags))
    names = [param.name for param in probe.params if param.name]

    @functools.wraps(function)
    def collect(**values: Any) -> Any:
        return function(asked={name: values.pop(name) for name in names}, **values)

    return _with(collect, flags)


def _with(function: Function, flags: list[Function]) -> Function:
    for flag in reversed(flags):
        function = flag(function)
    return function


def target(url: str, asked: dict[str, Any]) -> Target:
    from bide.bench.target import Tls, target_of

    return target_of(url, asked["endpoint"], asked["header"], Tls(not asked["insecure"], asked["ca"]))


def ask(asked: dict[str, Any]) -> Ask:
    """Everything but where to, and secrets. Raises BadInput."""
    from bide.bench.asking import Ask
    from bide.bench.client import Rules

    processes = asked["processes"]
    if processes != "auto" and not (processes.isascii() and processes.isdigit()):
        raise BadInput("processes", processes, _("a number, or auto"))
    return Ask(
        loads=loads(asked),
        prompt=asked["prompt"],
        answer=asked["answer"],
        model=asked["model"],
        workload=asked["workload"],
        scale=asked["scale"],
        follow_sessions=asked["follow_sessions"],
        shared_prefix_tokens=asked["shared_prefix"] or 0,
        tokenizer=asked["tokenizer"],
        text=str(asked["text"]) if asked["text"] else None,
        seed=asked["seed"],
        nonce=not asked["no_nonce"],
        exact=not asked["no_ignore_eos"],
        extra=_extra(asked["extra"]),
        rules=Rules(asked["timeout"], asked["retries"], not asked["new_connections"], asked["max_in_flight"]),
        warm_up_s=asked["warm_up"],
        warm_up_requests=asked["warm_up_requests"],
        processes=None if processes == "auto" else int(processes),
        scrape_s=0.0 if asked["no_metrics"] else 1.0,
        probe=not asked["no_probe"],
        slo=asked["slo"],
        precision=asked["precision"],
        limits_s=_limits(asked["goodput"]),
    )


def _extra(text: str | None) -> dict[str, Any]:
    import json

    try:
        found = json.loads(text, parse_constant=_no_constant) if text else {}
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadInput("extra", text, _('a JSON object such as {"temperature": 0}'))
    return found


def _no_constant(name: str) -> None:
    """NaN and the infinities are not JSON, whatever Python's parser takes. Raises ValueError."""
    raise ValueError(name)


def _limits(text: str | None) -> dict[str, float]:
    limits = {}
    for part in text.split(",") if text else ():
        name, equals, value = part.partition("=")
        if not equals or name.strip() not in LIMITED:
            raise BadInput("goodput", part, _("NAME=TIME with {names}").format(names=", ".join(LIMITED)))
        limits[name.strip()] = parse_seconds(value.strip(), "goodput")
    return limits
