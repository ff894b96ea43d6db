"""A disaggregated fleet as an option of the plan, with its reading."""

from __future__ import annotations

import math

from bide.interval import Interval, spanning
from bide.plan.asks import Probe, asks_of
from bide.plan.candidate import ENDS
from bide.plan.cost import cost_of, price_of
from bide.plan.disaggregated.capacity import PairCapacity
from bide.plan.disaggregated.pair import Pair
from bide.plan.disaggregated.stages import Stage
from bide.plan.findings import Reading
from bide.plan.offer import Terms
from bide.plan.option import Option, Pools
from bide.plan.reading import bound_of, shown_measures


def most_replicas(gpus: int, terms: Terms) -> int:
    """Replicas of so many GPUs that the hardware allows beside the spare ones, of which each pool has its own."""
    return terms.hardware.max_gpus // gpus - 2 * terms.spare


def pooled_option(trial: PairCapacity, pair: Pair, terms: Terms) -> Option:
    """So many replicas for each stage, which are enough at the likely end."""
    candidate, service, hardware = trial.candidate, trial.service, terms.hardware
    planned_rps, asks = service.traffic.planned_rps, asks_of(service)
    price = price_of(candidate.gpu, hardware.prices, hardware.price_multiplier, hardware.price_note)
    surely = trial.fewest(planned_rps, most_replicas(candidate.gpus, terms), asks, "slow")
    reading = pooled_reading(trial, pair)
    bought = (pair.replicas + 2 * terms.spare) * candidate.gpus
    slow, likely, fast = (trial.saturated_rps(pair, end) / pair.replicas for end in ("slow", "likely", "fast"))
    return Option(
        candidate,
        pair.replicas,
        None if surely is None else max(surely.replicas, pair.replicas),
        reading,
        spanning(slow, likely, fast),
        price,
        cost_of(bought, price, service, reading.prefill_share),
        spare=2 * terms.spare,
        pools=_pools(trial, pair, surely),
    )


def _pools(trial: PairCapacity, pair: Pair, surely: Pair | None) -> Pools:
    link, seen = trial.link(pair), trial.at(trial.service.traffic.planned_rps, pair)
    assert link is not None  # nothing is enough without one
    return Pools(
        pair,
        surely,
        None,
        _rates(trial, "prompts"),
        _rates(trial, "answers"),
        link,
        seen.transfer_s if seen else math.nan,
        seen.running / pair.decode if seen else math.nan,
    )


def _rates(trial: PairCapacity, stage: Stage) -> Interval:
    fast, likely, slow = (trial.worked_off_rps(stage, end) for end in ENDS)
    return spanning(slow, likely, fast)


def pooled_reading(trial: PairCapacity, pair: Pair) -> Reading:
    """The fleet at the planned rate. Rate and requests that run are for a replica, over both pools.

    `prefill_share` is that of the GPUs which compute prompts.
    """
    service, planned_rps = trial.service, trial.service.traffic.planned_rps
    seen = trial.at(planned_rps, pair)
    goodput = service.goodput
    return Reading(
        planned_rps / pair.replicas,
        {measure: _interval(trial, pair, Probe(measure)) for measure in shown_measures(service.patience)},
        seen.running / pair.replicas if seen else None,
        pair.prefill / pair.replicas,
        bound_of(trial.candidate, seen.running / pair.decode) if seen else "unstable",
        goodput_ratio=_interval(trial, pair, Probe(goodput)) if goodput else None,
        cached_share=seen.cached_share if seen else None,
        preemptions_per_request=seen.preemptions_per_request if seen else None,
    )


def _interval(trial: PairCapacity, pair: Pair, probe: Probe) -> Interval | None:
    """From the fast to the slow end; an infinite end where only the slow one is too busy."""
    fast, likely, slow = (trial.value(trial.service.traffic.planned_rps, pair, probe, end) for end in ENDS)
    return spanning(fast, likely, slow) if math.isfinite(likely) else None
