"""What is said of the chosen option beyond its size: fleets around it, doublings, the whole fleet, what moves it."""

from __future__ import annotations

from dataclasses import replace

from bide.interval import Interval, spanning
from bide.plan.answer import ServicePlan
from bide.plan.asks import asks_of
from bide.plan.capacity import Capacity
from bide.plan.doublings import doublings, rows
from bide.plan.measuring import bench_command
from bide.plan.offer import Terms
from bide.plan.question import Question
from bide.plan.reading import capacity_of
from bide.plan.sensitivity import Sensitivity
from bide.plan.verify import proven


def detailed(plan: ServicePlan, terms: Terms, question: Question, left_gpus: int) -> ServicePlan:
    """The plan of one service with all that its chosen option can be asked; as it is where there is none.

    Where the whole fleet does not hold with so many replicas, the option grows to what does, by at most `left_gpus`.
    """
    if plan.chosen is None:
        return plan
    service, trial = plan.service, capacity_of(plan.chosen.candidate, router=terms.fleet.router)
    chosen, proof = proven(plan.chosen, terms, left_gpus)
    fast = trial.fewest(service.traffic.planned_rps, chosen.replicas, asks_of(service), "fast")
    chosen = replace(chosen, replicas_fast=fast or chosen.replicas, kept_rps=_kept(trial, chosen.replicas))
    fleets = tuple(rows(chosen, trial, terms))
    return replace(
        plan,
        chosen=chosen,
        rows=fleets,
        doublings=tuple(doublings(chosen, fleets, terms)),
        verified=proof,
        swings=Sensitivity(chosen, trial, terms).swings(),
        measure_with=bench_command(question, question.services.index(service), chosen),
    )


def _kept(trial: Capacity, replicas: int) -> Interval | None:
    """The highest rate of one replica of so many that keeps what is asked, at the three ends."""
    slow, likely, fast = (trial.highest_rate(end=end, replicas=replicas) for end in ("slow", "likely", "fast"))
    return None if likely is None else spanning(slow or 0.0, likely, fast or likely)
