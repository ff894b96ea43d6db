"""The frame of the page: header, tabs, language, light and dark, and a panel a tab, built when first opened."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fastapi import Request
from markupsafe import Markup
from nicegui import ui
from nicegui.element import Element

from bide.errors import BadInput
from bide.i18n import LANGUAGES, _, language, use_language
from bide.web.asked_language import asked_language
from bide.web.page.assets import early_name, style_name
from bide.web.page.bundle import bundle_name
from bide.web.page.controls import button
from bide.web.page.deployment_form import profile_path
from bide.web.page.elements import Address, Live, Tabs, Theme, block
from bide.web.page.markup import h
from bide.web.page.state import Key, State
from bide.web.page.visitor import Visitor
from bide.web.settings import Settings

TABS = ("fit", "fast", "plan", "measured", "learn")
_MODULES = {"fit": "tab_fit", "fast": "tab_fast", "plan": "tab_plan", "measured": "tab_measured", "learn": "tab_learn"}
_DRAWN_AT_ONCE = ("fit", "fast", "learn")
"""Tabs that have charts as they open: the library is fetched while the page is read."""
_QUASAR = {"en": "en-US", "vi": "vi", "ru": "ru"}
Build = Callable[[Visitor], None]


def build_page(request: Request, settings: Settings, server: Any) -> None:
    """The whole page of one visitor."""
    use_language(asked_language(request.scope))
    state = State(_keys())
    wrong = state.read(request.url.query)
    visitor = Visitor(state, settings, language(), server)
    wrong += _take_profile(visitor)
    state.watch(["profile"], lambda: _take_profile(visitor))  # before any tab, which then finds it
    _prepare_document(visitor)
    _build(visitor, wrong)


def _take_profile(visitor: Visitor) -> list[str]:
    """Find the profile that the address names; what is wrong with it, in words."""
    try:
        visitor.profile = profile_path(visitor.state.frozen(), visitor.server)
    except BadInput as error:
        visitor.profile = None
        visitor.state.set("profile", "")
        return [str(error)]
    return []


def _keys() -> list[Key]:
    """Of all tabs; those that share a key mean the same by it."""
    from bide.web.page.checks import one_of

    keys = {"tab": Key("tab", "fit", one_of("tab", TABS)), "lang": Key("lang", "", one_of("lang", ("", *LANGUAGES)))}
    for module in modules().values():
        keys |= {key.name: key for key in module.KEYS}
    return list(keys.values())


def modules() -> dict[str, Any]:
    """The tabs that there are, loaded."""
    found = {tab: f"bide.web.page.{name}" for tab, name in _MODULES.items()}
    return {tab: import_module(name) for tab, name in found.items() if find_spec(name)}


def _names() -> Mapping[str, str]:
    return {
        "fit": _("How many fit"),
        "fast": _("How fast"),
        "plan": _("How many GPUs"),
        "measured": _("Measured"),
        "learn": _("Learn"),
    }


def _prepare_document(visitor: Visitor) -> None:
    client = ui.context.client
    client.page = copy.copy(client.page)
    client.page.language = _QUASAR[visitor.language]  # type: ignore[assignment]
    description = _(
        "How long a context, how many at once, how fast, how many GPUs: capacity planning for serving LLMs."
    )
    charts = h("link", rel="preload", as_="script", href=f"/_bide/{bundle_name()}")
    ui.add_head_html(
        str(
            h("meta", name="description", content=description)
            + (charts if visitor.state["tab"] in _DRAWN_AT_ONCE else "")
            + h("script", src=f"/_bide/{early_name()}")
            + h("link", rel="stylesheet", href=f"/_bide/{style_name()}")
        )
    )


def _first_paint() -> Markup:
    """What stands there until the page has come alive: its name and its questions."""
    tabs = [h("span", _names()[tab]) for tab in TABS]
    brand = h("div", h("a", h("span", "bide", class_="name")), class_="brand")
    return h("div", h("div", brand, h("div", tabs, class_="tabs"), class_="top"), id="first", aria_hidden="true")


def _build(visitor: Visitor, wrong: list[str]) -> None:
    ui.add_body_html(str(_first_paint()))
    state, names = visitor.state, _names()
    Live(h("a", _("Skip to the answer"), href="#answer", class_="skip")).classes("skipping")
    address = Address(state.query())
    tabs = [{"id": tab, "name": names[tab]} for tab in TABS if tab in modules()]
    with block("header", "top"):
        Live(_brand()).classes("brand")
        bar = Tabs(tabs, state["tab"], _("Questions"), lambda tab: state.set("tab", tab))
        with block("div", "settings"):
            Live(_languages(), on_set=lambda _key, value: _speak(state, value)).classes("languages")
            Theme(
                {"light": _("Light"), "auto": _("As the system has it"), "dark": _("Dark"), "label": _("Light or dark")}
            )
    panels: dict[str, Element] = {}
    with block("div", id="answer", tabindex="-1"):
        if wrong:
            Live(_problems(wrong)).classes("problems")
        for tab in tabs:
            panels[tab["id"]] = _panel(tab["id"])
    Live(_foot(), on_act=lambda _what, tab: state.set("tab", tab)).classes("foot")

    def show() -> None:
        bar.show(state["tab"])
        for tab, panel in panels.items():
            panel.props["hidden"] = tab != state["tab"]
            panel.update()
        _fill(visitor, state["tab"], panels[state["tab"]])
        address.show(state.query())

    def follow() -> None:
        address.show(state.query())

    visitor.moved, visitor.go = follow, lambda tab: state.set("tab", tab)
    state.watch(["tab"], show)
    state.watch(state.names() - {"tab"}, follow)
    show()


def _panel(tab: str) -> Element:
    return block("section", role="tabpanel", id=f"panel-{tab}", aria_labelledby=f"tab-{tab}", tabindex="-1")


def _fill(visitor: Visitor, tab: str, panel: Element) -> None:
    """Build a tab when it is first opened."""
    if tab in visitor.seen:
        return
    visitor.seen.add(tab)
    use_language(visitor.language)
    with panel:
        modules()[tab].build(visitor)


def _speak(state: State, code: str) -> None:
    """The same page in another language: its texts are made on the server, so it is loaded anew."""
    ui.navigate.to("/?" + state.query(lang=code))


def _brand() -> Markup:
    link = h("a", h("span", "bide", class_="name"), href="/", aria_label=_("bide: start anew"))
    return h("h1", link)


def _languages() -> Markup:
    options = [
        h("option", name, value=code, lang=code, selected=code == language()) for code, name in LANGUAGES.items()
    ]
    return h("label", h("span", _("Language"), class_="unseen"), h("select", options, id="lang", data_set="lang"))


def _problems(wrong: list[str]) -> Markup:
    title = _("Some of this address could not be used; the rest was:")
    return h("div", h("p", title), h("ul", [h("li", line) for line in wrong]), class_="trouble", role="alert")


def _foot() -> Markup:
    text = _("Every number comes from the same functions as the command line, carries its spread, and says why.")
    words = button(_("What the words mean"), "go", "learn", class_="link")
    api = h("a", _("The API, with a command to try for each question"), href="/docs")
    return h("p", text, " ", words, " · ", api)
