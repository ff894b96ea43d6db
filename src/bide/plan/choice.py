"""One way for each service, so that all together cost least and fit the number of GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from bide.plan.option import Option

Bill = tuple[int, float, int]
"""Options without a price, USD an hour, GPUs: compared in this order."""

Way = TypeVar("Way")


def bill_of(option: Option) -> Bill:
    """What an option weighs."""
    return int(option.cost is None), option.cost.usd_per_hour if option.cost else 0.0, option.gpus


def rank_of(option: Option) -> tuple[Bill, float]:
    """What an option weighs; of those that weigh the same, the one that needs fewer GPUs to be sure comes first."""
    return bill_of(option), math.inf if option.gpus_surely is None else option.gpus_surely


def bill_of_all(options: Sequence[Option]) -> Bill:
    """What several options weigh together."""
    return sum_of(bill_of(option) for option in options)


def sum_of(bills: Iterable[Bill]) -> Bill:
    """Several bills as one."""
    total: Bill = (0, 0.0, 0)
    for bill in bills:
        total = _sum(total, bill)
    return total


def cheapest_of(offers: Sequence[Sequence[Way]], max_gpus: int, bill: Callable[[Way], Bill]) -> tuple[Way, ...] | None:
    """The cheapest pick of one way from each offer with at most `max_gpus` in all; None where there is none.

    Picks that another one beats in both cost and GPUs are dropped service by service, so the exact
    optimum is found without trying every combination. Of ways that weigh the same, the first of an offer is picked.
    """
    picks: list[tuple[Bill, tuple[Way, ...]]] = [((0, 0.0, 0), ())]
    for offer in offers:
        grown = [(_sum(spent, bill(way)), (*pick, way)) for spent, pick in picks for way in offer]
        picks = _undominated([(spent, pick) for spent, pick in grown if spent[2] <= max_gpus])
    return picks[0][1] if picks else None


def _sum(one: Bill, other: Bill) -> Bill:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _undominated(picks: list[tuple[Bill, tuple[Way, ...]]]) -> list[tuple[Bill, tuple[Way, ...]]]:
    """Cheapest first, and each with fewer GPUs than all before it."""
    kept: list[tuple[Bill, tuple[Way, ...]]] = []
    for bill, pick in sorted(picks, key=lambda entry: entry[0]):
        if not kept or bill[2] < kept[-1][0][2]:
            kept.append((bill, pick))
    return kept
