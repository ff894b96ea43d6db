"""A plan for a page that draws its own charts, and as CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from bide.plan.answer import Plan
from bide.plan.sharing import SharedFleet
from bide.plan.splitting import MixedFleet, Part
from bide.report.plan_charts import section_charts
from bide.report.plan_csv import fleets_csv, frontier_csv
from bide.report.plan_shown import plan_shown
from bide.report.plan_view import view
from made_plans import made_plan
from made_pooled import pooled_plan


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


def shared_plan() -> Plan:
    """The made plan's service and a second one of its model, on one fleet."""
    made = made_plan()
    (one,) = made.services
    assert one.chosen is not None
    other = replace(one, service=replace(one.service, name="mail"))
    names = (one.service.name, "mail")
    fleet = SharedFleet(names, one.service, one.chosen, (one.chosen, one.chosen), operation=one.operation)
    return replace(made, services=(one, other), shared=(fleet,))


def mixed_plan() -> Plan:
    """The made plan's service with short prompts on a fleet of their own."""
    made = made_plan()
    (one,) = made.services
    assert one.chosen is not None
    part = Part(replace(one.service, name="short"), one.chosen, one.verified, one.operation)
    single = replace(one.chosen, cost=replace(one.chosen.cost, gpus=9)) if one.chosen.cost else one.chosen
    mixed = MixedFleet(1500, 0.8, part, replace(part, service=replace(one.service, name="long")), single)
    return replace(made, services=(replace(one, mixed=mixed),))


@pytest.mark.parametrize("plan", [shared_plan, mixed_plan, pooled_plan])
def test_fleets_that_are_shared_mixed_or_disaggregated_are_shown_with_all_that_the_report_has(plan: Any) -> None:
    made = plan()
    said, shown = view(made), plan_shown(made)
    json.dumps(shown, allow_nan=False)
    assert [service["name"] for service in shown["services"]] == [service.name for service in said.services]
    for service, told in zip(said.services, shown["services"], strict=True):
        sections = [*service.steps, *service.sections]
        assert [section.title for section in sections] == [
            each["title"] for each in (*told["steps"], *told["sections"])
        ]
        charts = [title for section in sections for title, _draw in section_charts(service.plan, section.key)]
        assert charts == [chart["title"] for each in (*told["steps"], *told["sections"]) for chart in each["charts"]]
        assert [list(start) for start in service.starts] == told["starts"]
        assert (told["frontier"] is not None) == any(point.gpus for point in service.plan.frontier)
