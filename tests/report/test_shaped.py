"""Charts in two halves: what is made once and what differs. All of it is Vega-Lite; the page's are the report's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import altair as alt
import pytest

from bide.facts.deployment import Deployment
from bide.i18n import speaking
from bide.physics.memory import memory_of
from bide.plan.steady_fleet import steady_fleet, steady_fleets
from bide.report.curve_answer import curves_said
from bide.report.curve_charts import latency_chart, throughput_chart
from bide.report.curve_part_charts import parts_chart
from bide.report.lesson_charts import patience_chart
from bide.report.memory_charts import Marked, context_chart, ledger_chart
from bide.report.shaped import Shaped, named, shape
from bide.report.spec import spec
from bide.report.themed import svg, variables
from bide.simulate.operating import Mix

RAW = {"model": "llama-3.1-8b", "gpu": "h100-sxm"}
MIX = Mix(1000, 500)


def _charts() -> Iterator[tuple[str, Shaped]]:
    plain, small = (memory_of(Deployment.resolve({**RAW, "kv_dtype": kind})) for kind in ("auto", "fp8"))
    said = curves_said([(Deployment.resolve({**RAW, "gpu": gpu}), MIX) for gpu in ("h100-sxm", "l40s")])
    curve = said.curves[0]
    yield "card", ledger_chart(plain.ledger, 3)
    yield "contexts", context_chart(small, [Marked(8192, "here")], 8192, before=plain)
    yield "throughput", throughput_chart(said, chosen=[one.points[0] for one in said.curves])
    yield "whole", latency_chart(said, "e2e_s")
    yield "parts", parts_chart(curve)
    yield "patience", patience_chart(steady_fleets(curve, 20, [0.03, 0.05, 0.1]), steady_fleet(curve, 20, 0.05))


CHARTS = dict(_charts())


@pytest.mark.parametrize("name", CHARTS)
def test_a_shape_with_its_data_is_vega_lite(name: str) -> None:
    alt.Chart.from_dict(CHARTS[name].to_dict(), validate=True)
    alt.Chart.from_dict({k: v for k, v in spec(CHARTS[name]).items() if k != "config"}, validate=True)


@pytest.mark.parametrize("name", CHARTS)
def test_every_name_that_a_mark_reads_has_rows_and_every_parameter_a_value(name: str) -> None:
    chart = CHARTS[name]
    assert _found("name", chart.shape.spec, under="data") == set(chart.rows)
    assert _found("expr", chart.shape.spec) == {value for value in chart.values if value != "texts"}


def _found(key: str, value: Any, under: str = "") -> set[str]:
    """The texts of `key` anywhere, or only right below `under`."""
    if isinstance(value, list):
        return set().union(*(_found(key, item, under) for item in value))
    if not isinstance(value, dict):
        return set()
    own = value.get(under, {}) if under else value
    here = {own[key]} if isinstance(own.get(key), str) else set()
    return here.union(*(_found(key, item, under) for item in value.values()))


@pytest.mark.parametrize("name", CHARTS)
def test_the_report_and_the_page_draw_the_same_chart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the colours, which are variables of a page's style, and the size."""
    drawn: list[dict[str, Any]] = []

    def draw(made: dict[str, Any]) -> str:
        drawn.append(made)
        return "<svg/>"

    monkeypatch.setattr("vl_convert.vegalite_to_svg", draw)
    svg(CHARTS[name], 600, 300)
    text = json.dumps(drawn[0])
    for role, variable in variables().items():
        text = text.replace(role, variable)
    of_report, of_page = json.loads(text), json.loads(json.dumps(spec(CHARTS[name])))
    for size in ("width", "height", "autosize"):
        del of_report[size]
    assert {**of_report, "config": None} == {**of_page, "config": None}


def test_a_shape_is_made_once_for_what_it_is_asked_and_for_each_language() -> None:
    made = []

    @shape
    def bars(title: str) -> Any:
        made.append(title)
        return named("rows").mark_bar().encode(x=alt.X("x:Q", title=title))

    assert bars("a") is bars("a")
    bars("b")
    with speaking("vi"):
        bars("a")
    assert made == ["a", "b", "a"]


def test_other_rows_leave_a_chart_as_it_was() -> None:
    chart = CHARTS["throughput"]
    other = chart.with_rows(chosen=[]).properties(title="t")
    assert (other.to_dict()["datasets"]["chosen"], other.to_dict()["title"]) == ([], "t")
    assert len(chart.to_dict()["datasets"]["chosen"]) == 2
    assert other.shape is chart.shape
