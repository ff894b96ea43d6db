"""What a drag of a slider leaves behind, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from web_page import Watched

pytestmark = pytest.mark.system

DRAG = """
async (steps) => {
  const slider = document.querySelector("#prompt-slider");
  const from = Number(slider.value);
  for (const step of steps) {
    slider.value = from + step;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise(requestAnimationFrame);
  }
}
"""
SHOWN = """
() => ({
  words: [...document.querySelectorAll("#panel-fast :is(.hero, table, .choice-of)")].map((at) => at.textContent),
  marks: [...document.querySelectorAll("#panel-fast .plot")].map((plot) =>
    [...plot.querySelectorAll("[aria-label]")].map((mark) => mark.getAttribute("aria-label")).sort()),
  field: document.querySelector("#prompt").value,
})
"""
"""All figures: sentences, tables, and what each mark of each chart says."""


def settled(page: Page, timeout_ms: int = 15_000) -> object:
    """What is shown once nothing has changed for half a second."""
    before: object = None
    for _turn in range(timeout_ms // 500):
        now = page.evaluate(SHOWN)
        if now == before:
            return now
        before = now
        page.wait_for_timeout(500)
    raise AssertionError("it never rests")


def test_after_a_drag_every_figure_is_that_of_its_last_step(watched: Watched) -> None:
    """The prompt goes from 1,000 over 16,000 to 2,000 tokens: as if the page had been opened with 2,000."""
    page = watched.open("?tab=fast&gpus=h100-sxm,l40s", charts=4)
    page.evaluate(DRAG, [1, 2, 3, 4, 3, 2, 1])
    expect(page).to_have_url(f"{watched.url}/?tab=fast&gpus=h100-sxm,l40s&prompt=2000")
    dragged = settled(page)
    watched.open("?tab=fast&gpus=h100-sxm,l40s&prompt=2000", charts=4)
    assert dragged == settled(page)


def test_the_address_follows_once_a_drag_has_ended(watched: Watched) -> None:
    """A browser takes only so many changes of its address, and milliseconds for each."""
    page = watched.open("?tab=fast&gpus=h100-sxm", charts=4)
    page.evaluate("""() => {
      window.addresses = [];
      const replace = history.replaceState.bind(history);
      history.replaceState = (...given) => { addresses.push(given[2]); replace(...given); };
    }""")
    page.evaluate(DRAG, [1, 2, 3, 4, 3, 2, 1])
    expect(page).to_have_url(f"{watched.url}/?tab=fast&gpus=h100-sxm&prompt=2000")
    assert len(page.evaluate("() => addresses")) <= 3
