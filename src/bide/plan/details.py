"""What is said of the chosen option beyond its size: fleets around it, doublings, the whole fleet, what moves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bide.interval import Interval, spanning
from bide.plan.answer import Option, Pools, ServicePlan, Verified
from bide.plan.asks import asks_of
from bide.plan.capacity import Capacity
from bide.plan.choice import bill_of
from bide.plan.disaggregated.capacity import PairCapacity
from bide.plan.disaggregated.option import pooled_rows
from bide.plan.disaggregated.verify import pooled_proven
from bide.plan.doublings import doublings, rows
from bide.plan.measuring import bench_command
from bide.plan.offer import Terms
from bide.plan.question import Question
from bide.plan.reading import capacity_of, shown_probes
from bide.plan.sensitivity import Sensitivity
from bide.plan.verify import proven
from bide.runners import done


def detailed(plan: ServicePlan, terms: Terms, question: Question, left_gpus: int) -> ServicePlan:
    """The plan of one service with all that its chosen option can be asked; as it is where there is none.

    Where the whole fleet does not hold with so many replicas, the option grows to what does, by at most `left_gpus`;
    and where another one is then cheaper, that is chosen.
    """
    if plan.chosen is None:
        return plan
    chosen, others, proof = chosen_again(plan.chosen, plan.others, terms, left_gpus)
    plan = replace(plan, chosen=chosen, others=others, verified=proof)
    command = bench_command(question, question.services.index(plan.service), chosen)
    if chosen.pools is not None:
        return replace(_pooled(plan, chosen, chosen.pools, terms), measure_with=command)
    return replace(_colocated(plan, chosen, terms), measure_with=command)


def chosen_again(
    first: Option, others: Sequence[Option], terms: Terms, left_gpus: int
) -> tuple[Option, tuple[Option, ...], Verified]:
    """The cheapest option as the whole fleets turn out, the others by their bills, and its run.

    Options are run whole from the cheapest on, until none that was not run is cheaper than the best that was.
    """
    most = first.gpus + max(0, left_gpus)
    waiting = [option for option in others if option.gpus <= most]
    best, proof = _proven(first, terms, left_gpus)
    ran, overtaken = [best], []
    while proof.added or not proof.met:
        cheaper = [option for option in waiting if not proof.met or bill_of(option) < bill_of(best)]
        if not cheaper:
            break
        option = min(cheaper, key=bill_of)
        waiting.remove(option)
        found, its_proof = _proven(option, terms, most - option.gpus)
        ran.append(found)
        if (not its_proof.met, bill_of(found)) < (not proof.met, bill_of(best)):
            overtaken.append(best.name)
            best, proof = found, its_proof
    left = [option for option in others if _is_other(option, ran)]
    rest = sorted([*left, *(option for option in ran if option is not best)], key=bill_of)
    return best, tuple(rest), replace(proof, overtaken=tuple(overtaken))


def _is_other(option: Option, ran: Sequence[Option]) -> bool:
    """Whether an option is none of those that were run, whose candidate it may share with one in the other way."""
    return all(one.candidate is not option.candidate or (one.pools is None) != (option.pools is None) for one in ran)


def _proven(option: Option, terms: Terms, left_gpus: int) -> tuple[Option, Verified]:
    return proven(option, terms, left_gpus) if option.pools is None else pooled_proven(option, terms, left_gpus)


def _colocated(plan: ServicePlan, chosen: Option, terms: Terms) -> ServicePlan:
    service, trial = plan.service, capacity_of(chosen.candidate, router=terms.fleet.router)
    fast = trial.fewest(service.traffic.planned_rps, chosen.replicas, asks_of(service), "fast")
    chosen = replace(chosen, replicas_fast=fast or chosen.replicas, kept_rps=_kept(trial, chosen.replicas))
    fleets = tuple(rows(chosen, trial, terms))
    done(0.2)
    doubled = tuple(doublings(chosen, fleets, terms))
    done(0.2)
    swings = Sensitivity(chosen, trial, terms).swings()
    done(0.2)
    return replace(plan, chosen=chosen, rows=fleets, doublings=doubled, swings=swings)


def _pooled(plan: ServicePlan, chosen: Option, pools: Pools, terms: Terms) -> ServicePlan:
    """Doublings and what moves the answer are not looked at: either pool would grow by a rule of its own."""
    service, asks = plan.service, asks_of(plan.service)
    trial = PairCapacity(chosen.candidate, shown_probes(service), terms.fleet.router)
    fast = trial.fewest(service.traffic.planned_rps, chosen.replicas, asks, "fast") or pools.pair
    slow, likely, quick = (trial.highest_rate(pools.pair, asks, end) for end in ("slow", "likely", "fast"))
    each = chosen.replicas
    kept = spanning(slow / each, likely / each, max(likely, quick) / each) if likely else None
    pools = replace(pools, fast=fast)
    chosen = replace(chosen, replicas_fast=fast.replicas, kept_rps=kept, pools=pools)
    return replace(plan, chosen=chosen, rows=pooled_rows(trial, chosen, terms))


def _kept(trial: Capacity, replicas: int) -> Interval | None:
    """The highest rate of one replica of so many that keeps what is asked, at the three ends."""
    slow, likely, fast = (trial.highest_rate(end=end, replicas=replicas) for end in ("slow", "likely", "fast"))
    return None if likely is None else spanning(slow or 0.0, likely, fast or likely)
