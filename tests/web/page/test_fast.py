"""How fast, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from web_page import Watched

pytestmark = pytest.mark.system

TABLE = "#panel-fast .swatched"


def test_several_gpus_are_compared_and_what_binds_is_said(watched: Watched) -> None:
    page = watched.open(charts=2)
    page.get_by_role("tab", name="How fast").click()
    watched.wait_for_charts(4)
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(3)
    expect(page.locator(TABLE)).to_contain_text("weights")
    expect(page.locator("#panel-fast h2")).to_contain_text("For people who read along")


def test_a_slider_moves_the_answer_and_the_address(watched: Watched) -> None:
    """Longer prompts leave less time for tokens."""
    page = watched.open("?tab=fast", charts=4)
    before = page.locator("#panel-fast h2").inner_text()
    page.locator("#prompt-slider").press("ArrowRight")
    expect(page).to_have_url(f"{watched.url}/?tab=fast&prompt=2000")
    expect(page.locator("#panel-fast h2")).not_to_have_text(before)
    expect(page.get_by_label("Prompt, tokens").nth(0)).to_be_visible()


def test_clients_move_the_table_alone(watched: Watched) -> None:
    page = watched.open("?tab=fast&gpus=h100-sxm", charts=4)
    page.locator("#clients").fill("64")
    expect(page.get_by_role("heading", name="With 64 clients")).to_be_visible()


def test_a_gpu_is_added_and_taken_away(watched: Watched) -> None:
    page = watched.open("?tab=fast&gpus=h100-sxm", charts=4)
    page.get_by_label("Add a GPU").select_option("h200-sxm")
    expect(page.locator(f"{TABLE} tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Remove H100").click()
    expect(page.locator(f"{TABLE} tbody th")).to_have_text(["h200-sxm"])


def test_settings_are_compared_beside_gpus(watched: Watched) -> None:
    page = watched.open("?tab=fast&gpus=h100-sxm", charts=4)
    page.get_by_label("Compare as well").select_option("kv_dtype")
    expect(page.locator(f"{TABLE} tbody th")).to_have_text(["h100-sxm, kv_dtype auto", "h100-sxm, kv_dtype fp8"])


def test_hover_gives_the_milliseconds_of_a_point(watched: Watched) -> None:
    page = watched.open("?tab=fast&gpus=h100-sxm", charts=4)
    page.locator("#panel-fast .plot").first.locator("svg path[aria-label^='h100-sxm, 32 clients']").first.hover()
    expect(page.locator(".tip")).to_contain_text(re.compile(r"A token's time: weights [\d.]+ ms, cache"))


def test_why_gives_the_arithmetic_of_a_row(watched: Watched) -> None:
    page = watched.open("?tab=fast&gpus=l40s", charts=4)
    page.get_by_role("button", name="Why l40s?").click()
    shown = page.get_by_role("dialog", name="Why l40s?")
    expect(shown).to_contain_text("Little's law")
    expect(shown).to_contain_text("Source of the step times")
