"""What patience saves, worked by hand, and rejections as a few."""

from dataclasses import replace

import pytest

from bide.plan.findings import FrontierPoint
from bide.plan.question import Measure
from bide.plan.rejection import Rejection
from bide.plan.telling import asked_point, half_longer, outweighing_requests, savings
from bide.plan.turned_down import turned_down
from made_plans import made_plan

_E2E = Measure("e2e", 95.0)


def _point(seconds: float, gpus: int | None, usd: float | None) -> FrontierPoint:
    return FrontierPoint(_E2E, seconds, "h100-sxm", gpus, None if gpus is None else 2 * gpus, usd)


def test_each_second_saves_what_the_stretch_before_it_saves() -> None:
    points = [_point(2, None, None), _point(3, 10, 1000.0), _point(5, 6, 600.0), _point(8, 5, 510.0)]
    found = savings(points, points[2])
    assert [each.usd_per_second for each in found] == [None, None, 200.0, 30.0]  # (1000 - 600) / 2, (600 - 510) / 3
    assert [each.gpus for each in found] == [None, -4, 0, 1]
    assert [each.usd_per_month for each in found] == [None, -400.0, 0.0, 90.0]


def test_without_prices_gpus_are_saved() -> None:
    points = [_point(3, 10, None), _point(5, 6, None)]
    assert [(each.gpus, each.usd_per_month, each.usd_per_second) for each in savings(points, points[0])] == [
        (0, None, None),
        (4, None, None),
    ]


def test_being_sure_costs_in_proportion() -> None:
    assert _point(3, 10, 1000.0).usd_per_month_surely == 2000.0
    assert _point(3, None, None).usd_per_month_surely is None


def test_the_asked_limit_and_half_as_much_again_are_found_on_the_frontier() -> None:
    (service,) = made_plan().services
    asked, longer = asked_point(service), half_longer(service)
    assert asked is not None
    assert (asked.measure, asked.seconds) == (service.service.patience[0].measure, service.service.patience[0].seconds)
    assert longer is not None
    assert longer.seconds == pytest.approx(1.5 * asked.seconds)
    assert asked_point(replace(service, frontier=())) is None


def test_a_cache_outweighs_the_weights_from_so_many_requests_on() -> None:
    chosen = made_plan().services[0].chosen
    assert chosen is not None
    requests = outweighing_requests(chosen.candidate)
    assert requests is not None
    weights = chosen.candidate.memory.ledger.weights_bytes
    assert requests * chosen.candidate.held_bytes == weights


def test_rejections_are_grouped_and_the_nearest_comes_first() -> None:
    def rejected(name: str, needed: float | None, available: float | None, unit: str) -> Rejection:
        return Rejection(name, "why", needed, available, unit, "")

    found = turned_down(
        [
            rejected("too big", 130.0, 73.0, "bytes"),
            rejected("slow", 0.05, 0.01, "s"),
            rejected("less slow", 0.02, 0.01, "s"),
            rejected("no kernels", None, None, ""),
            rejected("many", 152.0, 32.0, "GPUs"),
            rejected("fewer", 34.0, 32.0, "GPUs"),
        ]
    )
    assert [group.nearest.candidate for group in found] == ["fewer", "less slow", "too big", "no kernels"]
    assert [[one.candidate for one in group.others] for group in found] == [["many"], ["slow"], [], []]
