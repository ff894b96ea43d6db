"""How many fit, in a real browser."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path

import pytest
from playwright.sync_api import expect

from web_page import CONFIG, Watched

pytestmark = pytest.mark.system

NUMBER = "#panel-fit .number strong"


def test_the_answer_is_there_at_once(watched: Watched) -> None:
    """54 requests of 8,192 tokens: (79.19 - 24.24) GiB / (2 MiB x 512 blocks), as `bide memory` says."""
    page = watched.open(charts=2)
    expect(page.locator(NUMBER)).to_have_text("54")
    expect(page.get_by_role("tab", name="How many fit")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("img", name="One GPU's memory as a bar")).to_be_visible()


def test_other_tokens_change_the_answer_the_chart_and_the_address(watched: Watched) -> None:
    """Half the tokens, twice the requests."""
    page = watched.open(charts=2)
    page.get_by_label("Tokens of each request").fill("4k")
    expect(page.locator(NUMBER)).to_have_text("109")
    expect(page).to_have_url(f"{watched.url}/?context=4096")


def test_a_model_is_found_by_typing_and_taken_by_keyboard(watched: Watched) -> None:
    page = watched.open(charts=2)
    model = page.locator("#panel-fit").get_by_role("combobox", name="Model")
    model.click()
    model.press_sequentially("qwen3 8b")
    options = page.locator("#panel-fit").get_by_role("option")
    expect(options.first).to_contain_text("Qwen3-8B")
    model.press("ArrowDown")
    model.press("Enter")
    expect(page.locator("#panel-fit .hero .sentence")).to_contain_text("Qwen/Qwen3-8B")
    expect(page).to_have_url(f"{watched.url}/?model=Qwen/Qwen3-8B")


def test_a_lever_moves_the_answer_and_draws_what_was_before(watched: Watched) -> None:
    page = watched.open(charts=2)
    page.get_by_role("switch", name="fp8 cache").check()
    expect(page.locator(NUMBER)).to_have_text("109")
    expect(page).to_have_url(f"{watched.url}/?levers=kv_fp8")
    expect(page.locator("#panel-fit tr.on th .switch")).to_have_text("fp8 cache")
    page.get_by_role("switch", name="fp8 cache").uncheck()
    expect(page.locator(NUMBER)).to_have_text("54")


def test_a_change_moves_the_chart_that_is_there(watched: Watched) -> None:
    """It is not drawn anew: that takes four times as long."""
    page = watched.open(charts=2)
    page.evaluate("() => document.querySelectorAll('#panel-fit svg').forEach((drawn) => (drawn.kept = true))")
    page.get_by_label("Tokens of each request").fill("4k")
    expect(page.locator("#panel-fit svg").get_by_text("109 at 4,096")).to_be_visible()
    page.get_by_role("switch", name="tensor parallel 2").check()
    expect(page.locator("#panel-fit svg").get_by_text("242 at 4,096")).to_be_visible()
    expect(page.locator("#panel-fit svg").get_by_text("weights: 7.5 GiB")).to_be_visible()
    assert page.evaluate("() => [...document.querySelectorAll('#panel-fit svg')].every((drawn) => drawn.kept)")


def test_shorter_requests_on_average_are_a_switch(watched: Watched) -> None:
    page = watched.open(charts=2)
    page.get_by_role("switch", name="a mean of 4,096 tokens").check()
    expect(page.locator(NUMBER)).to_have_text("109")
    expect(page).to_have_url(f"{watched.url}/?mean_tokens=4096")
    page.get_by_role("switch", name="a mean of 4,096 tokens").uncheck()
    expect(page.locator(NUMBER)).to_have_text("54")


def test_why_shows_the_arithmetic_and_closes_with_escape(watched: Watched) -> None:
    page = watched.open(charts=2)
    page.get_by_role("button", name="Why KV cache?").click()
    shown = page.get_by_role("dialog", name="Why KV cache?")
    expect(shown).to_contain_text("32 layers x 8 KV heads x (2 x 128 x 2 B) = 131,072 B a token")
    page.keyboard.press("Escape")
    expect(shown).to_be_hidden()


def test_what_cannot_be_read_is_said_at_its_field_and_the_answer_stays(watched: Watched) -> None:
    page = watched.open(charts=2)
    field = page.get_by_label("Tokens of each request")
    field.fill("many")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#context-wrong")).to_contain_text("a whole number of tokens")
    expect(page.locator(NUMBER)).to_have_text("54")


def test_what_does_not_go_together_is_said_at_the_field_that_it_names(watched: Watched) -> None:
    """Llama 3.1 8B has 32 heads, which 64 GPUs cannot share."""
    page = watched.open("?tp=64", charts=0)
    expect(page.locator("#tp-wrong")).to_contain_text("allowed")


def test_a_card_that_is_too_small_says_what_is_needed_and_what_would_work(watched: Watched) -> None:
    """16 GB of weights, 14.6 GiB of card."""
    page = watched.open("?gpu=t4", charts=0)
    expect(page.locator("#panel-fit .hero")).to_contain_text("does not fit on t4")
    expect(page.locator("#panel-fit .hero [role=alert]")).to_contain_text("int4 weights")


def test_a_dropped_config_is_answered_and_its_address_can_be_shared(watched: Watched, tmp_path: Path) -> None:
    file = tmp_path / "tiny.json"
    file.write_text(json.dumps(CONFIG))
    page = watched.open(charts=2)
    page.locator("#panel-fit input[type=file]").set_input_files(file)
    expect(page.locator("#panel-fit .facts dd").first).to_contain_text("32 KiB for each token")
    page.wait_for_url("**/*config=*")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#panel-fit .facts dd").first).to_contain_text("32 KiB for each token")
    page.get_by_role("button", name="Use the catalogue").click()
    expect(page.locator("#model-1-wrong")).to_contain_text("a catalogue name")


def test_a_file_that_is_no_config_is_refused_in_words(watched: Watched, tmp_path: Path) -> None:
    page = watched.open(charts=2)
    file = tmp_path / "wrong.json"
    models = cycle(("Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B"))
    for content in ("", "[1, 2]", "{", '{"model_type": "nobody-knows-this"}', "{}"):
        file.write_text(content)
        page.locator("#panel-fit input[type=file]").set_input_files(file)
        expect(page.locator("#panel-fit .form [role=alert]").first).to_be_visible()
        page.locator("#panel-fit [role=combobox]").fill(next(models))
        page.locator("#panel-fit [role=combobox]").press("Enter")
        expect(page.locator("#panel-fit .form [role=alert]")).to_have_count(0)


def test_services_can_be_added_changed_and_taken_away(watched: Watched) -> None:
    page = watched.open(charts=2)
    page.get_by_role("button", name="Add a service").click()
    page.get_by_label("service 3: users").fill("500")
    row = page.get_by_role("region", name="What each service needs").get_by_role("row", name="service 3")
    expect(row).to_contain_text("500")
    page.get_by_role("button", name="Remove chat").click()
    expect(page.get_by_role("region", name="What each service needs")).not_to_contain_text("chat")
    expect(page).to_have_url(f"{watched.url}/?services=documents:16384:20,service+3:2000:500")


STARTS = {"JSON": '{\n  "schema": "bide.memory/1"', "CSV": "context_tokens,", "Report (HTML)": "<!doctype"}


def test_the_answer_and_its_charts_can_be_taken_away(watched: Watched) -> None:
    page = watched.open(charts=2)
    for kind, start in STARTS.items():
        with page.expect_download() as waiting:
            page.locator("#panel-fit").get_by_role("button", name=kind, exact=True).click()
        assert Path(waiting.value.path()).read_text().startswith(start)
    with page.expect_download() as waiting:
        page.locator("#panel-fit").get_by_role("button", name="Save this chart as PNG").nth(1).click()
    assert Path(waiting.value.path()).read_bytes().startswith(b"\x89PNG")
