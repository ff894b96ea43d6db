"""What was simulated of a candidate, kept for whoever asks the same of it again in this process.

A plan asks its chosen candidate again for its details, and a comparison of plans asks nearly the same question once for
every change. What a run shows depends on the deployment, the step times, the requests, and what is taken of it; not on
the load, the limits, prices, or how many GPUs there may be.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING

from bide.physics.same import Same
from bide.plan.asks import Probe
from bide.plan.basket import run_requests
from bide.simulate.fleet.rules import RouterName
from bide.workload.requests import Workload

if TYPE_CHECKING:
    from bide.plan.candidate import Candidate, End
    from bide.plan.disaggregated.pair import Pair
    from bide.plan.disaggregated.stages import Stage
    from bide.plan.disaggregated.watch import PairSeen
    from bide.plan.trial import Seen

_MOST = 2048
"""Candidates: a few hundred kilobytes, and the models and profiles that they are of."""


@dataclass(frozen=True, slots=True)
class Runs:
    """By end of the step times: the rate at which it works off a backlog, and what replicas did at rates."""

    saturated: dict[End, float] = field(default_factory=dict)
    seen: dict[tuple[End, float, int, int], Seen] = field(default_factory=dict)
    worked_off: dict[tuple[Stage, End], float] = field(default_factory=dict)
    """The same of a replica that does one of the two stages."""
    pairs: dict[tuple[End, float, Pair, int], PairSeen] = field(default_factory=dict)
    after_prompts: dict[tuple[End, float, int, int, float], dict[Probe, float]] = field(default_factory=dict)
    """What everything comes to at least, once so many replicas have computed the prompts."""


_kept: OrderedDict[object, Runs] = OrderedDict()
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
