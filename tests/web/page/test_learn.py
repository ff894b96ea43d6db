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


def test_the_words_are_explained_and_every_tab_leads_to_them(watched: Watched) -> None:
    page = watched.open("?tab=fast", charts=1)
    page.get_by_role("button", name="What the words mean").click()
    words = page.locator("#panel-learn .words")
    for word in ("Token", "KV cache", "Step, batch", "Prefill, decode", "TTFT, TPOT, E2E", "p95", "Knee"):
        expect(words.get_by_text(word, exact=True)).to_be_visible()


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ("Why meta-llama/Llama-3.1-8B on one l40s?", "a request of 8,192 tokens: 512 blocks x 2 MiB = 1 GiB"),
        ("Why 6 GPUs?", "Source of the step times"),
    ],
)
def test_both_figures_say_why(watched: Watched, figure: str, said: str) -> None:
    page = watched.open("?tab=learn", charts=2)
    page.get_by_role("button", name=figure).click()
    expect(page.get_by_role("dialog", name=figure)).to_contain_text(said)
