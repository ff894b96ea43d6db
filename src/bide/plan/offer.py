"""The best candidates on one kind of GPU: those that need the fewest, found without trying most of them.

A candidate is left out only where it is certain to need more than the best so far: by a rate that its
steps cannot exceed, or by rates that it was seen not to keep. What is left is compared in an order that
depends on the candidates alone: GPUs, for the fewest of a kind GPUs at the slow end, place in the list.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bide.facts.gpus import Gpu
from bide.interval import spanning
from bide.physics.profile import Profile
from bide.plan.asks import Asks, asks_of
from bide.plan.candidate import Candidate, End, members
from bide.plan.capacity import Capacity
from bide.plan.cost import cost_of, price_of
from bide.plan.frontier import probes_of, waits
from bide.plan.option import Option
from bide.plan.question import Fleet, Hardware, Service
from bide.plan.reading import capacity_of, read_replica
from bide.plan.rejection import Rejection
from bide.plan.space import Group, groups
from bide.plan.why_not import too_many, too_slow
from bide.runners import done

_LARGEST_FLEET = 1_000_000


@dataclass(frozen=True, slots=True)
class Reached:
    """The fewest GPUs of a kind for one wait of the frontier, spare ones included; None where there are too few."""

    name: str
    gpus: int | None
    gpus_surely: int | None


@dataclass(frozen=True, slots=True, eq=False)
class GpuOffer:
    """What came of one kind of GPU: the best option of each size of replica, or why there is none of that size.

    `reached` goes with `frontier.waits`.
    """

    gpu: Gpu
    options: tuple[Option, ...]
    rejections: tuple[Rejection, ...]
    reached: tuple[Reached, ...]
    candidates: int
    impossible: int
    simulated: int
    runs: int


@dataclass(frozen=True, slots=True)
class Terms:
    """What candidates are tried under. `frontier`: for other limits too."""

    hardware: Hardware
    fleet: Fleet
    profile: Profile
    frontier: bool = False

    @property
    def spare(self) -> int:
        return self.fleet.spare_replicas + self.fleet.rolling_replicas

    def most(self, replica_gpus: int) -> int:
        """Replicas of so many GPUs that the hardware allows beside the spare ones."""
        return self.hardware.max_gpus // replica_gpus - self.spare


def offer_of(item: tuple[Service, Gpu], terms: Terms) -> GpuOffer:
    """The best that one kind of GPU does for a service, or why it does nothing."""
    service, gpu = item
    return Search(service, gpu, terms).offer()


def option_of(trial: Capacity, replicas: int, terms: Terms) -> Option:
    """So many replicas of a candidate, which are enough at the likely end."""
    candidate, hardware = trial.candidate, terms.hardware
    service, planned_rps = candidate.service, candidate.service.traffic.planned_rps
    price = price_of(candidate.gpu, hardware.prices, hardware.price_multiplier, hardware.price_note)
    surely = trial.fewest(planned_rps, terms.most(candidate.gpus), asks_of(service), "slow")
    kept: tuple[End, ...] = ("likely",) if surely is None or surely > replicas else ("likely", "slow")
    reading = read_replica(trial, planned_rps / replicas, replicas, kept)
    slow, likely, fast = (trial.saturated_rps(end) for end in ("slow", "likely", "fast"))
    bought = (replicas + terms.spare) * candidate.gpus
    return Option(
        candidate,
        replicas,
        surely,
        reading,
        spanning(slow, likely, fast),
        price,
        cost_of(bought, price, service, reading.prefill_share, reading.running_requests),
        spare=terms.spare,
    )


class Search:
    """One kind of GPU being searched. Trials are numbered: small replicas first, then in the order of the space."""

    def __init__(self, service: Service, gpu: Gpu, terms: Terms) -> None:
        self.service, self.gpu, self.terms = service, gpu, terms
        self.planned_rps = service.traffic.planned_rps
        self.waits = waits(service) if terms.frontier else ()
        self._left = 1.0
        """Of the search, as it is told to those who wait."""
        self.trials: list[Capacity] = []
        self.refused: list[Rejection] = []
        self.places: list[tuple[Group, range, int]] = []
        probes = probes_of(self.waits)
        for group in groups(service, terms.hardware):
            if group.gpu.id == gpu.id:
                self._add(group, probes)

    def _add(self, group: Group, probes: Iterable[object]) -> None:
        first, refused = len(self.trials), len(self.refused)
        for found in members(self.service, group, self.terms.profile):
            if isinstance(found, Rejection):
                self.refused.append(found)
            else:
                self.trials.append(capacity_of(found, *probes, router=self.terms.fleet.router))  # type: ignore[arg-type]
        self.places.append((group, range(first, len(self.trials)), refused))

    @property
    def candidates(self) -> list[Candidate]:
        """That run, in the order of the space."""
        return [trial.candidate for trial in self.trials]

    def nothing(self) -> GpuOffer:
        """Where replicas may not do both stages: only why some candidates do not run at all."""
        refused = tuple(self.refused[first] for _group, numbers, first in self.places if not numbers)
        return GpuOffer(self.gpu, (), refused, (), 0, 0, 0, 0)

    def offer(self) -> GpuOffer:
        asks = asks_of(self.service)
        found = [self._best(asks, self._floors(numbers, asks)) for _group, numbers, _refused in self.places]
        fewest = min((replicas * trial.candidate.gpus for trial, replicas in filter(None, found)), default=0)
        options: list[Option] = []
        rejections: list[Rejection] = []
        for (_group, numbers, refused), quick in zip(self.places, found, strict=True):
            is_fewest = quick is not None and quick[1] * quick[0].candidate.gpus == fewest
            best = self._best(asks, self._floors(numbers, asks), by_slow_end=True) if is_fewest else quick
            if best:
                options.append(option_of(*best, self.terms))
            else:
                rejections.append(self._why_not(numbers) if numbers else self.refused[refused])
        return GpuOffer(
            self.gpu,
            tuple(options),
            tuple(rejections),
            self._reached(),
            len(self.trials) + len(self.refused),
            len(self.refused),
            sum(trial.is_tried for trial in self.trials),
            sum(trial.runs for trial in self.trials),
        )

    def _best(
        self, asks: Asks, floors: dict[int, float], *, by_slow_end: bool = False, most_gpus: float | None = None
    ) -> tuple[Capacity, int] | None:
        """The trial with the fewest GPUs, at most `most_gpus`, and its replicas.

        `floors`: the replicas that each trial certainly needs; raised by what is learnt.
        """
        most_gpus = self.terms.hardware.max_gpus if most_gpus is None else most_gpus
        best: tuple[float, float, int] = (most_gpus, math.inf, len(self.trials))
        chosen: tuple[Capacity, int] | None = None
        rounds = len(self.waits) if by_slow_end else len(self.places)
        part = 0.5 / max(1, rounds) / max(1, len(floors))
        for number in sorted(floors, key=lambda number: (self._bought(number, floors[number]), number)):
            self._done(part)
            trial, size = self.trials[number], self.trials[number].candidate.gpus
            may_tie = number < best[2] or (by_slow_end and best[1] > best[0])
            at_most = (best[0] if may_tie else best[0] - 1) // size - self.terms.spare
            if floors[number] > at_most:
                continue
            replicas = trial.fewest(self.planned_rps, at_most, asks)
            floors[number] = max(floors[number], at_most + 1 if replicas is None else replicas)
            if replicas is None:
                continue
            gpus = self._bought(number, replicas)
            slow = self._slow_gpus(number, asks, best[1] if gpus == best[0] else math.inf) if by_slow_end else 0.0
            if chosen is None or (gpus, slow, number) < best:
                best, chosen = (gpus, slow, number), (trial, replicas)
        return chosen

    def _done(self, part: float) -> None:
        """Told of every candidate in every round, half for what is asked and half for other waits; never beyond all."""
        part = min(part, self._left)
        self._left -= part
        done(part)

    def _bought(self, number: int, replicas: float) -> float:
        """GPUs for so many replicas and the spare ones."""
        return (replicas + self.terms.spare) * self.trials[number].candidate.gpus

    def _floors(self, numbers: Iterable[int], asks: Asks) -> dict[int, float]:
        """By the cost of steps alone; infinite where a request that is alone takes too long."""
        return {n: self._floor(self.trials[n].bound_rps(asks)) for n in numbers}

    def _floor(self, bound_rps: float) -> float:
        return math.ceil(self.planned_rps / bound_rps) if bound_rps > 0 else math.inf

    def _slow_gpus(self, number: int, asks: Asks, most_gpus: float) -> float:
        """GPUs at the slow end; infinite where they are too many, or more than `most_gpus`."""
        trial = self.trials[number]
        most = self.terms.most(trial.candidate.gpus)
        if math.isfinite(most_gpus):
            most = min(most, int(most_gpus) // trial.candidate.gpus - self.terms.spare)
        replicas = trial.fewest(self.planned_rps, most, asks, "slow")
        return math.inf if replicas is None else self._bought(number, replicas)

    def _reached(self) -> tuple[Reached, ...]:
        """Longest wait first: what a trial needs at one is the least that it needs at the next shorter of its kind."""
        found: list[Reached] = []
        floors: dict[int, float] = {}
        for number in reversed(range(len(self.waits))):
            wait = self.waits[number]
            if number + 1 == len(self.waits) or wait.kind != self.waits[number + 1].kind:
                floors = dict.fromkeys(range(len(self.trials)), 0.0)
            for place, floor in self._floors(range(len(self.trials)), wait.asks).items():
                floors[place] = max(floors[place], floor)
            best = self._best(wait.asks, floors, by_slow_end=True)
            found.append(self._point(wait.asks, best))
        return tuple(reversed(found))

    def _point(self, asks: Asks, best: tuple[Capacity, int] | None) -> Reached:
        if best is None:
            return Reached("", None, None)
        trial, replicas = best
        size, spare = trial.candidate.gpus, self.terms.spare
        surely = trial.fewest(self.planned_rps, self.terms.most(size), asks, "slow")
        return Reached(
            trial.candidate.name, (replicas + spare) * size, None if surely is None else (surely + spare) * size
        )

    def _why_not(self, numbers: Sequence[int]) -> Rejection:
        """Too slow at any size, or too few GPUs allowed."""
        asks = asks_of(self.service)
        best = self._best(asks, self._floors(numbers, asks), most_gpus=_LARGEST_FLEET)
        if best is None:
            return too_slow([self.trials[number] for number in numbers], asks)
        return too_many(*best, asks, self.terms.hardware.max_gpus, self.terms.spare)
