"""The lesson, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from web_page import Watched

pytestmark = pytest.mark.system


def test_both_ideas_are_shown_with_examples_that_move(watched: Watched) -> None:
    page = watched.open("?tab=learn", charts=2)
    expect(page.get_by_role("heading", name="Memory decides how many fit")).to_be_visible()
    words = page.locator("#panel-learn .lesson .sentence")
    expect(words.first).to_contain_text("a request of 8,192 tokens takes 1 GiB: 24 fit.")
    page.get_by_role("switch", name="fp8 cache").check()
    expect(words.first).to_contain_text("48 fit.")


def test_more_patience_needs_fewer_gpus(watched: Watched) -> None:
    page = watched.open("?tab=learn&learn_patience=30", charts=2)
    words = page.locator("#panel-learn .lesson .sentence").nth(1)
    impatient = int(words.inner_text().split(" need ")[1].split()[0])
    for _press in range(3):
        page.locator("#learn_patience-slider").press("ArrowRight")
    expect(page).to_have_url(f"{watched.url}/?tab=learn&learn_patience=45")
    expect(words).to_contain_text("Within 45 ms")
    assert int(words.inner_text().split(" need ")[1].split()[0]) < impatient


def test_nobody_is_promised_what_the_card_cannot_do(watched: Watched) -> None:
    page = watched.open("?tab=learn&learn_patience=5", charts=2)
    expect(page.locator("#panel-learn")).to_contain_text("Nobody can be that impatient")


def test_the_lesson_leads_to_the_reader_s_own_numbers(watched: Watched) -> None:
    page = watched.open("?tab=learn", charts=2)
    page.get_by_role("button", name="How many fit on my card?").click()
    expect(page.locator("#panel-fit .number strong")).to_have_text("54")
