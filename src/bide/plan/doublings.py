"""Add cards until it holds: the chosen candidate on 1, 2, 4, 8, ... GPUs, as replicas and as tensor parallel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from typing import Literal

from bide.plan.asks import asks_of
from bide.plan.candidate import Candidate, candidate
from bide.plan.findings import Doubling, Reading, Row
from bide.plan.fleets import Fleets, S
from bide.plan.measured.capacity import measured_of
from bide.plan.offer import Terms
from bide.plan.option import Option
from bide.plan.question import Limit
from bide.plan.reading import shown_measures

_WIDEST = 8
"""GPUs that divide a layer, at most."""


def rows(option: Option, fleets: Fleets[S], terms: Terms) -> Iterator[Row]:
    """1, 2, 4, 8, ... replicas up to twice the sure answer, the two answers among them, none of them spare.

    Where replicas do one of two stages: the best way to divide so many, from one of each on.
    """
    service = option.candidate.service
    planned_rps, asks = service.traffic.planned_rps, asks_of(service)
    answer, sure = fleets.answer(option), fleets.sure(option)
    sizes = {fleets.replicas(size): size for size in (sure, answer) if size is not None}
    doubled = (2**n for n in range((2 * max(sizes) - 1).bit_length() + 1))
    most = terms.hardware.max_gpus // option.candidate.gpus
    for replicas in sorted(sizes.keys() | {count for count in doubled if fleets.smallest <= count <= most}):
        size = sizes[replicas] if replicas in sizes else fleets.best(replicas)
        met = replicas >= option.replicas and (size == answer or fleets.holds(size, planned_rps, asks))
        most_likely = met and option.replicas_surely is not None and replicas >= option.replicas_surely
        surely = most_likely and (size == sure or fleets.holds(size, planned_rps, asks, "slow"))
        yield fleets.row(size, met, surely)


def doublings(option: Option, fleets: Fleets[S], found: tuple[Row, ...], terms: Terms) -> Iterator[Doubling]:
    """The rows that double; then as many GPUs in the smallest fleet that they make, each replica within a node."""
    deployment, patience = option.candidate.deployment, option.candidate.service.patience
    doubled = [row for row in found if row.replicas.bit_count() == 1]
    yield from _lines("replicas", ((row, deployment.tp) for row in doubled), patience)
    if deployment.dp == 1 and not measured_of(option.candidate):  # of which no wider replica was measured
        yield from _lines("tp", _parallel(option, fleets, doubled, terms), patience)


def _lines(
    way: Literal["replicas", "tp"], found: Iterator[tuple[Row, int]], patience: tuple[Limit, ...]
) -> Iterator[Doubling]:
    """Each against the one before."""
    before: Reading | None = None
    for row, tp in found:
        faster = _faster(before, row.reading, patience)
        before = row.reading
        yield Doubling(
            row.gpus, row.replicas, row.reading, row.met, row.met_surely, row.pair, way=way, tp=tp, faster=faster
        )


def _parallel(option: Option, fleets: Fleets[S], doubled: list[Row], terms: Terms) -> Iterator[tuple[Row, int]]:
    """Fleets of the widest replicas that so many GPUs make."""
    service, wide = option.candidate.service, None
    planned_rps, asks = service.traffic.planned_rps, asks_of(service)
    for gpus in _counts(option.candidate, doubled):
        wide = _wider(fleets, gpus // fleets.smallest, gpus, terms) or wide
        if wide is None:
            continue
        size = wide.best(gpus // wide.candidate.gpus)
        met = wide.holds(size, planned_rps, asks)
        yield wide.row(size, met, met and wide.holds(size, planned_rps, asks, "slow")), wide.candidate.deployment.tp


def _counts(chosen: Candidate, doubled: list[Row]) -> list[int]:
    """GPUs to spread over: from one stage's smallest on, as far as the rows go, and over a node at least."""
    stages = chosen.deployment.pp
    most = max([row.gpus for row in doubled] + [chosen.gpu.node_gpus * stages])
    return [stages * 2**n for n in range(most.bit_length()) if stages * 2**n <= most]


def _wider(fleets: Fleets[S], each: int, gpus: int, terms: Terms) -> Fleets[S] | None:
    """Fleets with `each` GPUs a replica, of `gpus` in all; None beyond a node, and where it cannot be so divided."""
    chosen = fleets.candidate
    tp = each // chosen.deployment.pp
    if not 0 < tp <= min(chosen.gpu.node_gpus, _WIDEST) or gpus > terms.hardware.max_gpus:
        return None
    if tp == chosen.deployment.tp:
        return fleets
    setting = {**chosen.setting, "tp": tp, **({"ep": tp} if "ep" in chosen.setting else {})}
    free = {key: value for key, value in chosen.service.engine.items() if key not in ("tp", "ep")}
    found = candidate(replace(chosen.service, engine=free), chosen.gpu, setting, terms.profile)
    return fleets.like(found) if isinstance(found, Candidate) else None


def _faster(before: Reading | None, now: Reading, patience: tuple[Limit, ...]) -> float | None:
    """The share by which the first limit's measure fell (E2E where there is only a goodput)."""
    measure = patience[0].measure if patience else shown_measures(())[-1]
    then_s, now_s = (reading.seconds[measure] if reading else None for reading in (before, now))
    if then_s is None or now_s is None or not isfinite(then_s.mid) or then_s.mid <= 0:
        return None
    return 1 - now_s.mid / then_s.mid
