"""`bide simulate`: a workload through a fleet, step for step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.collecting import few_collections
from bide.cli.options import (
    POSITIVE,
    Quantity,
    Whole,
    deployment_options,
    json_option,
    outputs_option,
    profile_option,
    with_model,
)
from bide.cli.output import json_text, print_json, print_table, say, say_facts, write_output, writing
from bide.errors import BadInput
from bide.i18n import _
from bide.units import parse_bytes, parse_seconds

if TYPE_CHECKING:
    from bide.simulate.fleet.rules import At, FleetRules
    from bide.simulate.simulation import Simulation, Ways

_SECONDS = Quantity("seconds", parse_seconds)
_RATE = Quantity("bytes/s", lambda text, field: parse_bytes(str(text).removesuffix("/s"), field))
_TABLES = (".parquet", ".csv", ".jsonl")
_REPORTS = (".html", ".md", ".json", ".png", ".svg")
_ROUTERS = ("round-robin", "random", "least-requests", "least-kv", "prefix", "two-choices")


@click.command(
    help=with_model(_("A workload through a fleet, as the engine's scheduler decides each step; percentiles, goodput."))
)
@click.argument("model")
@deployment_options
@click.option(
    "--workload",
    required=True,
    metavar="FILE",
    help=_("A trace or log (as `bide workload` reads), or a workload file (.yaml)."),
)
@click.option("--rate", type=POSITIVE, help=_("Mean requests a second instead of recorded."))
@click.option("--scale", type=POSITIVE, help=_("So many times as fast as recorded."))
@click.option("--requests", type=Whole(1, 100_000_000), help=_("How many; the trace is repeated where short."))
@click.option("--replicas", type=Whole(), default=1, help=_("Replicas behind the router (1)."))
@click.option("--router", metavar="NAME", default="round-robin", help=_("One of {r}.").format(r=", ".join(_ROUTERS)))
@click.option("--prefill-replicas", type=Whole(), default=0, help=_("Replicas that only compute prompts."))
@click.option("--decode-replicas", type=Whole(), default=0, help=_("Replicas that only answer, with those."))
@click.option("--decode-router", metavar="NAME", help=_("Who of them gets a request (as --router)."))
@click.option("--link-bandwidth", type=_RATE, help=_("Of each GPU between them, such as 50GB/s (catalogue)."))
@click.option("--link-latency", type=_SECONDS, help=_("Of a transfer between them (1ms)."))
@click.option("--concurrency", type=Whole(), help=_("So many users that wait for their answers, instead of a rate."))
@click.option("--think-time", type=_SECONDS, default=0.0, help=_("Between an answer and a user's next request (0s)."))
@click.option("--max-tokens", type=Whole(1), help=_("What clients ask for; TensorRT-LLM sets it aside."))
@click.option("--mixed-chunk", is_flag=True, help=_("SGLang's --enable-mixed-chunk."))
@click.option(
    "--start", multiple=True, metavar="REPLICA@TIME", help=_("Start a replica (from 0) only then. Repeatable.")
)
@click.option("--fail", multiple=True, metavar="REPLICA@TIME", help=_("A replica fails, and starts anew. Repeatable."))
@click.option("--start-up", type=_SECONDS, default=0.0, help=_("From starting a replica to its first request (0s)."))
@click.option("--patience", type=_SECONDS, help=_("Clients leave without a first token by then."))
@click.option("--timeout", type=_SECONDS, help=_("Clients give up without the whole answer by then."))
@click.option("--retries", type=Whole(), default=0, help=_("Times that a client sends a request again (0)."))
@click.option("--backoff", type=_SECONDS, default=1.0, help=_("Pause before the first of them, then doubled (1s)."))
@click.option("--queue-limit", type=Whole(), help=_("The router refuses beyond so many waiting requests of an engine."))
@click.option("--slo", metavar="NAME=TIME[,..]", help=_("Limits of good requests: ttft=1s,tpot=50ms,e2e=30s."))
@click.option("--warm-up", type=_SECONDS, help=_("Left out of the figures (three mean stays, at most a fifth)."))
@click.option("--seed", type=Whole(0), default=0, help=_("Of random routers and drawn workloads (0)."))
@click.option("--no-step-error", is_flag=True, help=_("Do not run again with faster and slower steps."))
@click.option("--steps", type=click.Choice(["roofline", "kernels"]), default="roofline", help=_("As for `bide curve`."))
@profile_option
@json_option
@outputs_option(_TABLES, _REPORTS)
def command(
    model: str, deployment: dict[str, Any], workload: str, as_json: bool, output: Sequence[Path], **asked: Any
) -> None:
    """Run, print the figures, and write what was asked for."""
    with few_collections():
        made = _run({"model": model, **deployment}, workload, _rules(asked), _ways(asked))
    if as_json:
        print_json("simulate", made.to_dict())
    else:
        _print(made)
    for path in output:
        _write(made, path)


def _run(raw: dict[str, Any], workload: str, rules: FleetRules, ways: Ways) -> Simulation:
    from bide.facts.layout import timed_deployment
    from bide.simulate.simulation import simulate_workload

    deployment = timed_deployment(raw)
    progress = _Progress()
    try:
        return simulate_workload(deployment, workload, rules, ways, progress)
    finally:
        progress.clear()


class _Progress:
    """A line on stderr where that is a terminal, and the run takes long."""

    def __init__(self) -> None:
        import time

        self._clock, self._begun, self._shown = time.monotonic, time.monotonic(), False

    def __call__(self, share: float) -> None:
        spent_s = self._clock() - self._begun
        if sys.stderr.isatty() and spent_s > 1.0:
            left_s = spent_s / share - spent_s if share > 0 else 0.0
            text = _("simulating: {share:.0%}, {left:.0f} s left").format(share=share, left=left_s)
            click.echo(f"\r{text:40}", err=True, nl=False)
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            click.echo("\r" + " " * 40 + "\r", err=True, nl=False)


def _rules(asked: dict[str, Any]) -> FleetRules:
    from bide.simulate.fleet.rules import FleetRules

    return FleetRules(
        replicas=asked["replicas"],
        router=asked["router"],
        prefill_replicas=asked["prefill_replicas"],
        decode_replicas=asked["decode_replicas"],
        decode_router=asked["decode_router"],
        link_bytes_per_s=asked["link_bandwidth"],
        link_latency_s=asked["link_latency"],
        users=asked["concurrency"],
        think_s=asked["think_time"],
        starts=tuple(_at("start", text) for text in asked["start"]),
        failures=tuple(_at("fail", text) for text in asked["fail"]),
        start_up_s=asked["start_up"],
        patience_s=asked["patience"],
        timeout_s=asked["timeout"],
        retries=asked["retries"],
        backoff_s=asked["backoff"],
        queue_limit=asked["queue_limit"],
        seed=asked["seed"],
    )


def _at(field: str, text: str) -> At:
    from bide.simulate.fleet.rules import At

    replica, sign, time = text.partition("@")
    if not sign or not replica.strip().isdecimal():
        raise BadInput(field, text, _("REPLICA@TIME, such as 0@10min; replicas are counted from 0"))
    return At(int(replica), parse_seconds(time, field))


def _ways(asked: dict[str, Any]) -> Ways:
    from bide.simulate.simulation import Ways

    return Ways(
        rate=asked["rate"],
        scale=asked["scale"],
        requests=asked["requests"],
        slo=_slo(asked["slo"]),
        warm_up_s=asked["warm_up"],
        steps=asked["steps"],
        profile=asked["profile"],
        step_error=not asked["no_step_error"],
        max_tokens=asked["max_tokens"],
        mixed_chunk=asked["mixed_chunk"],
    )


def _slo(text: str | None) -> dict[str, float]:
    limits: dict[str, float] = {}
    for part in text.split(",") if text is not None else ():
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name in limits:
            raise BadInput("slo", part, _("NAME=TIME once for each name, such as ttft=1s"))
        limits[name] = parse_seconds(value, "slo")
    return limits


def _print(made: Simulation) -> None:
    from bide.report import simulate_text as words

    for text in words.sentences(made):
        say(text)
    click.echo()
    print_table(*words.latency_table(made.summary))
    click.echo()
    say_facts(words.facts(made))
    click.echo()
    for line in words.endnotes(made):
        say(line, hang=2)


def _write(made: Simulation, path: Path) -> None:
    """A table of requests goes to its file as it is made; reports are made whole."""
    from bide.report import simulate_files as files

    if path.suffix.lower() in _TABLES:
        with writing(path):
            files.write_requests(made, path)
        return
    from bide.report import simulate_page as page

    writers: dict[str, Callable[[], str | bytes]] = {
        ".html": lambda: page.simulate_page(made),
        ".md": lambda: files.simulate_markdown(made),
        ".json": lambda: json_text("simulate", made.to_dict()) + "\n",
        ".png": lambda: page.simulate_png(made),
        ".svg": lambda: page.simulate_svg(made),
    }
    write_output(path, writers)
