"""Curves as charts and pages."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from bide.report.curve_charts import throughput_chart
from bide.report.curve_page import curve_page, curve_png, curve_svg, drawable
from bide.report.curve_said import CurvesSaid
from made_curves import curve, point, told, unstable


@pytest.fixture(scope="module")
def several() -> CurvesSaid:
    return told(curve(), curve(2, gpu="l40s"), curve(0.6, tp=2), explained=True)


@pytest.fixture(scope="module")
def page(several: CurvesSaid) -> str:
    return curve_page(several)


def test_the_page_needs_nothing_from_elsewhere(page: str) -> None:
    outside = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)""", page)
    assert [link for link in outside if not link.startswith("#")] == []
    assert "<script" not in page


def test_the_page_has_its_charts_in_the_page_s_own_colours(page: str) -> None:
    # throughput, E2E, TTFT; for each curve parts by load, a token, the first token; wide and narrow
    assert page.count("<svg") == 2 * (3 + 3 * 3)
    assert not re.findall(r"#0[1-6]0\d0\d", page)
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", page))
    assert used <= set(re.findall(r"(--[a-z0-9-]+):", page))


def test_every_point_says_its_figures_where_the_pointer_rests(several: CurvesSaid) -> None:
    titles = re.findall(r"<title>([^<]*)</title>", curve_svg(several))
    assert any(title.startswith("h100-sxm, 8 clients: TPOT 7.2 ms (6.5 to 8.6), TTFT 50 ms") for title in titles)
    assert all("clients" in title or "1 client" in title for title in titles)


def test_pictures_are_well_formed(several: CurvesSaid) -> None:
    assert ET.fromstring(curve_svg(several)).tag.endswith("svg")
    assert curve_png(several).startswith(b"\x89PNG")


def test_the_chart_names_each_curve_and_the_loads(several: CurvesSaid) -> None:
    drawn = curve_svg(several)
    for text in ("h100-sxm", "l40s", "2 x h100-sxm (TP2)", "knee: 32", "64"):
        assert f">{text}</text>" in drawn


def test_sixteen_curves_are_told_apart() -> None:
    spec = throughput_chart(told(*(curve(1 + n / 4, max_num_seqs=100 + n) for n in range(16)))).to_dict()
    line = next(layer["encoding"] for layer in spec["layer"] if "strokeDash" in layer["encoding"])
    colours, dashes = line["color"]["scale"]["range"], line["strokeDash"]["scale"]["range"]
    assert len({(colour, tuple(dash)) for colour, dash in zip(colours, dashes, strict=True)}) == 16


def test_points_without_times_are_left_out() -> None:
    held = replace(curve(), points=(point(8), unstable()), knee=None)
    spec = throughput_chart(told(held)).to_dict()
    values = spec["datasets"].values() if "datasets" in spec else [layer["data"]["values"] for layer in spec["layer"]]
    assert max(row["order"] for rows in values for row in rows) <= 1  # there and back


def test_a_page_of_nothing_to_draw_has_words_alone() -> None:
    said = told(replace(curve(), points=(unstable(),), knee=None))
    assert not drawable(said)
    assert "cannot be held" in curve_page(said)


def test_a_curve_without_intervals_is_drawn_without_a_band() -> None:
    bare = replace(curve(), points=tuple(replace(p, interval=None) for p in curve().points), knee=None)
    assert "<svg" in curve_svg(told(bare))


def test_names_are_shown_and_never_run() -> None:
    said = replace(told(curve(), curve(2)), names=("<b>a</b>", "b"), misfits=(("<i>c</i>", "x"),))
    made = curve_page(said)
    assert "<b>a" not in made
    assert "<i>c" not in made
