"""Add cards until it holds: the chosen candidate on 1, 2, 4, 8, ... GPUs, as replicas and as tensor parallel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal

from bide.plan.answer import Doubling, Option, Reading, Row
from bide.plan.asks import asks_of
from bide.plan.candidate import Candidate, End, candidate
from bide.plan.capacity import Capacity
from bide.plan.offer import Terms
from bide.plan.question import Limit, Service
from bide.plan.reading import capacity_of, read_replica, shown_measures

_WIDEST = 8
"""GPUs that divide a layer, at most."""


def rows(option: Option, trial: Capacity, terms: Terms) -> Iterator[Row]:
    """1, 2, 4, 8, ... replicas up to twice the sure answer, the two answers among them, none of them spare."""
    planned_rps = trial.candidate.service.traffic.planned_rps
    most = terms.hardware.max_gpus // option.candidate.gpus
    answers = {option.replicas, option.replicas_surely or option.replicas}
    doubled = {2**n for n in range((2 * max(answers) - 1).bit_length() + 1)}
    for replicas in sorted(answers | {count for count in doubled if count <= most}):
        reading = read_replica(trial, planned_rps / replicas, replicas)
        surely = option.replicas_surely is not None and replicas >= option.replicas_surely
        yield Row(replicas * option.candidate.gpus, replicas, reading, replicas >= option.replicas, surely)


def doublings(option: Option, found: tuple[Row, ...], terms: Terms) -> Iterator[Doubling]:
    """The rows that double; then as many GPUs with each replica over all of them, as far as a node goes."""
    service, tp = option.candidate.service, option.candidate.deployment.tp
    doubled = [row for row in found if row.replicas.bit_count() == 1]
    before: Reading | None = None
    for row in doubled:
        yield _Fleet("replicas", row, tp).line(before, service)
        before = row.reading
    if option.candidate.deployment.dp > 1:
        return
    wide: Capacity | None = None
    before = None
    for gpus in _counts(option.candidate, doubled):
        wide = _wider(option.candidate, gpus, terms) or wide
        if wide is None:
            continue
        replicas = gpus // wide.candidate.gpus
        reading = read_replica(wide, service.traffic.planned_rps / replicas, replicas)
        met = _holds(wide, replicas, "likely")
        surely = met and _holds(wide, replicas, "slow")
        row = Row(gpus, replicas, reading, met, surely)
        yield _Fleet("tp", row, wide.candidate.deployment.tp).line(before, service)
        before = reading


def _holds(wide: Capacity, replicas: int, end: End) -> bool:
    """Whether so many keep what is asked."""
    service = wide.candidate.service
    return wide.fewest(service.traffic.planned_rps, replicas, asks_of(service), end) is not None


def _counts(chosen: Candidate, doubled: list[Row]) -> list[int]:
    """GPUs to spread over: from one stage's smallest on, as far as the rows go, and over a node at least."""
    stages = chosen.deployment.pp
    most = max([row.gpus for row in doubled] + [chosen.gpu.node_gpus * stages])
    return [stages * 2**n for n in range(most.bit_length()) if stages * 2**n <= most]


def _wider(chosen: Candidate, gpus: int, terms: Terms) -> Capacity | None:
    """The chosen setting over all of these GPUs; None where they are more than a node, or it cannot be so divided."""
    tp = gpus // chosen.deployment.pp
    if tp > min(chosen.gpu.node_gpus, _WIDEST) or gpus > terms.hardware.max_gpus:
        return None
    if tp == chosen.deployment.tp:
        return capacity_of(chosen, router=terms.fleet.router)
    setting = {**chosen.setting, "tp": tp, **({"ep": tp} if "ep" in chosen.setting else {})}
    free = {key: value for key, value in chosen.service.engine.items() if key not in ("tp", "ep")}
    found = candidate(replace(chosen.service, engine=free), chosen.gpu, setting, terms.profile)
    return capacity_of(found, router=terms.fleet.router) if isinstance(found, Candidate) else None


@dataclass(frozen=True, slots=True)
class _Fleet:
    """One line before it is compared with the one above it."""

    way: Literal["replicas", "tp"]
    row: Row
    tp: int

    def line(self, before: Reading | None, service: Service) -> Doubling:
        row = self.row
        return Doubling(
            self.way,
            row.gpus,
            row.replicas,
            self.tp,
            row.reading,
            row.running_per_gpu,
            row.met,
            row.met_surely,
            _faster(before, row.reading, service.patience),
        )


def _faster(before: Reading | None, now: Reading, patience: tuple[Limit, ...]) -> float | None:
    """The share by which the first limit's measure fell (E2E where there is only a goodput)."""
    measure = patience[0].measure if patience else shown_measures(())[-1]
    then_s, now_s = (reading.seconds[measure] if reading else None for reading in (before, now))
    if then_s is None or now_s is None or not isfinite(then_s.mid) or then_s.mid <= 0:
        return None
    return 1 - now_s.mid / then_s.mid
