"""How many GPUs: for each service the cheapest fleet that keeps the patience, found by simulating replicas.

The candidates are fixed by service and hardware (`plan.space`), each has one highest rate for a patience
(`plan.capacity`), and the answer is the cheapest of them all: so a longer patience never costs more, more
load never takes fewer GPUs, and another kind of GPU to choose from never costs more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from bide.i18n import _
from bide.physics.profile import Profile, load_profile
from bide.plan.answer import Plan, ServicePlan
from bide.plan.both_offers import offer_of
from bide.plan.cheapest import Field
from bide.plan.choice import rank_of
from bide.plan.cost import HOURS_PER_MONTH, price_of
from bide.plan.details import detailed
from bide.plan.findings import FrontierPoint, Tried
from bide.plan.frontier import Wait, waits
from bide.plan.offer import GpuOffer, Terms
from bide.plan.option import Option
from bide.plan.proving import kept_shared, operated
from bide.plan.purchase import Pick, Purchase, purchase
from bide.plan.question import Fleet, Hardware, Question, Service
from bide.plan.rejection import Rejection
from bide.runners import Runner, heard, serial

_WORTH_TELLING = 0.01
"""Of a piece of work: what comes in smaller parts is told together."""
_NEARLY = 0.99


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """How far the search is. `best`: the cheapest option of each service so far, None where none was found yet."""

    done: float
    total: int
    """Kinds of GPU over all services, and one more for each service: the run of its whole fleet and what moves it."""
    candidates: int
    """Looked at so far."""
    best: tuple[Option | None, ...]


def _silent(_progress: Progress) -> None:
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """For one service: the best option of each GPU and size of replica, cheapest first, and why others have none."""

    options: tuple[Option, ...]
    rejections: tuple[Rejection, ...]
    tried: Tried
    by_gpu: tuple[GpuOffer, ...] = ()


def plan(
    question: Question,
    run: Runner = serial,
    profile: Path | None = None,
    progress: Callable[[Progress], None] = _silent,
) -> Plan:
    """The cheapest fleet for each service, or for several; `run` hands out the kinds of GPU.

    `profile`: as in `load_profile`, which raises BadInput.
    """
    hardware, found = question.hardware, load_profile(profile)
    terms = Terms(hardware, question.fleet, found, frontier=True)
    watched = _Watched(question, progress)
    with heard(watched.share):
        return _planned(question, terms, run, watched, profile.name if profile else "")


def _planned(question: Question, terms: Terms, run: Runner, watched: _Watched, profile_name: str) -> Plan:
    hardware = terms.hardware
    offers = _offers(question, terms, run, watched)
    options = [offer.options for offer in offers]
    bought = purchase(question, options, Field.under(terms))
    plans = [_service_plan(*each, hardware) for each in zip(question.services, bought.picks, offers, strict=True)]
    services, left_gpus = _checked(plans, bought, terms, question, watched)
    over_limit = None if bought.fits else _too_many([each for each in options if each], hardware)
    shared = kept_shared(bought.shared, services, terms, left_gpus)
    return Plan(question, services, terms.profile, over_limit, profile_name, shared)


def offer(service: Service, hardware: Hardware, profile: Profile, fleet: Fleet | None = None) -> Offer:
    """The options for one service, in this process; without a frontier."""
    terms = Terms(hardware, fleet or Fleet(), profile)
    question = Question((service,), hardware)
    return _offers(question, terms, serial, _Watched(question, _silent))[0]


class _Watched:
    """How far a plan is: whole pieces of work, and shares of those in hand, told once they are worth a look."""

    def __init__(self, question: Question, tell: Callable[[Progress], None]) -> None:
        self.found: list[list[GpuOffer]] = [[] for _service in question.services]
        kinds = len({gpu.id for gpu in question.hardware.gpus})
        self._total, self._tell = len(question.services) * (kinds + 1), tell
        self._finished, self._begun, self._told = 0, 0.0, 0.0

    def share(self, share: float) -> None:
        """So much more of a piece in hand; never as far as if all those pieces were finished."""
        self._begun = min(self._begun + share, self._total - self._finished - 1 + _NEARLY)
        if self._finished + self._begun >= self._told + _WORTH_TELLING:
            self.say()

    def finished(self) -> None:
        """A piece of work; its shares are of the past."""
        self._finished += 1
        self._begun = max(0.0, self._begun - 1)
        self.say()

    def say(self) -> None:
        self._told = max(self._told, self._finished + self._begun)
        best = tuple(
            min((option for one in results for option in one.options), key=rank_of, default=None)
            for results in self.found
        )
        candidates = sum(one.candidates for results in self.found for one in results)
        self._tell(Progress(self._told, self._total, candidates, best))


def _offers(question: Question, terms: Terms, run: Runner, watched: _Watched) -> tuple[Offer, ...]:
    """Every service's options; the kinds of GPU are handed out, the services in turn."""
    gpus = {gpu.id: gpu for gpu in terms.hardware.gpus}.values()
    work = [(number, gpu) for number in range(len(question.services)) for gpu in gpus]
    items = [(question.services[number], gpu) for number, gpu in work]
    started_s = perf_counter()
    for (number, _gpu), result in zip(work, run(partial(offer_of, terms=terms), items), strict=True):
        watched.found[number].append(result)
        watched.finished()
    return tuple(
        _offer(one, results, terms.hardware, perf_counter() - started_s)
        for one, results in zip(question.services, watched.found, strict=True)
    )


