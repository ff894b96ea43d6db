"""The best disaggregated fleet on one kind of GPU, found without trying most candidates, or why there is none.

A candidate is left out where it certainly needs more GPUs than the best so far: by rates that no schedule
exceeds, or because a request that is alone would already take too long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bide.facts.gpus import Gpu
from bide.plan.asks import Asks, asks_of
from bide.plan.candidate import Candidate
from bide.plan.disaggregated.capacity import PairCapacity
from bide.plan.disaggregated.option import most_replicas, pooled_option
from bide.plan.disaggregated.pair import Pair
from bide.plan.disaggregated.why_not import too_many, too_slow, unable, unlinked
from bide.plan.frontier import probes_of, waits
from bide.plan.offer import Reached, Terms
from bide.plan.option import Option
from bide.plan.question import Service
from bide.plan.reading import shown_probes
from bide.plan.rejection import Rejection
from bide.runners import done

_SMALLEST = Pair(1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class PooledOffer:
    """Of one kind of GPU. `reached` goes with `frontier.waits`: None where colocated replicas take no more GPUs."""

    option: Option | None
    rejections: tuple[Rejection, ...]
    reached: tuple[Reached | None, ...]
    candidates: int
    impossible: int
    simulated: int
    runs: int


def pooled_offer(
    service: Service, gpu: Gpu, candidates: Sequence[Candidate], terms: Terms, colocated: Sequence[Reached]
) -> PooledOffer:
    """The fleet of the fewest GPUs for a service, with one of these candidates as its replicas.

    `colocated`: what replicas that do both reach for each wait; nothing where there are none.
    """
    refused = [found for found in map(unable, candidates) if found]
    able = [candidate for candidate in candidates if unable(candidate) is None]
    search = _Search(service, gpu, able, terms)
    option = search.option()
    reasons = (refused[:1] + ([search.why_not()] if able else [])) if option is None else []
    return PooledOffer(
        option,
        tuple(reasons),
        search.reached(colocated),
        len(candidates),
        len(refused),
        sum(trial.is_tried for trial in search.trials),
        sum(trial.runs for trial in search.trials),
    )


class _Search:
    """The trials of one kind of GPU, in the order of the space."""

    def __init__(self, service: Service, gpu: Gpu, candidates: Sequence[Candidate], terms: Terms) -> None:
        self.service, self.gpu, self.terms = service, gpu, terms
        self.planned_rps = service.traffic.planned_rps
        self.waits = waits(service) if terms.frontier else ()
        probes = dict.fromkeys((*shown_probes(service), *probes_of(self.waits)))
        self.trials = [PairCapacity(one, tuple(probes), terms.fleet.router) for one in candidates]
        self._least = [trial.least(self.planned_rps).replicas for trial in self.trials]

    def option(self) -> Option | None:
        """What takes the fewest GPUs; of several, the first in the space."""
        found = self._best(asks_of(self.service), self.terms.hardware.max_gpus, [*self._least])
        return pooled_option(*found, self.terms) if found else None

    def _best(self, asks: Asks, most_gpus: int, floors: list[int]) -> tuple[PairCapacity, Pair] | None:
        """The trial and its pair of at most so many GPUs, the spare ones among them.

        `floors`: the replicas that each trial certainly needs; raised by what is learnt.
        """
        found: tuple[PairCapacity, Pair] | None = None
        order = sorted(range(len(self.trials)), key=lambda number: (self._gpus(number, floors[number]), number))
        best = most_gpus, len(self.trials)
        for number in order:
            done(1 / len(self.trials) / (1 + len(self.waits)))
            trial, size = self.trials[number], self.trials[number].candidate.gpus
            most = (best[0] - (number > best[1])) // size - 2 * self.terms.spare
            if floors[number] > most or not trial.alone_keeps(_SMALLEST, asks):
                continue
            pair = trial.fewest(self.planned_rps, most, asks)
            floors[number] = max(floors[number], pair.replicas if pair else most + 1)
            if pair is not None:
                found, best = (trial, pair), (self._gpus(number, pair.replicas), number)
        return found

    def _gpus(self, number: int, replicas: int) -> int:
        """For so many replicas and the spare ones of both pools."""
        return (replicas + 2 * self.terms.spare) * self.trials[number].candidate.gpus

    def reached(self, colocated: Sequence[Reached]) -> tuple[Reached | None, ...]:
        """For each wait a fleet of fewer GPUs than colocated replicas take; None where there is none.

        Longest wait first: what a trial needs at one is the least that it needs at the next shorter of its kind.
        """
        most, found, floors = self.terms.hardware.max_gpus, list[Reached | None](), [*self._least]
        known: list[Reached | None] = [*colocated] or [None for _wait in self.waits]
        for number in reversed(range(len(self.waits))):
            wait, one = self.waits[number], known[number]
            if number + 1 == len(self.waits) or wait.kind != self.waits[number + 1].kind:
                floors = [*self._least]
            found.append(self._point(wait.asks, one.gpus - 1 if one and one.gpus is not None else most, floors))
        return tuple(reversed(found))

    def _point(self, asks: Asks, most_gpus: int, floors: list[int]) -> Reached | None:
        found = self._best(asks, most_gpus, floors)
        if found is None:
            return None
        trial, pair = found
        size, spare = trial.candidate.gpus, 2 * self.terms.spare
        surely = trial.fewest(self.planned_rps, most_replicas(size, self.terms), asks, "slow")
        gpus = None if surely is None else (max(surely.replicas, pair.replicas) + spare) * size
        return Reached(trial.candidate.pooled_name(pair), (pair.replicas + spare) * size, gpus)

    def why_not(self) -> Rejection:
        """Of the candidate that comes nearest: too slow for anybody, or too many for what is allowed."""
        asks, most = asks_of(self.service), self.terms.hardware.max_gpus
        linked = [trial for trial in self.trials if trial.link(_SMALLEST) is not None]
        if not linked:
            return unlinked(self.gpu)
        quick = [trial for trial in linked if trial.may(asks)]
        if not quick:
            nearest = min(linked, key=lambda one: max(one.alone(_SMALLEST, ask) / ask.most for ask in asks))
            return too_slow(nearest, asks)
        return min((self._too_many(trial, most) for trial in quick), key=lambda found: found.needed or 0.0)

    def _too_many(self, trial: PairCapacity, most_gpus: int) -> Rejection:
        """What it would take, up to twice of what is allowed; else what it takes at least."""
        size, spare = trial.candidate.gpus, 2 * self.terms.spare
        least = trial.floor(self.planned_rps, asks_of(self.service), "likely").replicas + spare
        if least * size <= most_gpus:
            pair = trial.fewest(self.planned_rps, 2 * most_gpus // size - spare, asks_of(self.service))
            if pair is not None:
                return too_many(trial, pair, (pair.replicas + spare) * size, most_gpus)
        return too_many(trial, None, max(most_gpus + 1, least * size), most_gpus)
