"""A workload described in a file: lengths, arrivals, sessions, shared prompts; after a trace or from figures alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bide.errors import BadInput, check_keys
from bide.i18n import _
from bide.located import read_yaml
from bide.sourced import Assumption, Source
from bide.units import parse_seconds, parse_tokens
from bide.workload.lengths import Parse, parse_lengths
from bide.workload.modelling.choosing import THINK, Choice, arrivals_of, model_of, settled
from bide.workload.modelling.distributions import Distribution, Fixed
from bide.workload.modelling.model import ClosedLoop, Model
from bide.workload.modelling.pairs import Coupled
from bide.workload.modelling.sessions import MOST_TURNS, PACE, Growing, Pace
from bide.workload.modelling.shared import SystemPrompt
from bide.workload.reading.asking import Ask
from bide.workload.reading.reader import read

_KEYS = ("trace", "lengths", "arrivals", "sessions", "system_prompts", "block_tokens", "source")
_ARRIVALS = (
    "kind",
    "rps",
    "window",
    "burstiness",
    "peak_to_mean",
    "hours",
    "rates",
    "variation",
    "persistence",
    "users",
    "think",
    "first_token",
    "per_token",
)
_SESSIONS = ("turns", "first", "added", "output", "think", "max_context_tokens")
_PLACES = {**{key: f"arrivals.{key}" for key in _ARRIVALS}, "system_prompt": "system_prompts"}
"""Where a workload file has what errors name shortly."""
_MOST_RATES = 1_000_000
_MAX_CONTEXT_TOKENS = 131_072
_ALMOST_NOTHING = 1e-6
"""A least value that only keeps what follows finite."""


def read_description(path: Path, ask: Ask | None = None) -> Model:
    """The model in a YAML or JSON file. Raises BadInput naming the key and its line."""
    located = read_yaml(path, "workload")
    if not isinstance(located.value, dict):
        raise BadInput("workload", str(path), _("a mapping with lengths, a trace or sessions"))
    return located.within(lambda: model_from(located.plain(), path.parent, path.name, ask))


def model_from(given: Mapping[str, Any], folder: Path, name: str, ask: Ask | None = None) -> Model:
    """The model that a mapping describes; a trace's path is relative to `folder`. Raises BadInput naming the key."""
    try:
        return _model(given, folder, name, ask)
    except BadInput as error:
        if error.field not in _PLACES:
            raise
        raise BadInput(_PLACES[error.field], error.given, error.allowed, error.hint) from error


def _model(given: Mapping[str, Any], folder: Path, name: str, ask: Ask | None) -> Model:
    check_keys(given, _KEYS, "")
    kind, choice = _kind(given), _choice(given)
    if kind == "trace":
        reading = read([folder / str(given["trace"])], ask, "trace")
        return model_of(reading.trace, choice)
    source = Source(str(given.get("source", _("described in {name}").format(name=name))), kind="given")
    choice = settled(choice)
    if kind == "sessions":
        return _grown(given["sessions"], choice, source)
    pairs = _pairs(given["lengths"])
    arrivals, assumptions = arrivals_of(None, choice)
    apart = Assumption(_("prompt and output lengths"), _("independent"), _("no correlation was given"))
    made = (*assumptions, *pairs.prompt.assumptions, *pairs.output.assumptions)
    every = made if "correlation" in given["lengths"] else (apart, *made)
    return Model(pairs, arrivals, source, choice.system_prompts, choice.block_tokens, every)


def _kind(given: Mapping[str, Any]) -> str:
    """What a file describes. Beside a trace, `lengths` may say how they are modelled, and `sessions: false`."""
    kinds = [key for key in ("trace", "lengths", "sessions") if key in given]
    models_trace = isinstance(given.get("lengths", ""), str) and given.get("sessions", False) is False
    if len(kinds) != 1 and not (kinds[:1] == ["trace"] and models_trace):
        raise BadInput("workload", kinds or None, _("one of trace, lengths and sessions"))
    return kinds[0]