def _offer(service: Service, results: Sequence[GpuOffer], hardware: Hardware, seconds: float) -> Offer:
    options = sorted((option for one in results for option in one.options), key=rank_of)
    rejections = [rejection for one in results for rejection in one.rejections]
    if not options and not rejections:
        rejections = [_no_group(service, hardware)]
    able = sum(one.candidates - one.impossible for one in results)
    simulated = sum(one.simulated for one in results)
    tried = Tried(
        candidates=sum(one.candidates for one in results),
        impossible=sum(one.impossible for one in results),
        pruned=able - simulated,
        simulated=simulated,
        runs=sum(one.runs for one in results),
        seconds=seconds,
    )
    return Offer(tuple(options), tuple(rejections), tried, tuple(results))


def _no_group(service: Service, hardware: Hardware) -> Rejection:
    """No replica is small enough."""
    tp = service.engine.get("tp", 1)
    reason = _("a replica takes {needed} GPUs; at most {most} are allowed").format(needed=tp, most=hardware.max_gpus)
    nearest = _("Allow more (hardware.max_gpus), or a smaller tp.")
    return Rejection(service.name, reason + ".", float(str(tp)), hardware.max_gpus, "GPUs", nearest)


def _checked(
    plans: Sequence[ServicePlan], bought: Purchase, terms: Terms, question: Question, watched: _Watched
) -> tuple[tuple[ServicePlan, ...], int]:
    """The plans with their fleets run whole, and how many GPUs nobody has then.

    A fleet that does not hold grows by GPUs that nobody has; one that is not bought, by as many as it would find.
    """
    most, sharing = question.hardware.max_gpus, {name for fleet in bought.shared for name in fleet.services}
    fleets = [option for plan in plans if plan.service.name not in sharing for option in plan.bought]
    left = most - sum(option.gpus for option in (*fleets, *(fleet.option for fleet in bought.shared)))
    checked: list[ServicePlan] = []
    for plan in plans:
        alone, before = plan.service.name in sharing, sum(option.gpus for option in plan.bought)
        spent = plan.chosen.gpus if plan.chosen else 0
        found = detailed(plan, terms, question, most - spent if alone else left + before - spent)
        checked.append(operated(found, terms, left))
        watched.finished()
        if not alone:
            left += before - sum(option.gpus for option in checked[-1].bought)
    return tuple(checked), left


def _service_plan(service: Service, pick: Pick, found: Offer, hardware: Hardware) -> ServicePlan:
    points = _frontier(service, found, hardware)
    return ServicePlan(
        service,
        pick.option,
        tuple(option for option in found.options if option is not pick.option),
        (),
        found.rejections,
        frontier=tuple(point for wait, point in points if wait.kind == "one"),
        together=tuple(point for wait, point in points if wait.kind == "all"),
        streaming=tuple(point for wait, point in points if wait.kind == "streaming"),
        tried=found.tried,
        mixed=pick.mixed,
    )


def _frontier(service: Service, found: Offer, hardware: Hardware) -> list[tuple[Wait, FrontierPoint]]:
    """For each wait the cheapest over all groups."""
    return [(wait, _point(wait, number, found, hardware)) for number, wait in enumerate(waits(service))]


def _point(wait: Wait, number: int, found: Offer, hardware: Hardware) -> FrontierPoint:
    best: tuple[tuple[int, float, int, float], FrontierPoint] | None = None
    for result in found.by_gpu:
        reached = result.reached[number]
        if reached.gpus is None:
            continue
        price = price_of(result.gpu, hardware.prices, hardware.price_multiplier)
        usd = price.usd_per_hour * reached.gpus if price else None
        month = None if usd is None else usd * HOURS_PER_MONTH
        point = FrontierPoint(wait.measure, wait.seconds, reached.name, reached.gpus, reached.gpus_surely, month)
        rank = (int(usd is None), usd or 0.0, reached.gpus, reached.gpus_surely or math.inf)
        if best is None or rank < best[0]:
            best = rank, point
    return best[1] if best else FrontierPoint(wait.measure, wait.seconds, "", None, None, None)


def _too_many(offers: Sequence[Sequence[Option]], hardware: Hardware) -> Rejection:
    """Every service has an answer, but not all together."""
    needed = sum(min(option.gpus for option in options) for options in offers)
    reason = _("the services need {needed} GPUs together; at most {most} are allowed").format(
        needed=needed, most=hardware.max_gpus
    )
    nearest = _("Allow {needed}, wait longer, or lower the margin.").format(needed=needed)
    return Rejection(_("all services"), reason + ".", needed, hardware.max_gpus, "GPUs", nearest)
