"""Fleets whose replicas all do both stages: a size is their number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bide.plan.asks import Asks, asks_of
from bide.plan.candidate import Candidate, End
from bide.plan.capacity import Capacity
from bide.plan.findings import Row
from bide.plan.option import Option
from bide.plan.reading import capacity_of, read_replica, shown_probes
from bide.plan.scaling import Kind
from bide.plan.thresholds import ReplicaState
from bide.simulate.replica_setup import ReplicaSetup


class Colocated:
    """`fleets.Fleets` of numbers."""

    smallest = 1

    def __init__(self, trial: Capacity) -> None:
        self._trial = trial

    @property
    def candidate(self) -> Candidate:
        return self._trial.candidate

    def like(self, candidate: Candidate, likely: ReplicaSetup | None = None) -> Colocated:
        router = self._trial.router
        if likely is None:
            return Colocated(capacity_of(candidate, router=router))
        return Colocated(Capacity(candidate, shown_probes(candidate.service), likely, router))

    def answer(self, option: Option) -> int:
        return option.replicas

    def sure(self, option: Option) -> int | None:
        return option.replicas_surely

    def with_fast(self, option: Option, size: int) -> Option:
        return replace(option, replicas_fast=size)

    def replicas(self, size: int) -> int:
        return size

    def best(self, replicas: int) -> int:
        return replicas

    def fewer(self, size: int) -> Sequence[int]:
        return (size - 1,)

    def fewest(self, planned_rps: float, most: int, asks: Asks, end: End = "likely") -> int | None:
        return self._trial.fewest(planned_rps, most, asks, end)

    def holds(self, size: int, planned_rps: float, asks: Asks, end: End = "likely") -> bool:
        return self.fewest(planned_rps, size, asks, end) is not None

    def halving(self, size: int, asks: Asks, end: End = "likely") -> Iterator[tuple[float, float]]:
        for kept, broken in self._trial.halving(asks, end, size):
            yield size * kept, size * broken

    def row(self, size: int, met: bool, met_surely: bool) -> Row:
        rate = self.candidate.service.traffic.planned_rps / size
        ends: tuple[tuple[End, bool], ...] = (("likely", met), ("slow", met_surely))
        kept = [end for end, enough in ends if enough]
        return Row(size * self.candidate.gpus, size, read_replica(self._trial, rate, size, kept), met, met_surely)

    def around(self, option: Option, most: int) -> Sequence[Row]:
        return ()

    def kinds(self, option: Option, carried_rps: float, *, by_hours: bool) -> tuple[Kind, ...]:
        count = option.replicas
        levels = tuple(self._together(count, carried_rps / count)) if by_hours else ()

        def state(requests_per_s: float) -> ReplicaState:
            return self._trial.state(requests_per_s / count, count)

        return (Kind(None, count, option.spare, self.candidate.gpus, carried_rps, levels, state),)

    def _together(self, replicas: int, highest_rps: float) -> Iterator[float]:
        """Requests a second that fleets of 1, 2, ... up to `replicas` carry, each replica at most `highest_rps`."""
        by_share: dict[int, float] = {}
        most, asks = 0.0, asks_of(self.candidate.service)
        for count in range(1, replicas + 1):
            share = self._trial.shared(count)
            if share not in by_share:
                by_share[share] = self._trial.highest_rate(asks, replicas=count) or 0.0
            most = max(most, count * min(by_share[share], highest_rps))
            yield most
