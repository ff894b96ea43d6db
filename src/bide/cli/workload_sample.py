"""`bide workload sample`: a synthetic trace after a recorded one, or from figures alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.options import TOKENS, Quantity, json_option
from bide.cli.output import note, print_json, print_table, say
from bide.cli.workload_flags import reading_options
from bide.errors import BadInput
from bide.i18n import _
from bide.units import parse_seconds, parse_tokens

if TYPE_CHECKING:
    from bide.workload.modelling.choosing import Choice
    from bide.workload.modelling.model import Model
    from bide.workload.reading.asking import Ask
    from bide.workload.trace import Trace

_SECONDS = Quantity("seconds", parse_seconds)
_REQUESTS = 10_000
_MOST_REQUESTS = 100_000_000
_DESCRIPTIONS = (".yaml", ".yml")
_OUTPUT = click.Path(path_type=Path, dir_okay=False)


@click.command(
    "sample",
    help=_(
        "Draw a trace after SOURCES (traces or logs), after one workload file (.yaml), or from --prompt and --answer."
    ),
)
@partial(reading_options, required=False)
@click.option(
    "-o",
    "--output",
    required=True,
    type=_OUTPUT,
    metavar="FILE",
    help=_("The trace to write (.csv, .jsonl, .parquet; .gz packs it)."),
)
@click.option(
    "--to",
    "to_format",
    metavar="FORMAT",
    help=_("bide (the default), azure, burstgpt, mooncake, timed-trace, bailian, vidur."),
)
@click.option(
    "--requests", type=click.IntRange(1, _MOST_REQUESTS), help=_("How many (as many as recorded, or 10,000).")
)
@click.option("--duration", type=_SECONDS, help=_("How long instead (90s, 2h, 1d)."))
@click.option("--seed", type=click.IntRange(0), default=0, help=_("The same seed gives the same bytes (0)."))
@click.option("--lengths", metavar="KIND", help=_("pairs (recorded ones, the default), quantiles, lognormal, mixture."))
@click.option("--prompt", metavar="FIGURES", help=_("Prompts instead: 900, p50=900,p95=3800, normal:mean=900,sd=99."))
@click.option("--answer", metavar="FIGURES", help=_("Answers instead, likewise."))
@click.option("--no-sessions", is_flag=True, help=_("Draw requests one by one, even where sessions are recorded."))
@click.option(
    "--arrivals",
    metavar="KIND",
    help=_("rates (recorded, the default), replay, poisson, gamma, wandering, constant, diurnal, closed."),
)
@click.option("--rps", type=float, help=_("Mean rate (as recorded)."))
@click.option("--window", type=_SECONDS, help=_("Width in which rates are measured (10s)."))
@click.option("--burstiness", type=float, help=_("Shape of gamma gaps, as in vLLM: 1 is Poisson, less has bursts."))
@click.option("--peak-to-mean", type=float, help=_("Diurnal: the height of the hump at 14:00 over the mean (1.5)."))
@click.option("--users", type=int, help=_("Closed loop: how many."))
@click.option("--think", metavar="FIGURES", help=_("Closed loop: the pause (10s, p50=5s,p95=60s)."))
@click.option(
    "--system-prompt",
    multiple=True,
    metavar="TOKENS[:SHARE]",
    help=_("Beginning shared by a share of all. Repeatable."),
)
@click.option("--block-tokens", type=TOKENS, help=_("Tokens of a block in which sharing is written (16)."))
@json_option
def command(
    sources: Sequence[str],
    ask: Ask,
    output: Path,
    to_format: str | None,
    requests: int | None,
    duration: float | None,
    seed: int,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Draw, write, and show the drawn beside the recorded."""
    from bide.workload.writing import write

    if requests is not None and duration is not None:
        raise BadInput("duration", duration, _("either --requests or --duration"))
    model, recorded = _model(sources, ask, chosen)
    trace = _drawn(model, requests or (len(recorded) if recorded else _REQUESTS), duration, seed)
    name = write(trace, output, to_format)
    note(_("wrote {path}").format(path=output))
    _tell(trace, recorded, {"file": str(output), "format": name, "requests": len(trace), "seed": seed}, as_json)


def _drawn(model: Model, requests: int, duration: float | None, seed: int) -> Trace:
    from bide.workload.modelling.model import sample, sample_for

    if duration is None:
        return sample(model, requests, seed)
    trace = sample_for(model, duration, seed)
    if not len(trace):
        raise BadInput("duration", duration, _("long enough for a request"))
    return trace