def _pairs(given: object) -> Coupled:
    if not isinstance(given, Mapping):
        raise BadInput("lengths", given, _("a mapping with prompt and output"))
    check_keys(given, ("prompt", "output", "correlation"), "lengths")
    for key in ("prompt", "output"):
        if key not in given:
            raise BadInput(f"lengths.{key}", None, _("lengths: a number, percentiles, or a shape"))
    rho = number(given.get("correlation", 0.0), "lengths.correlation", -1, 1)
    prompt, output = (parse_lengths(given[key], f"lengths.{key}") for key in ("prompt", "output"))
    return Coupled(prompt, output, rho)


def _choice(given: Mapping[str, Any]) -> Choice:
    content = given.get("arrivals", {})
    if not isinstance(content, Mapping):
        raise BadInput("arrivals", content, _("a mapping with kind and rps"))
    check_keys(content, _ARRIVALS, "arrivals")
    at = {key: f"arrivals.{key}" for key in _ARRIVALS}
    lengths = given.get("lengths")
    choice = Choice(
        lengths=lengths if isinstance(lengths, str) else "pairs",
        by_session="sessions" not in given,
        arrivals=str(content["kind"]) if "kind" in content else None,
        rps=number(content["rps"], at["rps"], 1e-9, 1e9) if "rps" in content else None,
        burstiness=number(content["burstiness"], at["burstiness"], 1e-3, 1e6) if "burstiness" in content else None,
        peak_to_mean=number(content["peak_to_mean"], at["peak_to_mean"], 1, 12) if "peak_to_mean" in content else None,
        hours=_hours(content.get("hours", ())),
        rates=rates_of(content["rates"], at["rates"]) if "rates" in content else (),
        variation=number(content["variation"], at["variation"], 0, 5) if "variation" in content else None,
        persistence=number(content.get("persistence", 0.0), at["persistence"], 0, 0.99),
        users=_users(content["users"], at["users"]) if "users" in content else None,
        think=parse_lengths(content["think"], at["think"], parse_seconds) if "think" in content else None,
        pace=_pace(content),
        system_prompts=_system(given.get("system_prompts", ())),
    )
    if "window" in content:
        choice = replace(choice, window_s=window_of(parse_seconds(content["window"], at["window"]), at["window"]))
    return replace(choice, block_tokens=parse_tokens(given.get("block_tokens", choice.block_tokens), "block_tokens"))


def _users(given: object, field: str) -> int:
    if number(given, field, 1, 10**7) % 1:
        raise BadInput(field, given, _("a whole number of users"))
    return int(given)  # type: ignore[call-overload,no-any-return]  # a number: checked above


def window_of(window_s: float, field: str) -> float:
    """A width in which rates are given or measured. Raises BadInput for one that is none."""
    return number(window_s, field, 1e-3, 1e8)


def rates_of(given: object, field: str) -> tuple[float, ...]:
    """Requests a second, one window after another, not all 0. Raises BadInput for others."""
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= _MOST_RATES:
        raise BadInput(field, given, _("a list of rates in requests a second, one a window"))
    rates = tuple(number(rate, field, 0, 1e9) for rate in given)
    if not sum(rates):
        raise BadInput(field, given, _("rates that are not all 0"))
    return rates


def _pace(content: Mapping[str, Any]) -> Pace:
    first = parse_seconds(content.get("first_token", PACE.first_s), "arrivals.first_token")
    return Pace(first, parse_seconds(content.get("per_token", PACE.token_s), "arrivals.per_token"))


def _hours(given: object) -> tuple[float, ...]:
    allowed = _("24 weights, one an hour, not all 0")
    if not isinstance(given, list | tuple) or (given and len(given) != 24):
        raise BadInput("arrivals.hours", given, allowed)
    hours = tuple(number(hour, "arrivals.hours", 0, 1e9) for hour in given)
    if hours and not sum(hours):
        raise BadInput("arrivals.hours", given, allowed)
    return hours


def _system(given: object) -> tuple[SystemPrompt, ...]:
    if not isinstance(given, list | tuple):
        raise BadInput("system_prompts", given, _("a list of tokens and share"))
    prompts = []
    for place, each in enumerate(given):
        where = f"system_prompts[{place}]"
        if not isinstance(each, Mapping):
            raise BadInput(where, each, _("tokens and share"))
        check_keys(each, ("tokens", "share"), where)
        tokens = parse_tokens(each.get("tokens"), f"{where}.tokens")
        prompts.append(SystemPrompt(tokens, number(each.get("share", 1.0), f"{where}.share", 0, 1)))
    return tuple(prompts)


