"""A model of a recorded trace: which lengths, which arrivals, at what rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bide.errors import BadInput, UnknownName
from bide.i18n import _
from bide.sourced import Assumption, Source
from bide.workload.measuring.lengths import spearman
from bide.workload.modelling import arriving, fitting
from bide.workload.modelling.arriving import Arrivals
from bide.workload.modelling.distributions import Distribution, Lognormal
from bide.workload.modelling.model import BLOCK_TOKENS, ClosedLoop, Model
from bide.workload.modelling.pairs import Coupled, Pairs, Recorded
from bide.workload.modelling.sessions import PACE, Drawn, Pace
from bide.workload.modelling.shared import SystemPrompt
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

LENGTHS = ("pairs", "quantiles", "lognormal", "mixture")
ARRIVALS = ("rates", "replay", "poisson", "gamma", "wandering", "constant", "diurnal", "closed")
_BELONGS = {
    "burstiness": "gamma",
    "users": "closed",
    "peak_to_mean": "diurnal",
    "hours": "diurnal",
    "rates": "rates",
    "variation": "wandering",
}
"""Figures that only arrivals of one kind have."""
_PEAK_TO_MEAN = 1.5
WINDOW_S = 10.0
"""Rates are measured over this long: near what users wait, where bursts hurt."""
_MOST_WINDOWS = 1_000_000
"""Windows of 10 s for a third of a year; in a longer recording they are wider."""
THINK = Lognormal(2.3, 1.0, largest=3600.0)
"""A pause of 10 s in the median, where nobody says how long users think."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How to model a trace. None is: as recorded.

    `hours` are 24 weights of a day; `rates` are requests a second in windows of `window_s`, which repeat;
    `variation` and `persistence` are those of wandering rates.
    """

    lengths: str = "pairs"
    arrivals: str | None = None
    rps: float | None = None
    window_s: float = WINDOW_S
    burstiness: float | None = None
    peak_to_mean: float | None = None
    hours: tuple[float, ...] = ()
    rates: tuple[float, ...] = ()
    variation: float | None = None
    persistence: float = 0.0
    users: int | None = None
    think: Distribution | None = None
    pace: Pace = PACE
    prompt: Distribution | None = None
    output: Distribution | None = None
    correlation: float | None = None
    system_prompts: tuple[SystemPrompt, ...] = ()
    block_tokens: int = BLOCK_TOKENS
    by_session: bool = True


def settled(choice: Choice) -> Choice:
    """The choice with the arrivals that its figures mean.

    Raises BadInput for a figure of other arrivals than are chosen, for a name that is not known and for what cannot be.
    """
    for field, kind in _BELONGS.items():
        value = getattr(choice, field)
        if value in (None, ()):
            continue
        if choice.arrivals not in (None, kind):
            allowed = _("nothing: it belongs to arrivals of the kind {kind}").format(kind=kind)
            raise BadInput(field, value, allowed)
        choice = replace(choice, arrivals=kind)
    _check(choice)
    return choice


def _check(choice: Choice) -> None:
    for field, name, names in (("lengths", choice.lengths, LENGTHS), ("arrivals", choice.arrivals, ARRIVALS)):
        if name is not None and name not in names:
            raise UnknownName(field, name, names, _("one of {names}").format(names=", ".join(names)))
    if choice.arrivals == "closed" and not choice.users:
        raise BadInput("users", choice.users, _("how many users send requests in a closed loop"))
    for prompt in choice.system_prompts:
        if prompt.tokens < choice.block_tokens:
            allowed = _("at least a block of {tokens} tokens: less is not shared").format(tokens=choice.block_tokens)
            raise BadInput("system_prompt", prompt.tokens, allowed)
    if sum(prompt.share for prompt in choice.system_prompts) > 1 + 1e-9:
        raise BadInput("system_prompt", [p.share for p in choice.system_prompts], _("shares of 1 together at most"))


def model_of(trace: Trace, choice: Choice) -> Model:
    """The model. Raises BadInput where the trace has not what it needs."""
    choice = settled(choice)
    by_session = choice.by_session and _has_sessions(trace) and not (choice.prompt or choice.output)
    if by_session and choice.lengths == "pairs" and choice.arrivals != "closed":
        return _of_sessions(trace, choice)
    requests, notes = _requests(trace, choice)
    arrivals, assumptions = arrivals_of(trace.arrival_s, choice)
    source = Source(_("drawn after {source}").format(source=trace.source.text), kind="derived")
    made = (*trace.assumptions, *assumptions, *_given(choice))
    return Model(requests, arrivals, source, choice.system_prompts, choice.block_tokens, made, notes)


def _given(choice: Choice) -> tuple[Assumption, ...]:
    return tuple(a for given in (choice.prompt, choice.output) if given for a in given.assumptions)


def _has_sessions(trace: Trace) -> bool:
    return trace.arrival_s is not None and (trace.session is not None or trace.blocks is not None)


def _of_sessions(trace: Trace, choice: Choice) -> Model:
    """Recorded sessions drawn whole; their beginnings follow the recorded beginnings."""
    sessions = Drawn.of(trace)
    rps = choice.rps and choice.rps / sessions.mean_turns
    arrivals, assumptions = arrivals_of(sessions.starts_s, replace(choice, rps=rps))
    if not sessions.numbered:
        why = _("the trace names none; prompts that begin alike beyond what all share are taken for one")
        assumptions += (Assumption(_("conversations"), _("told from shared prefixes"), why),)
    source = Source(_("sessions drawn after {source}").format(source=trace.source.text), kind="derived")
    made = (*trace.assumptions, *assumptions)
    return Model(sessions, arrivals, source, choice.system_prompts, choice.block_tokens, made)


def _requests(trace: Trace, choice: Choice) -> tuple[Pairs, tuple[str, ...]]:
    answered = trace.answered
    if choice.lengths == "pairs" and not (choice.prompt or choice.output or choice.correlation is not None):
        if not trace.outputs_known:
            raise BadInput("output", trace.source.text, _("output lengths: the trace records none"))
        return Recorded(trace.prompt_tokens, trace.output_tokens), ()
    if choice.output is None and not trace.outputs_known:
        raise BadInput("output", trace.source.text, _("output lengths: the trace records none"))
    prompt = choice.prompt or _fitted(trace.prompt_tokens[answered], choice.lengths)
    output = choice.output or _fitted(trace.output_tokens[answered], choice.lengths)
    together = spearman(trace.prompt_tokens[answered], trace.output_tokens[answered]) or 0.0
    note = _("prompt and output lengths of a request keep their rank correlation of {rho:.2f}").format(rho=together)
    failed = float((~answered).mean()) if choice.output is None else 0.0
    if choice.correlation is not None:
        return Coupled(prompt, output, choice.correlation, failed), ()
    return Coupled(prompt, output, together, failed), (note,)


def _fitted(tokens: Ints, lengths: str) -> Distribution:
    if lengths == "lognormal":
        return fitting.lognormal_of(tokens)
    return fitting.mixture_of(tokens) if lengths == "mixture" else fitting.quantiles_of(tokens)


def arrivals_of(recorded_s: Floats | None, choice: Choice) -> tuple[Arrivals | ClosedLoop, tuple[Assumption, ...]]:
    """Arrivals as chosen, after recorded times where there are some. Raises BadInput where a rate is wanted."""
    if choice.arrivals == "closed":
        return _loop(choice)
    if choice.arrivals == "diurnal":
        why = _("the rate is the mean of a whole day")
        midnight = (Assumption(_("the first request"), _("at midnight"), why),)
        rps = choice.rps or (len(recorded_s) / float(recorded_s[-1]) if recorded_s is not None else None)
        return _unrecorded(replace(choice, rps=rps)), midnight
    if recorded_s is None or len(recorded_s) < 2 or recorded_s[-1] <= 0:
        return _unrecorded(choice), ()
    if choice.rates:
        return _unrecorded(choice), ()
    made = _recorded(recorded_s, choice)
    return (made.at(choice.rps) if choice.rps else made), ()


def _recorded(recorded_s: Floats, choice: Choice) -> Arrivals:
    """Arrivals as recorded times have them, at their own rate."""
    span_s = float(recorded_s[-1])
    rate, window_s = len(recorded_s) / span_s, min(max(choice.window_s, span_s / _MOST_WINDOWS), span_s)
    match choice.arrivals:
        case None | "rates":
            return arriving.measured_rates(recorded_s, window_s)
        case "replay":
            return arriving.Replay(recorded_s)
        case "wandering" if choice.variation is None:
            return arriving.measured_wandering(recorded_s, window_s)
        case "gamma" if choice.burstiness is None:
            return arriving.measured_renewal(recorded_s)
    return _unrecorded(replace(choice, rps=rate))


def _unrecorded(choice: Choice) -> Arrivals:
    """Arrivals that need nothing but a rate."""
    if choice.rates:
        steps = arriving.stepwise(choice.window_s, choice.rates)
        return steps.at(choice.rps) if choice.rps else steps
    if choice.rps is None:
        raise BadInput("rps", None, _("the mean rate in requests a second: there are no recorded times"))
    if choice.arrivals == "wandering" and choice.variation is not None:
        return arriving.Wandering(choice.rps, choice.window_s, choice.variation, choice.persistence)
    if choice.arrivals in ("rates", "replay", "wandering"):
        hint = _("rates needs the rates themselves, wandering its variation")
        allowed = _("poisson, gamma, constant, diurnal or closed without recorded times")
        raise BadInput("arrivals", choice.arrivals, allowed, hint)
    if choice.arrivals == "gamma":
        return arriving.gamma_renewal(choice.rps, choice.burstiness or 1.0)
    if choice.arrivals == "constant":
        return arriving.constant(choice.rps)
    if choice.arrivals == "diurnal":
        return arriving.diurnal(choice.rps, choice.peak_to_mean or _PEAK_TO_MEAN, choice.hours)
    return arriving.poisson(choice.rps)


def _loop(choice: Choice) -> tuple[ClosedLoop, tuple[Assumption, ...]]:
    if choice.rps is not None:
        raise BadInput("rps", choice.rps, _("nothing: the rate of a closed loop is what the server makes of its users"))
    think = choice.think or THINK
    named = (Assumption(_("think time"), _("10 s in the median"), _("not given")),) if choice.think is None else ()
    answer = Assumption(
        _("time of an answer"),
        _("{first:g} s and {token:g} s a token").format(first=choice.pace.first_s, token=choice.pace.token_s),
        _("arrivals in a closed loop depend on the server; whoever simulates it uses the pauses instead"),
    )
    return ClosedLoop(choice.users or 1, think, choice.pace), (*named, answer)
