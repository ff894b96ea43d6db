"""What a run is asked to do, as plain values that a journal can hold: no secret is among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bide.bench.client import Rules
from bide.bench.demand import Demand, drawn_demand, traffic_demand
from bide.bench.loads import Load
from bide.bench.words import Vocabulary, common_words, file_words, tokenizer_words
from bide.errors import BadInput
from bide.i18n import _
from bide.units import parse_tokens
from bide.workload.lengths import parse_lengths
from bide.workload.modelling.distributions import Distribution
from bide.workload.traffic import read_workload, traffic_of

_DRAWN = 4096
_LARGEST_DRAWN = 1_000_000
_OWN_FIELDS = frozenset({"model", "messages", "prompt", "stream"})
_MOST_PROCESSES = 256


@dataclass(frozen=True, slots=True)
class Ask:
    """Times are seconds. `loads` are measured one after another; with `slo` the first is where a search begins."""

    loads: tuple[Load, ...]
    prompt: str = "512"
    answer: str = "128"
    model: str | None = None
    workload: str | None = None
    scale: float | None = None
    follow_sessions: bool = False
    shared_prefix_tokens: int = 0
    tokenizer: str | None = None
    text: str | None = None
    seed: int = 0
    nonce: bool = True
    exact: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    warm_up_s: float | None = None
    warm_up_requests: int = 0
    processes: int | None = 1
    """None: as many as the load needs."""
    scrape_s: float = 1.0
    probe: bool = True
    slo: str | None = None
    precision: float = 0.05
    limits_s: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises BadInput."""
        if not self.rules.timeout_s > 0:
            raise BadInput("timeout", self.rules.timeout_s, _("a time above 0"))
        if self.processes is not None and not 1 <= self.processes <= _MOST_PROCESSES:
            allowed = _("a number from 1 to {most:,}, or auto").format(most=_MOST_PROCESSES)
            raise BadInput("processes", self.processes, allowed)
        own = sorted(_OWN_FIELDS & self.extra.keys())
        if own:
            raise BadInput("extra", own[0], _("fields that bide does not set itself"))

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "loads": [load.to_dict() for load in self.loads]}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Ask:
        """What `to_dict` wrote. Raises KeyError, TypeError, AttributeError or BadInput for anything else."""
        loads = tuple(Load.from_dict(load) for load in found["loads"])
        return cls(**{**found, "loads": loads, "rules": Rules(**found["rules"])})


def vocabulary_of(ask: Ask) -> tuple[Vocabulary, bool]:
    """The words to make prompts of, and whether they are a text that keeps its order."""
    if ask.text is not None:
        return file_words(Path(ask.text)), True
    return (tokenizer_words(ask.tokenizer) if ask.tokenizer else common_words()), False


def demand_of(ask: Ask, load: Load) -> Demand:
    """What one cell asks for. Raises BadInput, also for a shared prefix that no prompt has room for."""
    demand = _drawn(ask, load) if ask.workload is None else _played(ask, load)
    prefix, longest = ask.shared_prefix_tokens, int(demand.prompt_tokens.max())
    if prefix and demand.blocks is not None:
        raise BadInput("shared_prefix", prefix, _("none: the workload says what its prompts share"))
    if prefix >= longest:
        raise BadInput("shared_prefix", prefix, _("fewer tokens than the longest prompt has: {n:,}").format(n=longest))
    return demand


def _drawn(ask: Ask, load: Load) -> Demand:
    count = load.requests or round((load.rate or 0) * (load.duration_s or 0)) or _DRAWN
    prompt, answer = lengths(ask.prompt, "prompt"), lengths(ask.answer, "answer")
    return drawn_demand(prompt, answer, min(max(count, 1), _LARGEST_DRAWN), ask.seed)


def lengths(text: str, field_name: str) -> Distribution:
    """`512`, `p50=900,p95=3800`, `normal:mean=900,sd=99`."""
    shape, colon, rest = text.partition(":")
    if "=" not in text:
        return parse_lengths(parse_tokens(text, field_name), field_name)
    figures: dict[str, object] = {}
    for part in (rest if colon else text).split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise BadInput(field_name, text, _("figures such as 512, p50=900,p95=3800 or normal:mean=900,sd=99"))
        figures[name.strip()] = value.strip()
    return parse_lengths({shape: figures} if colon else figures, field_name)


def _played(ask: Ask, load: Load) -> Demand:
    assert ask.workload is not None
    trace = read_workload(ask.workload, load.requests, ask.seed)
    replayed = load.kind == "replay"
    rate = load.rate if replayed else (None if trace.arrival_s is not None else 1.0)
    traffic = traffic_of(trace, rate=rate, scale=ask.scale if replayed else None, requests=load.requests)
    if ask.follow_sessions and traffic.session is None:
        raise BadInput("follow_sessions", ask.workload, _("a workload with conversations"))
    if replayed and load.duration_s is not None:
        traffic = traffic.taken(traffic.arrival_s <= load.duration_s)
    return traffic_demand(traffic, replayed, ask.follow_sessions and replayed)
