"""What is bought for all services: a fleet for each, a shared one for some, a mixed one; whatever is cheapest.

All together may have so many GPUs. Services of one model are either all on one fleet or each on its own; every
combination of that over the models is tried, and within it the exact cheapest pick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import inf

from bide.plan.choice import Bill, bill_of, bill_of_all, cheapest_of, sum_of
from bide.plan.merging import merged
from bide.plan.option import Option
from bide.plan.question import Question
from bide.plan.sharing import SharedFleet, sharing_groups
from bide.plan.splitting import MixedFleet, Offering, cheapest_mixed

Way = Option | MixedFleet | SharedFleet


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """Of one service: the single fleet that it takes, or would take by itself; and a mixed one in its place."""

    option: Option | None
    mixed: MixedFleet | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Purchase:
    """A pick for each service, in order, and the fleets that some of them share."""

    picks: tuple[Pick, ...]
    shared: tuple[SharedFleet, ...] = ()
    fits: bool = True
    """Whether there may be so many GPUs."""


def purchase(question: Question, offers: Sequence[Sequence[Option]], offering: Offering) -> Purchase:
    """The cheapest for `question`, given each service's options, cheapest first. Services without any are left out."""
    single = [_ways(question, place, options, offering) for place, options in enumerate(offers)]
    groups = _shared(question, offers, offering) if question.fleet.share else []
    best: tuple[Bill, Purchase] | None = None
    for taken in chain.from_iterable(combinations(groups, count) for count in range(len(groups) + 1)):
        found = _picked(single, taken, question.hardware.max_gpus, offers)
        if found is not None and (best is None or found[0] < best[0]):
            best = found
    return best[1] if best else Purchase(tuple(Pick(_first(options)) for options in offers), fits=False)


def bill_of_way(way: Way) -> Bill:
    """What a fleet weighs, of whatever kind."""
    if isinstance(way, MixedFleet):
        return way.bill
    return bill_of(way.option if isinstance(way, SharedFleet) else way)


Group = tuple[tuple[int, ...], tuple[SharedFleet, ...]]
"""Services by place, and the fleets that could serve them all."""


def _ways(
    question: Question, place: int, options: Sequence[Option], offering: Offering
) -> tuple[Option | MixedFleet, ...]:
    """The options of a service, and a mixed fleet where that costs less than the first."""
    service = question.services[place]
    if not options or not question.fleet.split or not service.colocated or service.measured is not None:
        return tuple(options)
    mixed = cheapest_mixed(service, options[0], question.hardware, offering)
    return (mixed, *options) if mixed else tuple(options)


def _shared(question: Question, offers: Sequence[Sequence[Option]], offering: Offering) -> list[Group]:
    return [
        (places, _fleets(question, places, offers, offering))
        for places in sharing_groups(question.services)
        if all(offers[place] and question.services[place].measured is None for place in places)
    ]


def _fleets(
    question: Question, places: tuple[int, ...], offers: Sequence[Sequence[Option]], offering: Offering
) -> tuple[SharedFleet, ...]:
    """The cheapest, where it costs less than fleets apart; at any price where these are too many GPUs or have none."""
    services = tuple(question.services[place] for place in places)
    alone = tuple(offers[place][0] for place in places)
    missing, usd, gpus = bill_of_all(alone)
    below = inf if missing or gpus > question.hardware.max_gpus else usd
    together = merged(services)
    option = offering(together, question.hardware).cheapest(below)
    names = tuple(service.name for service in services)
    return (SharedFleet(names, together, option, alone),) if option else ()


def _picked(
    single: Sequence[tuple[Option | MixedFleet, ...]],
    taken: Sequence[Group],
    max_gpus: int,
    offers: Sequence[Sequence[Option]],
) -> tuple[Bill, Purchase] | None:
    """The cheapest pick where the groups `taken` share, and all others do not."""
    sharing = {place for places, _fleets in taken for place in places}
    apart = [place for place, ways in enumerate(single) if ways and place not in sharing]
    ways: list[tuple[Way, ...]] = [*(fleets for _places, fleets in taken), *(single[place] for place in apart)]
    found = cheapest_of(ways, max_gpus, bill_of_way)
    if found is None:
        return None
    shared = tuple(way for way in found if isinstance(way, SharedFleet))
    own = dict(zip(apart, (way for way in found if not isinstance(way, SharedFleet)), strict=True))
    picks = tuple(_pick(own.get(place), options) for place, options in enumerate(offers))
    return sum_of(bill_of_way(way) for way in found), Purchase(picks, shared)


def _pick(way: Option | MixedFleet | None, options: Sequence[Option]) -> Pick:
    if isinstance(way, MixedFleet):
        return Pick(way.single, way)
    return Pick(way or _first(options))


def _first(options: Sequence[Option]) -> Option | None:
    return options[0] if options else None
