"""The whole fleet at the planned rate, with its router, before anybody buys it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bide.bootstrap import block_count, percentile_intervals
from bide.interval import Interval, spanning
from bide.plan.asks import EVERYBODY, Ask, Probe, asks_of
from bide.plan.basket import Basket, basket_with
from bide.plan.capacity import Capacity
from bide.plan.findings import Verified
from bide.plan.offer import Terms, option_of
from bide.plan.option import Option
from bide.plan.question import Goodput, Measure, Service
from bide.plan.reading import capacity_of, shown_probes
from bide.plan.trial import of_requests, percent_of, taken
from bide.runners import done
from bide.simulate.fleet.rules import BLIND, FleetRules, RouterName
from bide.simulate.fleet.run import FleetRun, run_fleet
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.summary.token_gaps import token_gaps
from bide.simulate.summary.window import Window, measured, queue_of, window_of
from bide.workload.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

_EACH, _FEWEST, _MOST = 4096, 8192, 65_536
"""Requests: so many a replica, within these in all."""
_MOST_WATCHED = 16_384
"""Of a fleet whose router looks at its replicas: those are run side by side, which takes longer."""
_MORE = 0.05
"""Of the replicas, at least one, that are added at a time where the fleet does not hold."""
TRIES = 12


@dataclass(frozen=True, eq=False)
class Proven:
    """A fleet that was run, and which of its requests are measured."""

    service: Service
    setup: ReplicaSetup
    basket: Basket
    at_rate: Traffic
    run: FleetRun
    window: Window
    loaded: bool
    """Whether those that answer are sent the prompts' caches."""

    @property
    def inside(self) -> Booleans:
        return measured(self.run, self.window)

    @property
    def blocks(self) -> int:
        stay_s = float((self.run.table.last_token_s - self.run.table.arrival_s).mean())
        return block_count(self.window.seconds, stay_s)

    def values(self, probe: Probe) -> Floats:
        """Of each request, or of each gap between tokens at the first engine that answers."""
        measure = probe.measure
        if isinstance(measure, Measure) and measure.latency == "itl":
            return token_gaps(self.setup, self.at_rate, self.run, self.window, self.loaded)[1]
        inside = self.inside
        return of_requests(probe, self.run.table)[inside & self._of(probe) if probe.group != EVERYBODY else inside]

    def _of(self, probe: Probe) -> Booleans:
        return self.basket.groups[probe.group]

    def keeps_all(self) -> bool:
        """Whether everything that the service asks is kept."""
        return all(self.keeps(ask) for ask in asks_of(self.service))

    def keeps(self, ask: Ask) -> bool:
        """By the same measure as a single replica."""
        return taken(ask.probe, self.values(ask.probe))[1] <= ask.most

    def interval(self, probe: Probe) -> Interval:
        """As measured, with 95 % of redrawn runs (`bide.bootstrap`); a mean without."""
        import numpy as np

        values, percent = self.values(probe), percent_of(probe)
        there = np.isfinite(values)
        if percent is None or not there.any():
            value = taken(probe, values)[0]
            return Interval(value, value, value)
        times_s = self.run.table.arrival_s[self.inside]
        times_s = times_s[there] if len(times_s) == len(there) else np.arange(float(there.sum()))
        low, high = percentile_intervals(times_s, values[there], (percent,), self.blocks)[0]
        return spanning(low, float(np.percentile(values[there], percent)), high)


def verified(trial: Capacity, probes: tuple[Probe, ...], replicas: int, most: int, router: RouterName) -> Verified:
    """The fleet of `replicas`, or of as many more, up to `most`, as it takes to keep what is asked."""
    count = replicas
    fleet = _run(trial, count, router)
    for _attempt in range(TRIES):
        if count >= most or fleet.keeps_all():
            break
        count = min(most, count + max(1, round(_MORE * count)))
        fleet = _run(trial, count, router)
    proof = proof_of(fleet, probes, count, router)
    return replace(proof, added=count - replicas, fewer=_one_fewer(trial, probes, count, router))


def _one_fewer(trial: Capacity, probes: tuple[Probe, ...], count: int, router: RouterName) -> Verified | None:
    """Whether the last replica is needed."""
    rate = trial.candidate.service.traffic.planned_rps / max(1, count - 1)
    if count == 1 or rate > trial.saturated_rps():
        return None
    return proof_of(_run(trial, count - 1, router), probes, count - 1, router)


def proof_of(fleet: Proven, probes: tuple[Probe, ...], count: int, router: RouterName) -> Verified:
    """What a run showed of `probes`, and whether it kept what the service asks."""
    measures = {probe.measure: probe for probe in probes if isinstance(probe.measure, Measure)}
    goodput = next((probe for probe in probes if isinstance(probe.measure, Goodput)), None)
    return Verified(
        count,
        router,
        int(fleet.inside.sum()),
        {measure: fleet.interval(probe) for measure, probe in measures.items()},
        _share(fleet, goodput) if goodput else None,
        fleet.keeps_all(),
        not queue_of(fleet.run, window_of(fleet.run)).grows,
    )


def proven(
    option: Option, terms: Terms, left_gpus: int, probes: tuple[Probe, ...] | None = None
) -> tuple[Option, Verified]:
    """The option with as many more replicas as the whole fleet turns out to need, and its run.

    `left_gpus`: what the hardware has beyond everything that is bought. `probes`: what is told of the run, in place of
    what the service's own readings show.
    """
    service = option.candidate.service
    trial = capacity_of(option.candidate, router=terms.fleet.router)
    most = option.replicas + max(0, left_gpus) // option.candidate.gpus
    proof = verified(trial, probes or shown_probes(service), option.replicas, most, terms.fleet.router)
    if not proof.added:
        return option, proof
    grown = option_of(trial, proof.replicas, terms)
    surely = None if grown.replicas_surely is None else max(grown.replicas, grown.replicas_surely)
    return replace(grown, replicas_surely=surely), proof


def _run(trial: Capacity, replicas: int, router: RouterName) -> Proven:
    return run_whole(trial.setup("likely"), trial.candidate.service, FleetRules(replicas=replicas, router=router))


def run_whole(setup: ReplicaSetup, service: Service, rules: FleetRules) -> Proven:
    """The fleet at the planned rate, over so many of the service's requests as make a run for each replica."""
    most = _MOST if rules.router in BLIND else _MOST_WATCHED
    basket = basket_with(service, min(most, max(_FEWEST, _EACH * rules.all_replicas)))
    at_rate = replace(basket.traffic, arrival_s=basket.traffic.arrival_s / service.traffic.planned_rps)
    run = run_fleet(setup, at_rate, rules)
    done(0.15)
    return Proven(service, setup, basket, at_rate, run, window_of(run), rules.split)


def _share(fleet: Proven, goodput: Probe) -> Interval:
    """The requests that keep every limit, with the scatter between parts of the run."""
    import numpy as np

    good = (fleet.values(goodput) <= 1.0).astype(np.float64)
    means = [float(part.mean()) for part in np.array_split(good, fleet.blocks) if len(part)]
    error = 1.96 * float(np.std(means, ddof=1)) / len(means) ** 0.5
    share = float(good.mean())
    return Interval(max(0.0, share - error), share, min(1.0, share + error))