def _grown(given: object, choice: Choice, source: Source) -> Model:
    if not isinstance(given, Mapping):
        raise BadInput("sessions", given, _("a mapping with turns, first, added, output and think"))
    check_keys(given, _SESSIONS, "sessions")
    for key in ("turns", "first", "output"):
        if key not in given:
            raise BadInput(
                f"sessions.{key}", None, _("turns of a session, tokens of its first prompt and of an answer")
            )
    parts = {key: parse_lengths(given[key], f"sessions.{key}") for key in _SESSIONS[:4] if key in given}
    if "think" in given:
        parts["think"] = parse_lengths(given["think"], "sessions.think", parse_seconds)
    largest = parse_tokens(given.get("max_context_tokens", _MAX_CONTEXT_TOKENS), "sessions.max_context_tokens")
    return grown(parts, choice, source, largest)


def _check_turns(parts: Mapping[str, Distribution], largest: int) -> None:
    """Raise BadInput for sessions of which most would never begin, or hardly end."""
    if parts["turns"].quantile_tokens(0.5) > MOST_TURNS:
        allowed = _("at most {most:,} turns of a session").format(most=MOST_TURNS)
        raise BadInput("sessions.turns", parts["turns"].quantile_tokens(0.5), allowed)
    least = parts["first"].quantile_tokens(0.5) + parts["output"].quantile_tokens(0.5)
    if least > largest:
        allowed = _("at least the first prompt and its answer, {tokens:,} tokens in the median").format(tokens=least)
        raise BadInput("sessions.max_context_tokens", largest, allowed)


def grown(
    parts: Mapping[str, Distribution], choice: Choice, source: Source, largest: int = _MAX_CONTEXT_TOKENS
) -> Model:
    """Sessions whose turns, first prompts, answers, additions and pauses are `parts`; the last two may be missing.

    `largest` is the longest context. Raises BadInput where the rate is not given.
    """
    made_up = () if "think" in parts else (Assumption(_("think time"), _("10 s in the median"), _("not given")),)
    added, think = parts.get("added", Fixed(1.0)), parts.get("think", THINK)
    _check_turns(parts, largest)
    sessions = Growing(parts["turns"], parts["first"], added, parts["output"], think, choice.pace, largest)
    arrivals, assumptions = arrivals_of(None, choice)
    if isinstance(arrivals, ClosedLoop):
        hint = _("sessions wait for answers and think by themselves")
        raise BadInput("arrivals", choice.arrivals, _("beginnings of sessions: poisson, gamma, diurnal, ..."), hint)
    begins = arrivals.at(arrivals.mean_rps / sessions.mean_turns)
    answer = Assumption(
        _("time of an answer"),
        _("{first:g} s and {token:g} s a token").format(first=choice.pace.first_s, token=choice.pace.token_s),
        _("a turn follows the answer before it and the pause"),
    )
    made = (*assumptions, answer, *made_up, *(a for each in parts.values() for a in each.assumptions))
    return Model(sessions, begins, source, choice.system_prompts, choice.block_tokens, made)


def number(given: object, field: str, low: float, high: float) -> float:
    """A number within limits. Raises BadInput naming `field`."""
    allowed = _("a number from {low:g} to {high:,.10g}").format(low=low, high=high)
    if 0 < low < _ALMOST_NOTHING:
        allowed = _("a number above 0, at most {high:,.10g}").format(high=high)
    if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given <= high:
        raise BadInput(field, given, allowed)
    return float(given)


def parse_text(text: str, field: str, parse: Parse = parse_tokens) -> Distribution:
    """`900`, `p50=900,p95=3800` or `normal:mean=900,sd=100`, as one writes them on a command line."""
    shape, colon, rest = text.partition(":")
    pairs = [part.partition("=") for part in (rest if colon else text).split(",")]
    if not colon and len(pairs) == 1 and not pairs[0][1]:
        return parse_lengths(text, field, parse)
    if not all(equals for _name, equals, _value in pairs):
        raise BadInput(field, text, _("a number, or figures such as p50=900,p95=3800"))
    figures = {name.strip(): value.strip() for name, _equals, value in pairs}
    return parse_lengths({shape.strip(): figures} if colon else figures, field, parse)
