"""Measured, in a real browser: the results of the formats' own tests, dropped."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from web_page import NARROW, Watched, serious_findings, within_the_window

pytestmark = pytest.mark.system

DATA = Path(__file__).parents[2] / "bench" / "formats" / "data"
DETAILED, SUMMARY = DATA / "vllm_detailed.json", DATA / "vllm_summary.json"
PANEL = "#panel-measured"
JOB_MS = 60_000


@pytest.fixture(scope="module")
def dropped(tab: Watched) -> str:
    """The address of a page at which results were dropped, and read at once."""
    tab.forget()
    page = tab.open("?tab=measured", charts=0)
    page.locator("#results-file").set_input_files(DETAILED)
    expect(levels(page)).to_have_count(1, timeout=JOB_MS)
    expect(page).to_have_url(re.compile("results="))
    tab.check()
    return page.url.removeprefix(f"{tab.url}/")


def levels(page: Page) -> Locator:
    return page.get_by_role("region", name="Levels of load").locator("tbody tr")


def read(watched: Watched, address: str) -> Page:
    """The page at an address with results, when they are there."""
    page = watched.open(address, charts=0)
    expect(levels(page)).to_have_count(1, timeout=JOB_MS)
    return page


def test_results_are_read_as_soon_as_they_are_dropped(watched: Watched, dropped: str) -> None:
    """As `vllm bench serve` printed: 20 requests, 4 at a time, TPOT 9.99 ms on average."""
    page = read(watched, dropped)
    watched.wait_for_charts(1)
    expect(page.locator(f"{PANEL} .hero h2")).to_have_text("1 level of load, measured by vllm bench serve.")
    row = page.get_by_role("region", name="Latencies").get_by_role("row").filter(has_text="TPOT")
    expect(row).to_contain_text("9.99 ms")
    expect(page.locator(f"{PANEL} .files")).to_contain_text("vllm_detailed.json")
    with page.expect_download() as waiting:
        page.locator(PANEL).get_by_role("link", name="JSON").click()
    assert json.loads(Path(waiting.value.path()).read_text())["runs"][0]["completed"] == 20


def test_several_files_make_several_levels_and_can_be_taken_away(watched: Watched, dropped: str) -> None:
    page = read(watched, dropped)
    page.locator("#results-file").set_input_files(SUMMARY)
    expect(levels(page)).to_have_count(2, timeout=JOB_MS)
    watched.wait_for_charts(2)
    page.get_by_role("button", name="Remove vllm_summary.json").click()
    expect(levels(page)).to_have_count(1, timeout=JOB_MS)
    page.get_by_role("button", name="Remove vllm_detailed.json").click()
    expect(page.locator(f"{PANEL} .hero h2")).to_have_text("What did you measure?")


def test_what_was_measured_is_compared_with_the_prediction(watched: Watched, dropped: str) -> None:
    page = read(watched, f"{dropped}&gpu=l40s")
    page.get_by_role("button", name="Compare with the prediction").click()
    expect(page.get_by_role("heading", name="Measured against predicted")).to_be_visible(timeout=JOB_MS)
    expect(page.locator(f"{PANEL} h3").filter(has_text="A: vllm_detailed.json")).to_contain_text("l40s")


def test_a_calibration_is_applied_to_the_other_tabs_and_stays_in_the_address(watched: Watched, dropped: str) -> None:
    page = read(watched, dropped)
    page.get_by_role("button", name="Calibrate").click()
    table = page.get_by_role("region", name="Predicted against measured")
    expect(table).to_contain_text("before", timeout=JOB_MS)
    page.get_by_role("button", name="Apply to the other tabs").click()
    expect(page).to_have_url(re.compile("profile="))
    page.get_by_role("tab", name="How fast").click()
    watched.wait_for_charts(1)
    note = page.locator("#panel-fast .in-use")
    expect(note).to_contain_text("With the step times of your own measurements.")
    calibrated = page.locator("#panel-fast .swatched tbody tr").first.inner_text()
    note.get_by_role("button", name="Use bide's own").click()
    expect(page.locator("#panel-fast .in-use")).to_have_count(0)
    expect(page.locator("#panel-fast .swatched tbody tr").first).not_to_have_text(calibrated, use_inner_text=True)


def test_a_profile_that_is_gone_is_said_and_the_rest_is_used(watched: Watched) -> None:
    page = watched.open(f"?profile={'x' * 22}", charts=2)
    expect(page.locator(".problems [role=alert]")).to_contain_text("profile")


def test_a_file_that_is_no_result_is_refused_in_one_message(watched: Watched, tmp_path: Path) -> None:
    file = tmp_path / "wrong.json"
    for content in ("", "no result at all"):
        file.write_text(content)
        page = watched.open("?tab=measured", charts=0)
        page.locator("#results-file").set_input_files(file)
        expect(page.locator(f"{PANEL} [role=alert]")).to_have_count(1, timeout=JOB_MS)
        expect(page.locator(f"{PANEL} [role=alert]")).to_contain_text("a result")


@pytest.mark.parametrize("watched", [{"viewport": NARROW, "color_scheme": "dark"}], indirect=True)
def test_narrow_or_wide_dark_or_light_it_is_within_the_window_and_axe_finds_nothing(
    watched: Watched, dropped: str, axe_source: str
) -> None:
    page = read(watched, dropped)
    watched.wait_for_charts(1)
    for _look in ("narrow and dark", "wide and light"):
        within_the_window(page)
        assert serious_findings(page, axe_source) == []
        watched.look()
