"""How many GPUs, in a real browser: the smallest question there is, planned once by the server for all tests."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bide.i18n import _, speaking
from web_page import NARROW, Watched, serious_findings, within_the_window

pytestmark = pytest.mark.system

SMALL = (
    "?tab=plan&plan_gpus=l40s&plan_tp=1&peak_rps=0.2&patience=10&max_gpus=2"
    "&prompt_p50=100&prompt_p95=200&output_p50=20&output_p95=40"
)
"""One GPU kind, one size, short requests: an answer in seconds."""
PLAN_MS = 90_000
PANEL = "#panel-plan"


def planned(watched: Watched) -> Page:
    """The page with the small question's answer."""
    page = watched.open(f"{SMALL}&planned=now", charts=0)
    expect(page.locator(f"{PANEL} .big")).to_be_visible(timeout=PLAN_MS)
    watched.wait_for_charts(3)
    return page


def test_a_plan_is_made_with_a_progress_bar_and_its_address_gives_it_again(watched: Watched) -> None:
    page = watched.open(SMALL, charts=0)
    page.locator(f"{PANEL} .form").get_by_role("button", name="Plan").click()
    expect(page.get_by_role("progressbar", name="How far it is")).to_be_visible()
    expect(page.locator(f"{PANEL} .hero h2")).to_have_text(re.compile("^Run 1 x l40s for chat; "), timeout=PLAN_MS)
    expect(page.get_by_role("progressbar")).to_have_count(0)
    expect(page).to_have_url(re.compile("planned=now"))
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator(f"{PANEL} .hero h2")).to_have_text(re.compile("^Run 1 x l40s for chat; "), timeout=PLAN_MS)


def test_the_answer_has_the_doublings_the_candidates_the_command_and_the_files(watched: Watched) -> None:
    page = planned(watched)
    expect(page.get_by_role("region", name="Add cards until it holds").first).to_contain_text("replicas")
    expect(page.locator(f"{PANEL} .sections")).to_contain_text("were tried")
    expect(page.locator("#start-0-0")).to_contain_text("vllm serve meta-llama/Llama-3.1-8B")
    page.get_by_text("kubernetes.yaml").click()
    expect(page.locator(f"{PANEL} details[open] pre").last).to_contain_text("kind: Deployment")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download chat/kubernetes.yaml").click()
    assert waiting.value.suggested_filename == "chat-kubernetes.yaml"
    page.get_by_role("button", name="Why a month, likely?").click()
    expect(page.get_by_role("dialog", name="Why a month, likely?")).to_contain_text("a month: 1 GPUs x $1.55 x 730")


def test_patience_is_moved_along_the_frontier_by_key_and_by_pointer(watched: Watched) -> None:
    page = planned(watched)
    held = page.locator(f"{PANEL} .handle dl")
    expect(held).to_contain_text("10 s (asked)")
    page.locator("#held-slider").press("ArrowRight")
    expect(page).to_have_url(re.compile("held=15"))
    expect(held).to_contain_text("15 s")
    expect(page.get_by_role("button", name="Plan with 15 s")).to_be_visible()
    box = page.locator(".draggable").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + 100, steps=4)
    page.mouse.up()
    expect(page).not_to_have_url(re.compile("held=15"))


def test_a_change_of_the_form_is_said_beside_the_answer(watched: Watched) -> None:
    page = planned(watched)
    page.locator("#margin").fill("2")
    expect(page.get_by_text("The form has changed since this was planned.")).to_be_visible()
    expect(page.get_by_role("button", name="Plan again")).to_be_visible()


def test_the_answer_can_be_taken_away_and_its_report_opened(watched: Watched) -> None:
    page = planned(watched)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="JSON", exact=True).click()
    assert json.loads(Path(waiting.value.path()).read_text())["schema"] == "bide.plan/1"
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV of the frontier").click()
    rows = list(csv.DictReader(Path(waiting.value.path()).read_text().splitlines()))
    assert {row["limit_on"] for row in rows} >= {"e2e_p95"}
    with page.context.expect_page() as opening:
        page.get_by_role("link", name="Open the report").click()
    report = opening.value
    report.wait_for_load_state()
    expect(report.locator("h1")).to_contain_text("Run 1 x l40s")
    report.close()


def test_a_plan_is_cancelled(watched: Watched) -> None:
    """Three kinds of GPU and any size: that takes longer than a click."""
    page = watched.open("?tab=plan&plan_gpus=h100-sxm,l40s,a100-80g-sxm&peak_rps=200", charts=0)
    page.locator(f"{PANEL} .form").get_by_role("button", name="Plan").click()
    page.locator(".progress").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("progressbar")).to_have_count(0)
    expect(page.locator(f"{PANEL} .hero h2")).to_contain_text("Which GPUs, and how many")
    expect(page).not_to_have_url(re.compile("planned"))


