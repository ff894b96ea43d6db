"""`bide workload observe`: the traffic that a Prometheus has recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.options import TOKENS, json_option, output_option
from bide.cli.output import json_text, note, print_json, print_table, say, say_facts, write_output
from bide.errors import BadInput
from bide.i18n import _
from bide.units import parse_seconds

if TYPE_CHECKING:
    from bide.workload.observing.asking import Connection, Looking
    from bide.workload.observing.observation import Observation

_SUFFIXES = (".yaml", ".yml", ".html", ".md", ".json", ".csv", ".png", ".svg")
_LONGEST_WINDOW_S = 366 * 86400.0
_LEAST_WINDOW_S = 1.0
_TOKEN_ENV = "BIDE_PROMETHEUS_TOKEN"


@click.command("observe", help=_("Lengths, rates and latencies from a Prometheus that scrapes vLLM or SGLang."))
@click.option("--prometheus", required=True, metavar="URL", help=_("Address, such as http://prometheus:9090."))
@click.option("--window", default="7d", metavar="TIME", help=_("How far to look back (7d by default)."))
@click.option("--until", metavar="WHEN", help=_("End of the window, such as 2026-11-29T12:00; now by default. UTC."))
@click.option("--model", metavar="NAME", help=_("Model, as the servers call it, where there are several."))
@click.option("--engine", metavar="vllm|sglang", help=_("Engine, where there are several."))
@click.option("--label", multiple=True, metavar="NAME=VALUE", help=_("Only series with this label. Repeatable."))
@click.option("--step", metavar="TIME", help=_("Step of rates and gauges; 1min, or four scrapes if longer."))
@click.option("--max-model-len", type=TOKENS, help=_("Longest context of the servers: no length is beyond it."))
@click.option("--header", multiple=True, metavar="'NAME: VALUE'", help=_("Header to send. Repeatable."))
@click.option(
    "--token-env",
    default=_TOKEN_ENV,
    metavar="VARIABLE",
    help=_("Variable that holds a bearer token ({name}).").format(name=_TOKEN_ENV),
)
@click.option(
    "--ca-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=_("Certificates to trust (PEM)."),
)
@click.option("--timeout", default="30s", metavar="TIME", help=_("Longest wait for one answer (30s by default)."))
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help=_("GPU for the service file. Repeatable."))
@json_option
@output_option(*_SUFFIXES)
def command(as_json: bool, output: Path | None, gpus: Sequence[str], **given: Any) -> None:
    """Print what was seen, and write it: as .yaml, a service file for `bide plan`."""
    known = _known_gpus(gpus)
    seen = _seen(_connection(given), _looking(given))
    if as_json:
        print_json("workload.observe", seen.to_dict())
    else:
        _print(seen)
    if output:
        write_output(output, _writers(seen, known))
        if output.suffix.lower() in _SUFFIXES[:2] and not known:
            note(_("it names no GPUs yet: add hardware, or give --gpu, before bide plan"))


def _known_gpus(gpus: Sequence[str]) -> list[str]:
    from bide.facts.gpus import find_gpu

    return list(dict.fromkeys(find_gpu(gpu, "gpu").id for gpu in gpus))


def _seen(connection: Connection, looking: Looking) -> Observation:
    from bide.workload.observing.api import connect
    from bide.workload.observing.observe import observe

    with connect(connection) as prometheus:
        return observe(prometheus, looking)


def _connection(given: dict[str, Any]) -> Connection:
    from bide.workload.observing.asking import Connection

    variable = given["token_env"]
    token = os.environ.get(variable, "").strip()
    if not token and variable != _TOKEN_ENV:
        raise BadInput("token-env", variable, _("a variable that holds a token"), _("it is not set"))
    timeout_s = _time(given["timeout"], "timeout", 0.01, 3600.0)
    return Connection(given["prometheus"], token, _headers(given["header"]), variable, given["ca_file"], timeout_s)


def _looking(given: dict[str, Any]) -> Looking:
    from bide.workload.observing.asking import Looking

    return Looking(
        window_s=_time(given["window"], "window", _LEAST_WINDOW_S, _LONGEST_WINDOW_S),
        until_s=_until(given["until"]),
        model=given["model"],
        engine=given["engine"],
        labels=_labels(given["label"]),
        step_s=_time(given["step"], "step", 1e-3, _LONGEST_WINDOW_S) if given["step"] else None,
        max_model_len=given["max_model_len"],
    )


def _time(text: str, field: str, least_s: float, most_s: float) -> float:
    """A span in seconds, to the millisecond."""
    span_s = round(parse_seconds(text, field), 3)
    if not least_s <= span_s <= most_s:
        allowed = _("a time from {least:g} s to {most:,.0f} s").format(least=least_s, most=most_s)
        raise BadInput(field, text, allowed)
    return span_s


def _until(text: str | None) -> float:
    """Seconds since 1970; a time without a zone is UTC."""
    import time
    from datetime import UTC, datetime

    if text is None:
        return time.time()
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise BadInput("until", text, _("a date and time such as 2026-11-29T12:00")) from error


def _headers(texts: Sequence[str]) -> dict[str, str]:
    """Headers by name. An error shows no more than the name: what follows may be a secret."""
    import re

    headers: dict[str, str] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name.strip()):
            raise BadInput("header", "***", _("'NAME: VALUE'"))
        headers[name.strip()] = value.strip()
    return headers


def _labels(texts: Sequence[str]) -> dict[str, str]:
    import re

    labels: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise BadInput("label", text, _("NAME=VALUE, such as namespace=prod"))
        labels[name] = value
    return labels


def _writers(seen: Observation, gpus: Sequence[str]) -> dict[str, Callable[[], str | bytes]]:
    from bide.report import observe_files as files
    from bide.report.observe_page import observe_page, observe_png, observe_svg

    made: tuple[Callable[[], str | bytes], ...] = (
        lambda: files.observe_yaml(seen, gpus),
        lambda: files.observe_yaml(seen, gpus),
        lambda: observe_page(seen),
        lambda: files.observe_markdown(seen),
        lambda: json_text("workload.observe", seen.to_dict()) + "\n",
        lambda: files.observe_csv(seen),
        lambda: observe_png(seen),
        lambda: observe_svg(seen),
    )
    return dict(zip(_SUFFIXES, made, strict=True))


def _print(seen: Observation) -> None:
    from bide.report import observe_text as words

    say(words.sentence(seen))
    for table in (words.length_table(seen), words.latency_table(seen)):
        if table[1]:
            click.echo()
            print_table(*table)
    click.echo()
    say_facts(words.facts(seen), least=13)
    click.echo()
    for line in words.endnotes(seen):
        say(f"- {line}", hang=2)