def _model(sources: Sequence[str], ask: Ask, chosen: dict[str, Any]) -> tuple[Model, Trace | None]:
    """The model, and the trace that it was made from where there is one."""
    from bide.workload.modelling.choosing import model_of
    from bide.workload.modelling.description import read_description
    from bide.workload.reading.reader import read

    if any(Path(source).suffix.lower() in _DESCRIPTIONS for source in sources):
        given = [name for name, value in chosen.items() if value not in (None, False, ())]
        if len(sources) > 1 or given:
            raise BadInput(
                "sources", list(sources), _("one workload file and no other flags of the model: it says all")
            )
        return read_description(Path(sources[0]), ask), None
    choice = _choice(chosen)
    if sources:
        trace = read(sources, ask, "source").trace
        return model_of(trace, choice), trace
    return _from_figures(choice), None


def _from_figures(choice: Choice) -> Model:
    from bide.sourced import Assumption, Source
    from bide.workload.modelling.choosing import arrivals_of, check
    from bide.workload.modelling.model import Model
    from bide.workload.modelling.pairs import Coupled

    if choice.prompt is None or choice.output is None:
        raise BadInput("sources", None, _("a trace, a workload file, or --prompt and --answer"))
    check(choice)
    arrivals, assumptions = arrivals_of(None, choice)
    apart = Assumption(_("prompt and output lengths"), _("independent"), _("no correlation was given"))
    made = (apart, *assumptions, *choice.prompt.assumptions, *choice.output.assumptions)
    source = Source(_("lengths as given"), kind="given")
    return Model(
        Coupled(choice.prompt, choice.output), arrivals, source, choice.system_prompts, choice.block_tokens, made
    )


def _choice(chosen: dict[str, Any]) -> Choice:
    """The flags as a choice; what was not given stays as it is there."""
    from bide.workload.modelling.choosing import Choice

    given = {**_numbers(chosen), **_figures(chosen)}
    same = {"lengths": "lengths", "arrivals": "arrivals", "block_tokens": "block_tokens", "window": "window_s"}
    given |= {name: chosen[flag] for flag, name in same.items() if chosen[flag] is not None}
    shared = tuple(_system_prompt(text) for text in chosen["system_prompt"])
    return Choice(**given, system_prompts=shared, by_session=not chosen["no_sessions"])


def _numbers(chosen: dict[str, Any]) -> dict[str, Any]:
    from bide.workload.modelling.description import number

    limits = {"rps": (1e-9, 1e9), "burstiness": (1e-3, 1e6), "peak_to_mean": (1, 12), "users": (1, 10**7)}
    return {
        name: type(chosen[name])(number(chosen[name], name, *limit))
        for name, limit in limits.items()
        if chosen[name] is not None
    }


def _figures(chosen: dict[str, Any]) -> dict[str, Any]:
    from bide.workload.modelling.description import parse_text

    texts = {"prompt": ("prompt", parse_tokens), "output": ("answer", parse_tokens), "think": ("think", parse_seconds)}
    return {key: parse_text(chosen[flag], flag, parse) for key, (flag, parse) in texts.items() if chosen[flag]}


def _system_prompt(text: str) -> Any:
    from bide.workload.modelling.description import number
    from bide.workload.modelling.shared import SystemPrompt

    tokens, colon, share = text.partition(":")
    try:
        part = float(share) if colon else 1.0
    except ValueError as error:
        raise BadInput("system_prompt", text, _("TOKENS or TOKENS:SHARE, such as 2000:0.8")) from error
    return SystemPrompt(parse_tokens(tokens, "system_prompt"), number(part, "system_prompt", 0, 1))


def _tell(trace: Trace, recorded: Trace | None, written: dict[str, Any], as_json: bool) -> None:
    from bide.workload.measuring.description import describe

    drawn = describe(trace)
    before = describe(recorded) if recorded else None
    if as_json:
        about = {"recorded": before.to_dict() if before else None, "drawn": drawn.to_dict()}
        print_json("workload.sample", {"written": written, "source": str(trace.source), **about})
        return
    from bide.report.workload_text import comparison

    say(_("{count:,} requests, {source}").format(count=len(trace), source=trace.source.text))
    click.echo()
    print_table(*comparison(before, drawn))
    click.echo()
    for line in (*trace.notes, *(_("Assumed: {assumption}").format(assumption=a) for a in trace.assumptions)):
        say(line, hang=2)
