"""A plan for a page that draws its own charts, and as CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from bide.report.plan_csv import fleets_csv, frontier_csv
from bide.report.plan_shown import plan_shown
from bide.report.plan_view import view
from made_plans import made_plan


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    return plan_shown(made_plan())


def test_it_says_what_the_report_says(shown: dict[str, Any]) -> None:
    said = view(made_plan())
    assert shown["sentence"] == said.sentence
    assert [service["name"] for service in shown["services"]] == [service.name for service in said.services]
    steps = [step["title"] for step in shown["services"][0]["steps"]]
    assert steps == [step.title for step in said.services[0].steps]


def test_it_is_plain_data_whose_charts_take_the_page_s_colours(shown: dict[str, Any]) -> None:
    json.dumps(shown, allow_nan=False)
    charts = [chart for step in shown["services"][0]["steps"] for chart in step["charts"]]
    assert charts
    assert all("var(--" in json.dumps(chart["spec"]) and chart["height"] > 0 for chart in charts)


def test_every_number_of_the_answer_has_its_arithmetic(shown: dict[str, Any]) -> None:
    behind = next(service["why"] for service in shown["services"] if service["steps"])
    assert all(behind[about] for about in ("memory", "count", "cost"))


def test_the_handle_has_a_place_at_each_limit_that_can_be_kept(shown: dict[str, Any]) -> None:
    frontier = next(service["frontier"] for service in shown["services"] if service["frontier"])
    points = next(service.frontier for service in made_plan().services if service.frontier)
    assert [place is not None for place in frontier["places"]] == [point.gpus is not None for point in points]
    assert len(frontier["table"]["rows"]) == len(points)
    assert "h0" in frontier["spec"]["datasets"]


def test_the_frontier_as_csv_has_a_row_a_limit() -> None:
    plan = made_plan()
    rows = list(csv.DictReader(io.StringIO(frontier_csv(plan))))
    assert len(rows) == sum(len(service.frontier) + len(service.streaming) for service in plan.services)
    assert {row["service"] for row in rows} <= {service.service.name for service in plan.services}


def test_the_fleets_as_csv_have_a_row_a_number_of_gpus() -> None:
    plan = made_plan()
    rows = list(csv.DictReader(io.StringIO(fleets_csv(plan))))
    assert len(rows) == sum(len(service.rows) + len(service.doublings) for service in plan.services)
    first = next(service for service in plan.services if service.rows).rows[0]
    assert (rows[0]["gpus"], rows[0]["replicas"]) == (str(first.gpus), str(first.replicas))