def test_a_file_that_is_no_trace_is_refused_in_one_message(watched: Watched, tmp_path: Path) -> None:
    file = tmp_path / "wrong.csv"
    file.write_text("colour,shape\nred,round\n")
    page = watched.open(f"{SMALL}&work=trace", charts=0)
    page.locator("#trace-file").set_input_files(file)
    expect(page.locator(f"{PANEL} .files")).to_contain_text("wrong.csv")
    page.locator(f"{PANEL} .form").get_by_role("button", name="Plan").click()
    expect(page.locator(f"{PANEL} .form [role=alert]")).to_have_count(1, timeout=PLAN_MS)
    expect(page.locator(f"{PANEL} .form [role=alert]")).to_contain_text("allowed")


def test_the_form_says_what_is_missing_or_cannot_be_read(watched: Watched) -> None:
    page = watched.open("?tab=plan&work=trace", charts=0)
    page.locator(f"{PANEL} .form").get_by_role("button", name="Plan").click()
    expect(page.locator(f"{PANEL} .form [role=alert]")).to_contain_text("a trace: drop one there")
    page.locator("#peak_rps").fill("many")
    expect(page.locator("#peak_rps-wrong")).to_contain_text("a number from 0.001")
    page.locator("#limit_on").select_option("tpot")
    expect(page.locator("#patience")).to_have_value("50")
    expect(page.locator("#patience-slider")).to_have_attribute("aria-valuetext", "50 ms")


def test_nothing_is_planned_while_a_field_holds_what_cannot_be_read(watched: Watched) -> None:
    """In a fold; the median of the prompt is asked for no more, and does not matter."""
    page = watched.open("?tab=plan&plan_gpus=l40s&service-2=b&at=1", charts=0)
    form, answer = page.locator(f"{PANEL} .form"), page.locator(f"{PANEL} .hero")
    page.locator("#prompt_p50").fill("long")
    expect(page.locator("#prompt_p50-wrong")).to_be_visible()
    page.locator("#work").select_option("trace")
    form.locator("summary").filter(has_text="Spare replicas").click()
    page.locator("#spare").fill("1,5")
    expect(page.locator("#spare-wrong")).to_be_visible()
    form.locator("summary").filter(has_text="Spare replicas").click()
    plan = form.get_by_role("button", name="Plan", exact=True)
    plan.click()
    expect(answer).to_contain_text("Spare replicas: allowed: a whole number from 0")
    expect(page.locator("#spare")).to_be_visible()
    page.locator("#spare").fill("1")
    expect(page.locator("#spare-wrong")).to_have_count(0)
    page.locator("#margin").fill("1,25")
    page.locator("#spare").focus()
    expect(page.locator("#margin")).to_have_value("1.25")
    plan.click()
    expect(answer).to_contain_text("Trace of chat: missing")


def test_a_field_that_is_not_shown_and_cannot_be_read_takes_nobody_to_its_service(watched: Watched) -> None:
    page = watched.open(f"{SMALL}&service-2=b&at=2", charts=0)
    form = page.locator(f"{PANEL} .form")
    page.locator("#output_p50-2").fill("long")
    expect(page.locator("#output_p50-2-wrong")).to_be_visible()
    page.locator("#work-2").select_option("sample")
    form.get_by_role("button", name="chat", exact=True).click()
    expect(page.locator("#work")).to_be_visible()
    form.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.locator("#work")).to_be_visible()
    page.locator(f"{PANEL} .progress").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("progressbar")).to_have_count(0)


def test_a_plan_that_goes_on_while_another_is_refused_is_no_answer_to_that(watched: Watched) -> None:
    page = watched.open(SMALL.replace("peak_rps=0.2", "peak_rps=0.21"), charts=0)
    plan = page.locator(f"{PANEL} .form").get_by_role("button", name="Plan", exact=True)
    plan.click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.locator("#work").select_option("trace")
    plan.click()
    expect(page.locator(f"{PANEL} .hero")).to_contain_text("Trace: missing")
    expect(page.locator(f"{PANEL} .hero h2")).to_contain_text("Run", timeout=PLAN_MS)
    expect(page.locator(PANEL)).to_contain_text("The form has changed since this was planned.")


@pytest.mark.parametrize("code", ["vi", "ru"])
def test_the_forms_of_plan_and_measured_speak_the_visitor_s_language(watched: Watched, code: str) -> None:
    page = watched.open(f"?tab=plan&lang={code}", charts=0)
    with speaking(code):
        titles = [_("How long do they wait?"), _("How many come?"), _("What do they ask?"), _("On what may it run?")]
    for number, title in enumerate(titles):
        expect(page.locator(f"{PANEL} legend:has(.ordinal)").nth(number)).to_contain_text(title)
    page.locator("#tab-measured").click()
    with speaking(code):
        expect(page.locator("#panel-measured .hero h2")).to_have_text(_("What did you measure?"))
        expect(page.locator("#panel-measured .drop").first).to_have_text(_("Drop benchmark results here"))


@pytest.mark.parametrize("watched", [{"viewport": NARROW, "color_scheme": "dark"}], indirect=True)
def test_narrow_or_wide_dark_or_light_it_is_within_the_window_and_axe_finds_nothing(
    watched: Watched, axe_source: str
) -> None:
    page = planned(watched)
    for _look in ("narrow and dark", "wide and light"):
        within_the_window(page)
        assert serious_findings(page, axe_source) == []
        watched.look()
