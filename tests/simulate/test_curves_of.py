"""Several curves at once are what each is alone."""

from __future__ import annotations

import pytest

from bide.errors import CannotBeMet
from bide.facts.deployment import Deployment
from bide.simulate.curve import curve_of, curves_of
from bide.simulate.operating import Load, Mix

MIX = Mix(1000, 200)


def deployed(gpu: str, model: str = "llama-3.1-8b") -> Deployment:
    return Deployment.resolve({"model": model, "gpu": gpu})


@pytest.mark.parametrize("loads", [None, [Load("concurrency", 8.0), Load("requests_per_s", 2.0), Load("batch", 100.0)]])
def test_solved_together_or_alone_they_are_the_same_to_the_last_bit(loads: list[Load] | None) -> None:
    asked = [(deployed("h100-sxm"), MIX), (deployed("l40s"), MIX), (deployed("h100-sxm"), Mix(30_000, 50))]
    assert curves_of(asked, loads) == [curve_of(deployment, mix, loads) for deployment, mix in asked]


def test_one_that_does_not_fit_is_a_reason_in_its_place() -> None:
    """70 B parameters of 2 bytes are 141 GB, an L4 has 24."""
    small, large = deployed("l4"), deployed("l4", "llama-3.1-70b")
    first, second = curves_of([(large, MIX), (small, MIX)])
    assert isinstance(first, CannotBeMet)
    assert second == curve_of(small, MIX)
    with pytest.raises(CannotBeMet, match=str(first)[:20]):
        curve_of(large, MIX)


def test_of_none_there_are_none() -> None:
    assert curves_of([]) == []
