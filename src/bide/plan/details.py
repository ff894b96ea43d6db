"""What is said of the chosen option beyond its size: fleets around it, doublings, the whole fleet, what moves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bide.interval import Interval, spanning
from bide.plan.answer import ServicePlan
from bide.plan.asks import Asks, asks_of
from bide.plan.candidate import End
from bide.plan.choice import bill_of
from bide.plan.disaggregated.verify import pooled_proven
from bide.plan.doublings import doublings, rows
from bide.plan.findings import Verified
from bide.plan.fleets import Fleets, S, carried_rps
from bide.plan.fleets_of import fleets_of
from bide.plan.measured.capacity import measured_of
from bide.plan.measuring import bench_command
from bide.plan.offer import Terms
from bide.plan.option import Option
from bide.plan.question import Question
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
    return replace(_told(plan, chosen, fleets_of(chosen, terms.fleet.router), terms), measure_with=command)


def chosen_again(
    first: Option, others: Sequence[Option], terms: Terms, left_gpus: int
) -> tuple[Option, tuple[Option, ...], Verified | None]:
    """The cheapest option as the whole fleets turn out, the others by their bills, and its run (None: measured).

    Options are run whole from the cheapest on, until none that was not run is cheaper than the best that was.
    """
    most = first.gpus + max(0, left_gpus)
    waiting = [option for option in others if option.gpus <= most]
    best, proof = _proven(first, terms, left_gpus)
    ran, overtaken = [best], []
    while proof is not None and (proof.added or not proof.met):
        cheaper = [option for option in waiting if not proof.met or bill_of(option) < bill_of(best)]
        if not cheaper:
            break
        option = min(cheaper, key=bill_of)
        waiting.remove(option)
        found, its_proof = _proven(option, terms, most - option.gpus)
        ran.append(found)
        if (_fails(its_proof), bill_of(found)) < (_fails(proof), bill_of(best)):
            overtaken.append(best.name)
            best, proof = found, its_proof
    left = [option for option in others if _is_other(option, ran)]
    rest = sorted([*left, *(option for option in ran if option is not best)], key=bill_of)
    return best, tuple(rest), replace(proof, overtaken=tuple(overtaken)) if proof else None


def _fails(proof: Verified | None) -> bool:
    return proof is not None and not proof.met


def _is_other(option: Option, ran: Sequence[Option]) -> bool:
    """Whether an option is none of those that were run, whose candidate it may share with one in the other way."""
    return all(one.candidate is not option.candidate or (one.pools is None) != (option.pools is None) for one in ran)


def _proven(option: Option, terms: Terms, left_gpus: int) -> tuple[Option, Verified | None]:
    """Replicas that were measured are not run again: the simulation may be further off than the measurement."""
    if option.pools is None and measured_of(option.candidate):
        return option, None
    return proven(option, terms, left_gpus) if option.pools is None else pooled_proven(option, terms, left_gpus)


def _told(plan: ServicePlan, chosen: Option, fleets: Fleets[S], terms: Terms) -> ServicePlan:
    """The plan with fleets around the chosen one, doublings, and what moves the answer."""
    planned_rps, asks = plan.service.traffic.planned_rps, asks_of(plan.service)
    answer = fleets.answer(chosen)
    fast = fleets.fewest(planned_rps, chosen.replicas, asks, "fast")
    chosen = fleets.with_fast(chosen, answer if fast is None else fast)
    chosen = replace(chosen, kept_rps=_kept(fleets, answer, asks))
    found = tuple(rows(chosen, fleets, terms))
    most = terms.hardware.max_gpus // chosen.candidate.gpus - chosen.spare
    around = tuple(fleets.around(chosen, most))
    done(0.2)
    doubled = tuple(doublings(chosen, fleets, found, terms))
    done(0.2)
    swings = Sensitivity(chosen, fleets, terms).swings()
    return replace(plan, chosen=chosen, rows=found, around=around, doublings=doubled, swings=swings)


def _kept(fleets: Fleets[S], size: S, asks: Asks) -> Interval | None:
    """The highest rate of one replica of a fleet that keeps what is asked, at the three ends; None where none does."""
    ends: tuple[End, ...] = ("slow", "likely", "fast")
    slow, likely, fast = (carried_rps(fleets, size, asks, end) / fleets.replicas(size) for end in ends)
    return spanning(slow, likely, max(likely, fast)) if likely else None
