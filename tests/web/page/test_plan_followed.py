"""One plan that several pages follow: it goes on where one is loaded anew, and ends where nobody wants it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from web_page import Watched

pytestmark = pytest.mark.system

LONG = "?tab=plan&plan_gpus=h100-sxm,l40s,a100-80g-sxm&peak_rps=200&planned=now"
"""Three kinds of GPU, any size: longer than this test."""


def progress(page: Page) -> str:
    shown = page.locator("#panel-plan .progress [role=status]")
    expect(shown).to_have_text(re.compile("planning|best so far"), timeout=60_000)
    return shown.inner_text()


def test_a_plan_is_followed_by_all_pages_that_ask_it_and_ended_by_the_last(watched: Watched) -> None:
    """There is one place for jobs on two cores: a second one would say that it waits."""
    page = watched.open(LONG, charts=0)
    progress(page)
    page.reload()
    assert "waiting" not in progress(page)
    other = page.context.new_page()
    try:
        other.goto(page.url)
        progress(other)
        other.locator(".progress").get_by_role("button", name="Cancel").click()
        expect(other.get_by_role("progressbar")).to_have_count(0)
        progress(page)
        other.goto(page.url)
        progress(other)
        page.locator(".progress").get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("progressbar")).to_have_count(0)
        progress(other)
        other.locator(".progress").get_by_role("button", name="Cancel").click()
        page.goto(f"{watched.url}/{LONG.replace('200', '201')}")
        assert "waiting" not in progress(page), "its place is free"
        page.locator(".progress").get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("progressbar")).to_have_count(0)
    finally:
        other.close()
