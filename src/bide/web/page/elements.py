"""The page's own elements: HTML that updates in place, charts, a picker with a filter, the address."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup
from nicegui.element import Element
from nicegui.events import GenericEventArguments
from nicegui.json import dumps

from bide.i18n import language, speaking
from bide.web.page.bundle import bundle_name

Set = Callable[[str, str], object]
"""A state key and its new text."""
Act = Callable[[str, str], object]
"""What to do, and with what."""
Given = Callable[[str, str, str], object]
"""A file: the key of its control, its name, its text."""
_SETTLED_S = 0.15
"""Without a change, until the address follows: browsers take milliseconds for it, and only so many a second."""


def block(tag: str, class_: str = "", **attributes: str) -> Element:
    """A plain element, to be filled with `with`; attributes as for `bide.web.page.markup.h`."""
    made = Element(tag)
    if class_:
        made.classes(class_)
    made._props.update({name.replace("_", "-"): value for name, value in attributes.items()})
    return made


class Live(Element, component="static/live.js"):
    """HTML made on the server; an update changes what differs, so that focus, scrolling and open notes stay.

    Controls with `data-set=KEY` call `on_set(KEY, text)` as they change (a checkbox with `data-value=V`: `+V` or `-V`),
    buttons with `data-act=WHAT` call `on_act(WHAT, value)`, file inputs with `data-file=KEY` call
    `on_file(KEY, name, text)`.
    """

    def __init__(
        self,
        html: Markup | None = None,
        *,
        on_set: Set | None = None,
        on_act: Act | None = None,
        on_file: Given | None = None,
    ) -> None:
        super().__init__()
        self._props["html"] = str(html or "")
        for event, told in (("set", on_set), ("act", on_act), ("file", on_file)):
            if told is not None:
                self.on(event, _unpacked(told))

    def show(self, html: Markup) -> None:
        """Replace the content."""
        if self._props["html"] != str(html):
            self._props["html"] = str(html)
            self.update()


class Chart(Element, component="static/chart.js"):
    """A chart with a title, words for those who do not see it, words on hover, and buttons for PNG and SVG."""

    def __init__(
        self,
        title: str,
        *,
        height: int,
        words: Mapping[str, str],
        file: str = "bide",
        on_drag: Callable[[int], object] | None = None,
    ) -> None:
        """`on_drag` gets the number of the place that a pointer drags to: see `draggable`."""
        super().__init__()
        self._props.update(title=title, height=height, words=dict(words), file=file, shape="", data="", label=title)
        self._props["library"] = f"/_bide/{bundle_name()}"
        if on_drag is not None:
            self.on("drag", lambda event: on_drag(int(event.args)))

    def draggable(self, places: Sequence[float | None]) -> None:
        """Let a pointer move along these values of x; those that are None cannot be dragged to."""
        self._props["drags"] = list(places)

    def draw(self, spec: dict[str, Any] | None, label: str = "") -> None:
        """Show a spec of `bide.web.page.charts.spec`; None empties the place. `label` says what is to be seen."""
        shape, data = _halves(spec) if spec else ("", "")
        shown = {"shape": shape, "data": data, "label": label or self._props["title"]}
        if any(self._props[name] != text for name, text in shown.items()):
            self._props.update(shown)
            self.update()


def _halves(spec: dict[str, Any]) -> tuple[str, str]:
    """A spec without what differs between charts of a kind, and that. As text: NiceGUI and Vue watch every object."""
    kind = {key: value for key, value in spec.items() if key not in ("datasets", "params")}
    data = {"datasets": spec.get("datasets", {}), "params": spec.get("params", [])}
    return dumps(kind), dumps(data)


class Picker(Element, component="static/picker.js"):
    """A text field that filters a list as one types; arrow keys choose. `on_pick` gets the text or the id chosen."""

    def __init__(
        self,
        key: str,
        label: str,
        value: str,
        options: Sequence[Mapping[str, str]],
        words: Mapping[str, str],
        on_pick: Set,
    ) -> None:
        super().__init__()
        self._props.update(
            name=key, label=label, value=value, options=dumps(list(options)), words=dict(words), error="", hint=""
        )
        self.on("pick", _unpacked(on_pick))

    def show(self, value: str, error: str, hint: str = "") -> None:
        shown = {"value": value, "error": error, "hint": hint}
        if any(self._props[name] != text for name, text in shown.items()):
            self._props.update(shown)
            self.update()


class Address(Element, component="static/address.js"):
    """Keeps the query of the browser's address, once inputs rest."""

    def __init__(self, query: str) -> None:
        super().__init__()
        self._props["query"] = query
        self._settling: asyncio.TimerHandle | None = None

    def show(self, query: str) -> None:
        if self._props["query"] == query:
            return
        with self._props.suspend_updates():
            self._props["query"] = query
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.get_running_loop().call_later(_SETTLED_S, self.update)


class Tabs(Element, component="static/tabs.js"):
    """The tab list: arrow keys move, `on_pick` gets the tab's id."""

    def __init__(
        self, tabs: Sequence[Mapping[str, str]], value: str, label: str, on_pick: Callable[[str], object]
    ) -> None:
        super().__init__()
        self._props.update(tabs=list(tabs), value=value, label=label)
        self.on("pick", _unpacked(on_pick))

    def show(self, value: str) -> None:
        self._props["value"] = value
        self.update()


def _unpacked(told: Callable[..., object]) -> Callable[[GenericEventArguments], object]:
    """The event's arguments one by one, as texts; told in the language of the page, not in that of the browser."""
    spoken = language()

    def handle(event: GenericEventArguments) -> object:
        given = event.args if isinstance(event.args, list) else [event.args]
        with speaking(spoken):
            return told(*(str(value) for value in given))

    return handle


class Theme(Element, component="static/theme.js"):
    """Light, dark or as the system has it, kept by the browser."""

    def __init__(self, words: Mapping[str, str]) -> None:
        super().__init__()
        self._props["words"] = dict(words)
