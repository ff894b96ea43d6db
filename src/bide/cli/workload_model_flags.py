"""The flags by which `bide workload sample` is told how to model lengths, arrivals and sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from bide.cli.options import TOKENS, Number, Quantity, Whole
from bide.errors import BadInput
from bide.i18n import _
from bide.units import parse_seconds, parse_tokens

if TYPE_CHECKING:
    from bide.workload.modelling.choosing import Choice
    from bide.workload.modelling.distributions import Distribution
    from bide.workload.modelling.sessions import Pace

Function = Callable[..., Any]
_SECONDS = Quantity("seconds", parse_seconds)
_LIMITS = {
    "rps": (1e-9, 1e9),
    "burstiness": (1e-3, 1e6),
    "peak_to_mean": (1, 12),
    "users": (1, 10**7),
    "variation": (0, 5),
    "persistence": (0, 0.99),
    "correlation": (-1, 1),
}
_FIGURES = {"prompt": ("prompt", parse_tokens), "output": ("answer", parse_tokens), "think": ("think", parse_seconds)}


def model_options(function: Function) -> Function:
    """Add the flags; `function` gets them by their names."""
    for flag in reversed([*_length_flags(), *_arrival_flags(), *_shared_flags()]):
        function = flag(function)
    return function


def _length_flags() -> list[Function]:
    kinds = _("pairs (recorded ones, the default), quantiles, lognormal, mixture.")
    figures = _("Prompts instead: 900, p50=900,p95=3800, normal:mean=900,sd=99.")
    return [
        click.option("--lengths", metavar="KIND", help=kinds),
        click.option("--prompt", metavar="FIGURES", help=figures),
        click.option("--answer", metavar="FIGURES", help=_("Answers instead, likewise.")),
        click.option("--correlation", type=Number(), help=_("Rank correlation of the two (as recorded, or 0).")),
        click.option("--turns", metavar="FIGURES", help=_("Requests of a session; --prompt is then its first prompt.")),
        click.option("--added", metavar="FIGURES", help=_("What a user adds each turn to what was said before (1).")),
        click.option("--no-sessions", is_flag=True, help=_("Requests one by one, even where sessions are recorded.")),
    ]


def _arrival_flags() -> list[Function]:
    kinds = _("rates (recorded, the default), replay, poisson, gamma, wandering, constant, diurnal, closed.")
    return [
        click.option("--arrivals", metavar="KIND", help=kinds),
        click.option("--rps", type=Number(), help=_("Mean rate (as recorded).")),
        click.option("--window", type=_SECONDS, help=_("Width in which rates are measured or given (10s).")),
        click.option("--rates", metavar="RPS,RPS,...", help=_("Rates: one window after another, and again.")),
        click.option("--burstiness", type=Number(), help=_("Gamma: shape, as in vLLM: 1 is Poisson, less has bursts.")),
        click.option("--variation", type=Number(), help=_("Wandering: coefficient of variation of the rate.")),
        click.option("--persistence", type=Number(), help=_("Wandering: correlation from window to window (0).")),
        click.option(
            "--peak-to-mean", type=Number(), help=_("Diurnal: height of the hump at 14:00 over the mean (1.5).")
        ),
        click.option("--users", type=Whole(), help=_("Closed loop: how many.")),
        click.option("--think", metavar="FIGURES", help=_("Pause of a user or a session (10s, p50=5s,p95=60s).")),
        click.option("--first-token", type=_SECONDS, help=_("Closed loop, sessions: time to the first token (500ms).")),
        click.option("--per-token", type=_SECONDS, help=_("Closed loop, sessions: time of each further token (20ms).")),
    ]


def _shared_flags() -> list[Function]:
    prompt = _("Beginning shared by a share of all. Repeatable.")
    return [
        click.option("--system-prompt", multiple=True, metavar="TOKENS[:SHARE]", help=prompt),
        click.option("--block-tokens", type=TOKENS, help=_("Tokens of a block in which sharing is written (16).")),
    ]


def choice_of(chosen: dict[str, Any]) -> Choice:
    """The flags as a choice; what was not given stays as it is there. Raises BadInput naming the flag."""
    from bide.workload.modelling.choosing import Choice
    from bide.workload.modelling.description import window_of

    given = {**_numbers(chosen), **_distributions(chosen)}
    same = ("lengths", "arrivals", "block_tokens")
    given |= {name: chosen[name] for name in same if chosen[name] is not None}
    if chosen["window"] is not None:
        given["window_s"] = window_of(chosen["window"], "window")
    if chosen["rates"] is not None:
        given["rates"] = _rates(chosen["rates"])
    shared = tuple(_system_prompt(text) for text in chosen["system_prompt"])
    return Choice(**given, pace=_pace(chosen), system_prompts=shared, by_session=not chosen["no_sessions"])


def session_parts(chosen: dict[str, Any]) -> dict[str, Distribution]:
    """Turns, additions and pauses of sessions, where they were given."""
    from bide.workload.modelling.description import parse_text

    if chosen["added"] and not chosen["turns"]:
        raise BadInput("added", chosen["added"], _("nothing without --turns: requests alone have no turns"))
    parses = {"turns": parse_tokens, "added": parse_tokens, "think": parse_seconds}
    return {name: parse_text(chosen[name], name, parse) for name, parse in parses.items() if chosen[name]}


def _numbers(chosen: dict[str, Any]) -> dict[str, Any]:
    from bide.workload.modelling.description import number

    return {
        name: type(chosen[name])(number(chosen[name], name, *limit))
        for name, limit in _LIMITS.items()
        if chosen[name] is not None
    }


def _distributions(chosen: dict[str, Any]) -> dict[str, Any]:
    from bide.workload.modelling.description import parse_text

    return {key: parse_text(chosen[flag], flag, parse) for key, (flag, parse) in _FIGURES.items() if chosen[flag]}


def _rates(text: str) -> tuple[float, ...]:
    from bide.workload.modelling.description import rates_of

    try:
        return rates_of([float(part) for part in text.split(",")], "rates")
    except ValueError as error:
        raise BadInput("rates", text, _("rates in requests a second, such as 2,8,5")) from error


def _pace(chosen: dict[str, Any]) -> Pace:
    from bide.workload.modelling.sessions import PACE, Pace

    first, each = chosen["first_token"], chosen["per_token"]
    return Pace(PACE.first_s if first is None else first, PACE.token_s if each is None else each)


def _system_prompt(text: str) -> Any:
    from bide.workload.modelling.description import number
    from bide.workload.modelling.shared import SystemPrompt

    tokens, colon, share = text.partition(":")
    try:
        part = float(share) if colon else 1.0
    except ValueError as error:
        raise BadInput("system_prompt", text, _("TOKENS or TOKENS:SHARE, such as 2000:0.8")) from error
    return SystemPrompt(parse_tokens(tokens, "system_prompt"), number(part, "system_prompt", 0, 1))
