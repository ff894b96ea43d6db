"""What all tabs share: the address, languages, light and dark, narrow windows, keyboard, what axe-core finds."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import expect

from bide.i18n import _, speaking
from web_page import NARROW, Watched, serious_findings, within_the_window

pytestmark = pytest.mark.system

TABS = ("fit", "fast", "learn")


def test_a_shared_address_gives_the_same_answer(watched: Watched) -> None:
    page = watched.open("?model=Qwen/Qwen3-8B&gpu=l40s&kv_dtype=fp8&context=32768&levers=weights_fp8", charts=2)
    expect(page.locator("#panel-fit .sentence").first).to_contain_text("32,768 tokens at once")
    expect(page.locator("#panel-fit .sentence").first).to_contain_text("Qwen/Qwen3-8B on l40s")
    expect(page.get_by_role("switch", name="fp8 weights")).to_be_checked()


def test_what_an_address_gets_wrong_is_said_and_the_rest_is_used(watched: Watched) -> None:
    page = watched.open("?gpu=h999&context=-3&colour=red&tp=2", charts=2)
    said = page.locator(".problems [role=alert]")
    expect(said).to_contain_text("gpu:")
    expect(said).to_contain_text("context:")
    expect(said).to_contain_text("colour: not an input of this page")
    expect(page.locator("#panel-fit .sentence").first).to_contain_text("2 x h100-sxm")


MODELS = ("/etc/passwd", "../../etc/passwd", "./x.json", "~/x", "<script>alert(1)</script>", "a/b")


def test_no_model_name_reaches_a_file_or_the_page_s_scripts(watched: Watched) -> None:
    page = watched.open("?context=4096", charts=0)
    model = page.locator("#panel-fit").get_by_role("combobox", name="Model")
    for name in MODELS:
        model.fill(name)
        model.press("Enter")
        expect(page).to_have_url(re.compile("model=" + re.escape(quote_plus(name, safe=":,/*"))))
        expect(page.locator("#model-1-wrong")).to_contain_text("a catalogue name")
    assert page.evaluate("() => document.querySelectorAll('#answer script').length") == 0


def test_the_language_is_chosen_and_stays_with_the_address(watched: Watched) -> None:
    page = watched.open("?context=4096", charts=2)
    for code, name in (("vi", "Tiếng Việt"), ("ru", "Русский")):
        page.locator("#lang").select_option(name)
        page.wait_for_url(f"**/?lang={code}&context=4096")
        watched.wait_for_charts(2)
        assert page.evaluate("() => document.documentElement.lang") == code
        expect(page.locator("#panel-fit .number strong")).to_have_text("109")
        page.locator("#context").fill("x")
        with speaking(code):
            allowed = _("a whole number of tokens such as 2000, 8k (8,192) or 128k (131,072)")
        expect(page.locator("#context-wrong")).to_contain_text(allowed)


@pytest.mark.parametrize("newcomer", [{"locale": "ru-RU", "color_scheme": "dark"}], indirect=True)
def test_the_browser_s_language_is_spoken_and_dark_follows_the_system(newcomer: Watched) -> None:
    page = newcomer.open(charts=0)
    assert page.evaluate("() => document.documentElement.lang") == "ru"
    assert page.evaluate(PAPER) == "rgb(20, 23, 26)"


PAPER = "() => getComputedStyle(document.documentElement).backgroundColor"


def test_dark_is_chosen_at_once_and_remembered(watched: Watched) -> None:
    page = watched.open(charts=2)
    assert page.evaluate(PAPER) == "rgb(255, 255, 255)"
    page.get_by_role("radio", name="Dark").check(force=True)
    assert page.evaluate(PAPER) == "rgb(20, 23, 26)"
    page.reload()
    watched.wait_for_charts(2)
    assert page.evaluate(PAPER) == "rgb(20, 23, 26)"
    page.get_by_role("radio", name="As the system has it").check(force=True)
    assert page.evaluate(PAPER) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("watched", [{"viewport": NARROW}], indirect=True)
def test_levers_are_read_without_scrolling_sideways_in_a_narrow_window(watched: Watched) -> None:
    page = watched.open(charts=1)
    levers = page.locator("#panel-fit .scroll:has(.levers)")
    assert levers.evaluate("(region) => region.scrollWidth <= region.clientWidth")
    expect(levers.get_by_text("about half the bytes of weights").locator("visible=true")).to_have_count(1)


SIZES = ((400, 800), (1280, 500), (1280, 900))
APART = """([button, open]) => {
  const [a, b] = [button, open].map((one) => one.getBoundingClientRect());
  return (b.bottom <= a.top || b.top >= a.bottom) && b.top >= 0 && b.bottom <= innerHeight && b.right <= innerWidth;
}"""


def test_a_why_stays_in_the_window_and_off_its_button(watched: Watched) -> None:
    page = watched.open(charts=1)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for about in ("requests at once", "Weights", "Pool"):
            button = page.get_by_role("button", name=f"Why {about}?")
            button.click()
            shown = page.get_by_role("dialog", name=f"Why {about}?")
            expect(shown).to_be_visible()
            assert page.evaluate(APART, [button.element_handle(), shown.element_handle()])
            page.keyboard.press("Escape")


def test_tabs_are_moved_through_by_arrow_keys(watched: Watched) -> None:
    page = watched.open(charts=2)
    page.locator("#tab-fit").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-fast")).to_be_focused()
    expect(page.locator("#panel-fast")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator("#panel-learn")).to_be_visible()


@pytest.mark.parametrize("watched", [{"viewport": NARROW, "color_scheme": "dark"}], indirect=True)
def test_narrow_or_wide_dark_or_light_all_is_within_the_window_and_axe_finds_nothing(
    watched: Watched, axe_source: str
) -> None:
    page = watched.open(charts=2)
    found = {}
    for look in ("narrow and dark", "wide and light"):
        for tab in TABS:
            page.locator(f"#tab-{tab}").click()
            page.wait_for_selector(f"#panel-{tab} .plot[data-drawn]")
            within_the_window(page)
            found[tab, look] = serious_findings(page, axe_source)
        watched.look()
    assert not any(found.values()), found


def test_typing_and_sliding_never_loses_the_last_value(watched: Watched) -> None:
    """Events come faster than answers: the last one counts."""
    page = watched.open(charts=2)
    page.get_by_label("Tokens of each request").press_sequentially("0", delay=0)
    page.get_by_label("Tokens of each request").fill("")
    page.get_by_label("Tokens of each request").press_sequentially("16384", delay=0)
    expect(page.locator("#panel-fit .number strong")).to_have_text("27")


def test_the_first_paint_comes_soon(watched: Watched) -> None:
    """Where others may keep the machine busy: the soonest of a few times."""
    assert any(came_soon(watched) for _try in range(6))


def came_soon(watched: Watched) -> bool:
    page = watched.open(charts=0)
    painted, alive = page.evaluate(
        "() => [performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.now()]"
    )
    return bool(painted < 1500 and alive < 3000)
