"""`bide workload sample`: a synthetic trace after a recorded one, or from figures alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.options import Quantity, Whole, Written, json_option
from bide.cli.output import note, print_json, print_table, say
from bide.cli.workload_flags import reading_options
from bide.cli.workload_model_flags import choice_of, model_options, session_parts
from bide.errors import BadInput
from bide.i18n import _, ngettext
from bide.units import parse_seconds

if TYPE_CHECKING:
    from bide.workload.modelling.choosing import Choice
    from bide.workload.modelling.distributions import Distribution
    from bide.workload.modelling.model import Model
    from bide.workload.reading.asking import Ask
    from bide.workload.trace import Trace

_SECONDS = Quantity("seconds", parse_seconds)
_REQUESTS = 10_000
_MOST_REQUESTS = 100_000_000
_LONGEST_S = 366 * 86400.0
_OF_SESSIONS = ("turns", "added")
_DESCRIPTIONS = (".yaml", ".yml")


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
    type=Written(),
    metavar="FILE",
    help=_("The trace to write (.csv, .jsonl, .parquet; .gz packs it)."),
)
@click.option(
    "--to",
    "to_format",
    metavar="FORMAT",
    help=_("bide (the default), azure, burstgpt, mooncake, timed-trace, bailian, vidur."),
)
@click.option("--requests", type=Whole(1, _MOST_REQUESTS), help=_("How many (as many as recorded, or 10,000)."))
@click.option("--duration", type=_SECONDS, help=_("How long instead (90s, 2h, 1d)."))
@click.option("--seed", type=Whole(0), default=0, help=_("The same seed gives the same bytes (0)."))
@model_options
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
    if duration is not None and not 0 < duration <= _LONGEST_S:
        raise BadInput("duration", duration, _("more than nothing, and a year at most"))
    model, recorded = _model(sources, ask, chosen)
    trace = _drawn(model, requests or (len(recorded) if recorded else _REQUESTS), duration, seed)
    name = write(trace, output, to_format)
    note(_("wrote {path}").format(path=output))
    _tell(trace, recorded, {"file": str(output), "format": name, "requests": len(trace), "seed": seed}, as_json)


def _drawn(model: Model, requests: int, duration: float | None, seed: int) -> Trace:
    from bide.workload.modelling.model import ClosedLoop, sample, sample_for

    if duration is None:
        return sample(model, requests, seed)
    if not isinstance(model.arrivals, ClosedLoop) and model.arrivals.mean_rps * duration > _MOST_REQUESTS:
        raise BadInput("duration", duration, _("at most {most:,} requests").format(most=_MOST_REQUESTS))
    trace = sample_for(model, duration, seed)
    if not len(trace):
        raise BadInput("duration", duration, _("long enough for a request"))
    return trace


def _model(sources: Sequence[str], ask: Ask, chosen: dict[str, Any]) -> tuple[Model, Trace | None]:
    """The model, and the trace that it was made from where there is one."""
    from bide.workload.modelling.choosing import model_of
    from bide.workload.modelling.description import read_description
    from bide.workload.modelling.model import ClosedLoop
    from bide.workload.reading.reader import read

    if any(Path(source).suffix.lower() in _DESCRIPTIONS for source in sources):
        given = [name for name, value in chosen.items() if value not in (None, False, ())]
        if len(sources) > 1 or given:
            raise BadInput(
                "sources", list(sources), _("one workload file and no other flags of the model: it says all")
            )
        return read_description(Path(sources[0]), ask), None
    choice = choice_of(chosen)
    if sources and any(chosen[name] for name in _OF_SESSIONS):
        raise BadInput("turns", chosen["turns"], _("sessions from figures alone, without a trace"))
    if sources:
        trace = read(sources, ask, "source").trace
        return model_of(trace, choice), trace
    model = _from_figures(choice, session_parts(chosen))
    if chosen["think"] and not chosen["turns"] and not isinstance(model.arrivals, ClosedLoop):
        raise BadInput("think", chosen["think"], _("only with --turns or --users: requests alone have no pauses"))
    return model, None


def _from_figures(given: Choice, parts: dict[str, Distribution]) -> Model:
    """Independent requests, or sessions where `parts` has their turns."""
    from bide.sourced import Assumption, Source
    from bide.workload.modelling.choosing import arrivals_of, settled
    from bide.workload.modelling.description import grown
    from bide.workload.modelling.model import Model
    from bide.workload.modelling.pairs import Coupled

    choice, source = settled(given), Source(_("lengths as given"), kind="given")
    if choice.prompt is None or choice.output is None:
        raise BadInput("sources", None, _("a trace, a workload file, or --prompt and --answer"))
    if "turns" in parts:
        return grown({**parts, "first": choice.prompt, "output": choice.output}, choice, source)
    arrivals, assumptions = arrivals_of(None, choice)
    apart = Assumption(_("prompt and output lengths"), _("independent"), _("no correlation was given"))
    alone = () if choice.correlation is not None else (apart,)
    made = (*alone, *assumptions, *choice.prompt.assumptions, *choice.output.assumptions)
    pairs = Coupled(choice.prompt, choice.output, choice.correlation or 0.0)
    return Model(pairs, arrivals, source, choice.system_prompts, choice.block_tokens, made)


def _tell(trace: Trace, recorded: Trace | None, written: dict[str, Any], as_json: bool) -> None:
    from bide.workload.measuring.description import describe

    drawn = describe(trace)
    before = describe(recorded) if recorded else None
    if as_json:
        about = {"recorded": before.to_dict() if before else None, "drawn": drawn.to_dict()}
        print_json("workload.sample", {"written": written, "source": str(trace.source), **about})
        return
    from bide.report.words import assumption_line
    from bide.report.workload_text import comparison

    say(
        ngettext("{count:,} request, {source}", "{count:,} requests, {source}", len(trace)).format(
            count=len(trace), source=trace.source.text
        )
    )
    click.echo()
    print_table(*comparison(before, drawn))
    click.echo()
    assumed = (_("Assumed: {assumption}").format(assumption=assumption_line(each)) for each in trace.assumptions)
    for line in (*trace.notes, *assumed):
        say(line, hang=2)
