"""One option for each service, so that all together cost least and fit the number of GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from bide.plan.answer import Option

Bill = tuple[int, float, int]
"""Options without a price, USD an hour, GPUs: compared in this order."""


def bill_of(option: Option) -> Bill:
    """What an option weighs."""
    return int(option.cost is None), option.cost.usd_per_hour if option.cost else 0.0, option.gpus


def cheapest_together(offers: Sequence[Sequence[Option]], max_gpus: int) -> tuple[Option, ...] | None:
    """The cheapest pick of one option from each offer with at most `max_gpus` in all; None where there is none.

    Picks that another one beats in both cost and GPUs are dropped service by service, so the exact
    optimum is found without trying every combination.
    """
    picks: list[tuple[Bill, tuple[Option, ...]]] = [((0, 0.0, 0), ())]
    for offer in offers:
        grown = [(_sum(bill, bill_of(option)), (*pick, option)) for bill, pick in picks for option in offer]
        picks = _undominated([(bill, pick) for bill, pick in grown if bill[2] <= max_gpus])
    return picks[0][1] if picks else None


def _sum(one: Bill, other: Bill) -> Bill:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _undominated(picks: list[tuple[Bill, tuple[Option, ...]]]) -> list[tuple[Bill, tuple[Option, ...]]]:
    """Cheapest first, and each with fewer GPUs than all before it."""
    kept: list[tuple[Bill, tuple[Option, ...]]] = []
    for bill, pick in sorted(picks, key=lambda entry: entry[0]):
        if not kept or bill[2] < kept[-1][0][2]:
            kept.append((bill, pick))
    return kept
