from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bide.plan.choice import bill_of, cheapest_of, rank_of


@dataclass(frozen=True)
class Bill:
    usd_per_hour: float


@dataclass(frozen=True)
class Offer:
    gpus: int
    cost: Bill | None
    gpus_surely: int | None = None


offers = st.builds(Offer, st.integers(1, 20), st.one_of(st.none(), st.builds(Bill, st.integers(1, 50).map(float))))


def total(pick: tuple[Any, ...]) -> tuple[float, ...]:
    return tuple(map(sum, zip(*(bill_of(option) for option in pick), strict=True)))


@given(st.lists(st.lists(offers, min_size=1, max_size=4), min_size=1, max_size=4), st.integers(1, 60))
def test_the_pick_is_the_cheapest_of_all_combinations(services: list[list[Any]], most: int) -> None:
    allowed = [pick for pick in product(*services) if sum(option.gpus for option in pick) <= most]
    found = cheapest_of(services, most, bill_of)
    if not allowed:
        assert found is None
    else:
        assert found is not None
        assert total(found) == min(total(pick) for pick in allowed)


def test_without_services_nothing_is_picked() -> None:
    assert cheapest_of([], 4, bill_of) == ()


def test_of_options_that_weigh_the_same_the_surest_is_first() -> None:
    options: list[Any] = [Offer(4, Bill(9.0)), Offer(4, Bill(9.0), 8), Offer(4, Bill(9.0), 6), Offer(2, Bill(9.5), 2)]
    ranked = sorted(options, key=rank_of)
    assert [option.gpus_surely for option in ranked] == [6, 8, None, 2]
    assert cheapest_of([ranked], 8, bill_of) == (ranked[0],)
