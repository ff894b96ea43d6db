"""How many GPUs, beyond the simple case, in a real browser: services, limits, the file, errors at their fields."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from bide.i18n import _, speaking
from web_page import CONFIG, NARROW, Watched, serious_findings, within_the_window

pytestmark = pytest.mark.system

SMALL = (
    "?tab=plan&plan_gpus=l40s&plan_tp=1&peak_rps=0.2&patience=10&max_gpus=2"
    "&prompt_p50=100&prompt_p95=200&output_p50=20&output_p95=40"
)
"""One GPU kind, one size, short requests."""
PLAN_MS = 120_000
PANEL = "#panel-plan"


def form(page: Page) -> Locator:
    return page.locator(f"{PANEL} .form")


def fold(page: Page, title: str) -> None:
    form(page).locator("summary").filter(has_text=title).click()


TRACE = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
    f"2023-11-16 18:{second // 60:02}:{second % 60:02}.0000000,{100 + 7 * second % 90},{15 + second % 20}\n"
    for second in range(120)
)
"""Two minutes of one request a second, in the form of the Azure traces."""


def test_two_services_are_planned_one_of_an_uploaded_trace_with_a_second_limit_and_a_share_of_good_requests(
    watched: Watched, tmp_path: Path
) -> None:
    trace = tmp_path / "mine.csv"
    trace.write_text(TRACE)
    page = watched.open(SMALL, charts=0)
    form(page).get_by_role("button", name="Add a service").click()
    expect(form(page).get_by_role("button", name="documents")).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Name of the service").fill("papers")
    page.locator("#peak_rps-2").fill("0.3")
    page.locator("#work-2").select_option("trace")
    page.locator("#trace-2-file").set_input_files(trace)
    expect(form(page).locator(".files")).to_contain_text("mine.csv")
    form(page).get_by_role("button", name="Add a limit").click()
    page.get_by_role("group", name="Limit 2").get_by_label("At most").last.fill("2")
    fold(page, "(goodput)")
    page.locator("#goodput-2").fill("90")
    page.locator("#good_e2e-2").fill("8")
    fold(page, "Precision, size and engine of papers")
    page.locator("#plan_tp-2-1").check()
    form(page).get_by_role("button", name="Plan", exact=True).click()
    expect(page.locator(f"{PANEL} .hero h2")).to_have_text(
        re.compile("^Run 1 x l40s for chat and papers together"), timeout=PLAN_MS
    )
    answer = page.locator(f"{PANEL} .sections")
    for name in ("fleet for chat and papers", "chat", "papers"):
        expect(answer.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(answer).to_contain_text("of the requests keep every limit")
    page.get_by_text("Sources", exact=True).click()
    expect(page.locator(f"{PANEL} .notes[open]")).to_contain_text("mine.csv")
    page.locator("#held_for").select_option("papers")
    expect(page).to_have_url(re.compile("held_for=2"))
    copies = page.evaluate(
        "() => [...document.querySelectorAll('[id]')].map(e => e.id).filter((id, n, all) => all.indexOf(id) !== n)"
    )
    assert copies == []
    address = page.url
    page.goto("about:blank")
    page.goto(address.replace("&planned=now", ""))
    form(page).get_by_role("button", name="papers").click()
    expect(page.locator("#goodput-2")).to_have_value("90")
    expect(page.locator("#limit_on_2-2")).to_have_value("ttft")
    expect(page.locator("#patience_2-2")).to_have_value("2")
    expect(form(page).locator("summary").filter(has_text="(goodput)")).to_contain_text("2 set")


def test_the_form_is_a_file_and_a_file_is_the_form(watched: Watched, tmp_path: Path) -> None:
    page = watched.open(f"{SMALL}&hours=office&spare=1", charts=0)
    fold(page, "As a file")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the service file").click()
    text = Path(waiting.value.path()).read_text()
    assert page.locator("#form-file").text_content() == text
    content = yaml.safe_load(text)
    assert content["services"][0]["patience"] == {"e2e_p95": "10s"}
    content["services"][0]["patience"] = {"ttft_p99.5": "2s", "tpot_mean": "70ms"}
    more = {**json.loads(json.dumps(content["services"][0])), "name": "more", "disaggregated": [False, True]}
    content["services"].append(more)
    file = tmp_path / "service.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    page.goto(f"{watched.url}/?tab=plan")
    fold(page, "As a file")
    page.locator("#dropped-file").set_input_files(file)
    form(page).get_by_role("button", name="more", exact=True).click()
    expect(page.locator("#percentile-2")).to_have_value("99.5")
    expect(page.locator("#percentile_2-2")).to_have_value("mean")
    expect(page.locator("#patience_2-2")).to_have_value("70")
    expect(page.locator("#answers-2-streamed")).to_be_checked()
    expect(page.locator("#apart-2")).to_have_value("either")
    expect(page.locator("#hours-2-of")).to_have_value("office")
    expect(page).to_have_url(re.compile("spare=1"))
    page.locator("#pasted-file").fill("services: []\nhardware: {gpus: [l40s]}\n")
    page.get_by_role("button", name="Open it in the form").click()
    expect(page.locator("#file-wrong")).to_contain_text(
        "services: got []; allowed: a list with at least one entry. (line 1)"
    )
    expect(page.locator("#patience_2-2")).to_have_value("70")


def test_an_error_of_the_plan_is_said_at_its_field_which_is_named_as_on_the_form(watched: Watched) -> None:
    """In a fold of a service that is not shown: both are opened."""
    page = watched.open(f"{SMALL}&service-2=papers&plan_tp-2=1&goodput-2=90&at=1", charts=0)
    form(page).get_by_role("button", name="Plan", exact=True).click()
    hero = page.locator(f"{PANEL} .hero")
    expect(hero).to_contain_text("Share of the requests, % of papers: got", timeout=PLAN_MS)
    expect(hero).not_to_contain_text("line")
    expect(page.locator("#goodput-2")).to_be_visible()
    expect(page.locator("#goodput-2")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#goodput-2-wrong")).to_contain_text("a share and a limit on at least one of")
    hero.get_by_role("link", name="Show the field").click()
    expect(page.locator("#goodput-2")).to_be_focused()
    page.locator("#good_ttft-2").fill("2")
    page.locator("#goodput-2").fill("91")
    expect(page.locator("#goodput-2-wrong")).to_have_count(0)


def test_each_service_has_a_model_of_its_own(watched: Watched, tmp_path: Path) -> None:
    page = watched.open(f"{SMALL}&service-2=papers&at=2", charts=0)
    model = form(page).get_by_role("combobox", name="Model")
    model.fill("qwen3-8b")
    model.press("Enter")
    expect(page).to_have_url(re.compile("model-2=[^&]*[Qq]wen3-8[bB]"))
    config = tmp_path / "mine.json"
    config.write_text(json.dumps(CONFIG))
    page.locator("#config-2-file").set_input_files(config)
    expect(model).to_have_value("mine")
    form(page).get_by_role("button", name="chat", exact=True).click()
    expect(model).to_have_value("meta-llama/Llama-3.1-8B")
    fold(page, "As a file")
    expect(page.locator("#form-file")).to_contain_text(
        "# Beside this file: mine.json, the config.json that was dropped"
    )


def test_the_day_is_a_curve_or_numbers_of_one_s_own(watched: Watched) -> None:
    page = watched.open(SMALL, charts=0)
    fold(page, "Growth and the day")
    page.locator("#hours-of").select_option("chat")
    expect(page.get_by_role("img", name="busiest at 14:00")).to_be_visible()
    page.locator("#hours-of").select_option("own")
    expect(page.locator("#hours")).to_have_value(re.compile("^0.665,0.726,"))
    page.locator("#hours").fill("1 2 3")
    expect(page.locator("#hours-wrong")).to_contain_text("24 numbers, one for each hour")
    page.locator("#hours").fill(" ".join(["1"] * 8 + ["5"] * 16))
    expect(page.get_by_role("img", name="busiest at 8:00, least at 0:00 with 20% of that")).to_be_visible()


@pytest.mark.parametrize("code", ["vi", "ru"])
def test_the_form_s_folds_speak_the_visitor_s_language(watched: Watched, code: str) -> None:
    page = watched.open(f"{SMALL}&lang={code}&service-2=x", charts=0)
    with speaking(code):
        titles = [_("Growth and the day"), _("Prices"), _("Spare replicas and routing"), _("Services")]
    for title in titles:
        expect(form(page)).to_contain_text(title)


@pytest.mark.parametrize("watched", [{"viewport": NARROW, "color_scheme": "dark"}], indirect=True)
def test_with_everything_open_the_form_is_within_the_window_and_axe_finds_nothing(
    watched: Watched, axe_source: str
) -> None:
    page = watched.open(f"{SMALL}&service-2=x&hours-2=office&limit_on_2-2=ttft&work-2=sample&at=2", charts=0)
    for each in form(page).locator("summary").all():
        each.click()
    expect(page.locator("#pasted-file")).to_be_visible()
    for _look in ("narrow and dark", "very wide and light"):
        within_the_window(page)
        assert serious_findings(page, axe_source) == []
        watched.look({"width": 2000, "height": 1100})


def test_the_form_is_filled_with_the_keyboard_alone(watched: Watched) -> None:
    page = watched.open(SMALL, charts=0)
    page.locator("#answers-whole").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#answers-streamed")).to_be_checked()
    expect(page.locator("#patience_2")).to_have_value("50")
    remove = form(page).get_by_role("button", name="Remove limit 2")
    remove.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#patience_2")).to_have_count(0)
    add = form(page).get_by_role("button", name="Add a service")
    add.focus()
    page.keyboard.press("Space")
    expect(page.locator("#service-2")).to_have_value("documents")
    form(page).get_by_role("button", name="Remove this service").press("Enter")
    expect(page.locator("#service-2")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("service-2"))
