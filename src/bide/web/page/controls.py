"""Form controls as HTML. Each sets the state key that it is called by; an error stands below it and is read with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from bide.i18n import _
from bide.web.page.markup import Child, h
from bide.web.page.state import State

Options = Sequence[tuple[str, str]]
"""Value and text."""


def text(
    state: State, key: str, label: str, *, hint: str = "", kind: str = "text", width: str = "", **more: object
) -> Markup:
    """A line of text or a number."""
    made = h(
        "input",
        id=key,
        type=kind,
        value=state.text(key),
        data_set=key,
        class_=width or None,
        autocomplete="off",
        spellcheck="false",
        **_described(state, key, hint),
        **more,
    )
    return field(state, key, label, made, hint)


def select(state: State, key: str, label: str, options: Options, *, hint: str = "") -> Markup:
    """One of a few."""
    return field(state, key, label, _select(state, key, _options(state, key, options), hint), hint)


def grouped(state: State, key: str, label: str, groups: Mapping[str, Options], *, hint: str = "") -> Markup:
    """One of many, in groups."""
    made = [h("optgroup", _options(state, key, options), label=name) for name, options in groups.items()]
    return field(state, key, label, _select(state, key, made, hint), hint)


def _select(state: State, key: str, options: Iterable[Child], hint: str) -> Markup:
    return h("select", options, id=key, data_set=key, **_described(state, key, hint))


def _options(state: State, key: str, options: Options) -> list[Markup]:
    now = state.text(key)
    return [h("option", shown, value=value, selected=value == now) for value, shown in options]


def slider(state: State, key: str, label: str, steps: Sequence[str], shown: str, *, unit: str = "") -> Markup:
    """A range over `steps` with a line of text for what lies between. `shown`: what a screen reader says."""
    now = state.text(key)
    place = steps.index(now) if now in steps else _nearest(steps, now)
    drawn = h(
        "input",
        id=f"{key}-slider",
        type="range",
        min="0",
        max=str(len(steps) - 1),
        value=str(place),
        data_set=key,
        data_steps=",".join(steps),
        aria_label=label,
        aria_valuetext=shown,
    )
    described = _described(state, key, "")
    keys = "decimal" if any("." in step for step in steps) else "numeric"
    line = h("input", id=key, type="text", value=now, data_set=key, class_="short", inputmode=keys, **described)
    both = h("span", drawn, line, h("span", unit, class_="unit") if unit else None, class_="slider")
    return field(state, key, label, both)


def _nearest(steps: Sequence[str], now: str) -> int:
    if not now.replace(".", "", 1).isdigit():
        return 0
    return min(range(len(steps)), key=lambda place: abs(float(steps[place]) - float(now)))


def switch(key: str, label: Child, on: bool, *, value: str, name: str) -> Markup:
    """An on/off switch among several of one state key."""
    box = h("input", id=f"{key}-{value}", type="checkbox", role="switch", checked=on, data_set=key, data_value=value,
            aria_label=name)  # fmt: skip
    return h("label", box, h("span", label), class_="switch")


def button(label: Child, act: str, value: str = "", *, class_: str = "plain", name: str = "") -> Markup:
    """A button that asks the page to do something."""
    return h("button", label, type="button", class_=class_, data_act=act, data_value=value, aria_label=name or None)


def field(state: State, key: str, label: str, control: Child, hint: str = "") -> Markup:
    """A label, a control, a hint and, where what was given cannot be used, why."""
    error = state.error(key)
    below = h("span", hint, class_="hint", id=f"{key}-hint") if hint and not error else None
    wrong = h("span", error, class_="wrong", id=f"{key}-wrong", role="alert") if error else None
    return h("div", h("label", label, for_=key), control, below, wrong, class_="field")


def _described(state: State, key: str, hint: str) -> dict[str, object]:
    if state.error(key):
        return {"aria_invalid": "true", "aria_describedby": f"{key}-wrong"}
    return {"aria_describedby": f"{key}-hint"} if hint else {}


def copy_link() -> Markup:
    """Puts the address of this answer on the clipboard."""
    return h("button", _("Copy the link"), type="button", class_="plain", data_copy=_("Copied"))


def code(key: str, text: str) -> Markup:
    """Text to read and to copy."""
    copy = h("button", _("Copy"), type="button", class_="plain", data_copy=_("Copied"), data_copy_from=key)
    return h("div", h("pre", text, id=key, tabindex="0"), copy, class_="code")
