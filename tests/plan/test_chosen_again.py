"""Where the whole fleet takes more than the search thought, the choice is made again."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from bide.facts.gpus import find_gpu
from bide.physics.profile import load_profile
from bide.plan import details
from bide.plan.cost import Cost
from bide.plan.details import chosen_again
from bide.plan.findings import Verified
from bide.plan.offer import Terms
from bide.plan.option import Option
from bide.plan.question import Fleet, Hardware
from made_plans import made_plan

TERMS = Terms(Hardware((find_gpu("h100-sxm"),), 32), Fleet(), load_profile())


@cache
def option() -> Option:
    found = made_plan().services[0].chosen
    assert found is not None
    return found


def sized(replicas: int) -> Option:
    """An option of so many GPUs, on a candidate of its own."""
    return replace(option(), candidate=replace(option().candidate), replicas=replicas, cost=_cost(replicas))


def _cost(gpus: int) -> Cost:
    known = option().cost
    assert known is not None
    return replace(known, gpus=gpus)


def grows(monkeypatch: pytest.MonkeyPatch, by: dict[int, int], fails: tuple[int, ...] = ()) -> list[int]:
    """Fleets of so many replicas grow by so many when they are run; the order in which they are run."""
    ran: list[int] = []
    option()  # made with the real runs

    def proven(one: Option, _terms: Terms, _left: int) -> tuple[Option, Verified]:
        ran.append(one.replicas)
        more = by.get(one.replicas, 0)
        proof = Verified(one.replicas + more, "round-robin", 1, {}, None, one.replicas not in fails, True, more)
        return replace(one, replicas=one.replicas + more, cost=_cost(one.replicas + more)), proof

    monkeypatch.setattr(details, "_proven", proven)
    return ran


def test_one_that_holds_is_kept_and_no_other_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = grows(monkeypatch, {})
    best, others, proof = chosen_again(sized(4), [sized(5), sized(8)], TERMS, 20)
    assert (best.replicas, [one.replicas for one in others], proof.overtaken) == (4, [5, 8], ())
    assert ran == [4]


def test_one_that_grows_beyond_the_next_gives_way_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = grows(monkeypatch, {4: 2})
    best, others, proof = chosen_again(sized(4), [sized(5), sized(8)], TERMS, 20)
    assert (best.replicas, [one.replicas for one in others]) == (5, [6, 8])
    assert proof.overtaken == (option().name,)
    assert ran == [4, 5]


def test_the_next_may_grow_too_and_then_the_cheapest_as_run_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = grows(monkeypatch, {4: 2, 5: 3})
    best, others, proof = chosen_again(sized(4), [sized(5), sized(7)], TERMS, 20)
    assert (best.replicas, [one.replicas for one in others], proof.overtaken) == (6, [7, 8], ())
    assert ran == [4, 5]


def test_one_that_does_not_hold_with_all_that_there_is_gives_way_to_one_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = grows(monkeypatch, {4: 4}, fails=(4,))
    best, _others, proof = chosen_again(sized(4), [sized(8)], TERMS, 4)
    assert (best.replicas, proof.met) == (8, True)
    assert ran == [4, 8]


def test_what_nobody_has_gpus_for_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = grows(monkeypatch, {4: 2})
    best, _others, _proof = chosen_again(sized(4), [sized(5)], TERMS, 0)
    assert (best.replicas, ran) == (6, [4])
