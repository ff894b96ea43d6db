"""What was simulated of a candidate, kept for whoever asks the same of it again in this process.

A plan asks its chosen candidate again for its details, and a comparison of plans asks nearly the same question once for
every change. What a run shows depends on the deployment, the step times, the requests, and what is taken of it; not on
the load, the limits, prices, or how many GPUs there may be.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

from bide.physics.same import Same
from bide.plan.asks import Probe
from bide.plan.basket import run_requests
from bide.simulate.fleet.rules import RouterName
from bide.workload.requests import Workload

if TYPE_CHECKING:
    from bide.plan.candidate import Candidate, End
    from bide.plan.disaggregated.cell import Cell
    from bide.plan.disaggregated.prompts import Prompts
    from bide.plan.disaggregated.stages import Stage
    from bide.plan.disaggregated.watch import CellSeen
    from bide.plan.trial import Seen

_MOST = 2048
"""Candidates: a few hundred kilobytes, and the models and profiles that they are of."""
_MOST_PROMPTS = 4_000_000
"""Over all candidates: 64 MB."""
_number = count()
PromptsKey = tuple["End", float, int, float, int]
"""End, requests a second of a replica, engines, of the fleet's requests one in so many, requests."""


@dataclass(frozen=True, slots=True)
class Runs:
    """By end of the step times: the rate at which it works off a backlog, and what replicas did at rates."""

    saturated: dict[End, float] = field(default_factory=dict)
    seen: dict[tuple[End, float, int, int], Seen] = field(default_factory=dict)
    worked_off: dict[tuple[Stage, End], float] = field(default_factory=dict)
    """The same of a replica that does one of the two stages."""
    evenly: dict[tuple[End, float], dict[Probe, float]] = field(default_factory=dict)
    """What a replica comes to that only answers, of an even stream, by end and requests a second."""
    cells: dict[tuple[End, float, Cell, float, int], CellSeen] = field(default_factory=dict)
    """By end, requests a second of a replica for prompts, cell, bytes a second of the links, times the usual run."""
    after_prompts: dict[tuple[PromptsKey, float], dict[Probe, float]] = field(default_factory=dict)
    """What everything comes to at least, once prompts are computed, by bytes a second of the links."""
    number: int = field(default_factory=_number.__next__)

    def prompts(self, key: PromptsKey, compute: Callable[[], Prompts]) -> Prompts:
        """Those of a run that was made lately, or of a new one: they are large, and the latest few are kept."""
        name = (self.number, key)
        with _lock:
            found = _prompts.get(name)
            if found is not None:
                _prompts.move_to_end(name)
                return found
        found = compute()
        with _lock:
            _prompts[name] = found
            while sum(map(len, _prompts.values())) > _MOST_PROMPTS and len(_prompts) > 1:
                _prompts.popitem(last=False)
        return found


_kept: OrderedDict[object, Runs] = OrderedDict()
_prompts: OrderedDict[object, Prompts] = OrderedDict()
_lock = Lock()


def runs_of(candidate: Candidate, probes: tuple[Probe, ...], router: RouterName) -> Runs:
    """The runs of that candidate so far, whatever was asked of them."""
    key = _key(candidate, probes, router)
    with _lock:
        found = _kept.setdefault(key, Runs())
        _kept.move_to_end(key)
        while len(_kept) > _MOST:
            _kept.popitem(last=False)
    return found


def forget() -> None:
    """Everything."""
    with _lock:
        _kept.clear()
        _prompts.clear()


def _key(candidate: Candidate, probes: tuple[Probe, ...], router: RouterName) -> object:
    service = candidate.service
    settings = tuple(sorted((name, repr(value)) for name, value in {**service.engine, **candidate.setting}.items()))
    requests = Same(service) if service.classes else (_content(Same(service.workload)), _same(service.trace))
    facts = (_said(Same(service.model)), candidate.gpu.id, settings, _said(Same(candidate.profile)))
    return facts, requests, run_requests(service), probes, router


def _same(value: object) -> object:
    return None if value is None else Same(value)


@lru_cache(maxsize=64)
def _said(kept: Same[object]) -> bytes:
    """Of a model or a profile, which are dataclasses all through: one that is read twice is the same."""
    return blake2b(repr(kept.value).encode(), digest_size=16).digest()


@lru_cache(maxsize=64)
def _content(kept: Same[Workload]) -> bytes:
    """Of the requests: the same trace read twice is the same."""
    work = kept.value
    digest = blake2b(digest_size=16)
    for column in (work.prompt_tokens, work.output_tokens, work.gaps):
        digest.update(f"{column.dtype}{len(column)}".encode())
        digest.update(column.tobytes())
    return digest.digest()
