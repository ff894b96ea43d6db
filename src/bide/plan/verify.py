"""The whole fleet at the planned rate, with its router, before anybody buys it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bide.bootstrap import block_count, percentile_intervals
from bide.interval import Interval, spanning
from bide.plan.answer import Option, Verified
from bide.plan.asks import Ask, Probe, asks_of
from bide.plan.basket import Basket, basket_with
from bide.plan.capacity import Capacity
from bide.plan.offer import Terms, option_of
from bide.plan.question import Goodput, Measure
from bide.plan.reading import capacity_of, shown_probes
from bide.plan.trial import percent_of, taken, values_of
from bide.simulate.fleet.rules import FleetRules, RouterName
from bide.simulate.fleet.run import FleetRun, run_fleet
from bide.simulate.summary.window import measured, queue_of, window_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

_EACH, _FEWEST, _MOST = 4096, 8192, 65_536
"""Requests: so many a replica, within these in all."""
_MOST_WATCHED = 16_384
"""Of a fleet whose router looks at its replicas: those are run side by side, which takes longer."""
_BLIND: tuple[RouterName, ...] = ("round-robin", "random")
_MORE = 0.05
"""Of the replicas, at least one, that are added at a time where the fleet does not hold."""
_TRIES = 12


@dataclass(frozen=True, eq=False)
class _Fleet:
    """A fleet that was run, and which of its requests are measured."""

    trial: Capacity
    basket: Basket
    run: FleetRun
    inside: Booleans
    blocks: int

    def values(self, probe: Probe) -> Floats:
        return values_of(self.trial.setup("likely"), self.basket, probe, self.run.table, self.inside)

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
    asks, count = asks_of(trial.candidate.service), replicas
    fleet = _run(trial, count, router)
    for _attempt in range(_TRIES):
        if count >= most or all(fleet.keeps(ask) for ask in asks):
            break
        count = min(most, count + max(1, round(_MORE * count)))
        fleet = _run(trial, count, router)
    proof = _proof(fleet, probes, count, router)
    return replace(proof, added=count - replicas, fewer=_one_fewer(trial, probes, count, router))


def _one_fewer(trial: Capacity, probes: tuple[Probe, ...], count: int, router: RouterName) -> Verified | None:
    """Whether the last replica is needed."""
    rate = trial.candidate.service.traffic.planned_rps / max(1, count - 1)
    if count == 1 or rate > trial.saturated_rps():
        return None
    return _proof(_run(trial, count - 1, router), probes, count - 1, router)


def _proof(fleet: _Fleet, probes: tuple[Probe, ...], count: int, router: RouterName) -> Verified:
    """What a run showed of `probes`, and whether it kept what the service asks."""
    measures = {probe.measure: probe for probe in probes if isinstance(probe.measure, Measure)}
    goodput = next((probe for probe in probes if isinstance(probe.measure, Goodput)), None)
    return Verified(
        count,
        router,
        int(fleet.inside.sum()),
        {measure: fleet.interval(probe) for measure, probe in measures.items()},
        _share(fleet, goodput) if goodput else None,
        all(fleet.keeps(ask) for ask in asks_of(fleet.trial.candidate.service)),
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


def _run(trial: Capacity, replicas: int, router: RouterName) -> _Fleet:
    service = trial.candidate.service
    most = _MOST if router in _BLIND else _MOST_WATCHED
    basket = basket_with(service, min(most, max(_FEWEST, _EACH * replicas)))
    at_rate = replace(basket.traffic, arrival_s=basket.traffic.arrival_s / service.traffic.planned_rps)
    run = run_fleet(trial.setup("likely"), at_rate, FleetRules(replicas=replicas, router=router))
    window = window_of(run)
    stay_s = float((run.table.last_token_s - run.table.arrival_s).mean())
    return _Fleet(trial, basket, run, measured(run, window), block_count(window.seconds, stay_s))


def _share(fleet: _Fleet, goodput: Probe) -> Interval:
    """The requests that keep every limit, with the scatter between parts of the run."""
    import numpy as np

    good = (fleet.values(goodput) <= 1.0).astype(np.float64)
    means = [float(part.mean()) for part in np.array_split(good, fleet.blocks) if len(part)]
    error = 1.96 * float(np.std(means, ddof=1)) / len(means) ** 0.5
    share = float(good.mean())
    return Interval(max(0.0, share - error), share, min(1.0, share + error))
