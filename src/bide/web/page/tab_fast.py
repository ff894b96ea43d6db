"""How fast: the second tab."""

from __future__ import annotations

from nicegui import ui

from bide.errors import BadInput
from bide.i18n import _, speaking
from bide.web.page import deployment_form, fast_answer, fast_view
from bide.web.page.downloads import curve_file
from bide.web.page.elements import Chart, Live, block
from bide.web.page.fast_answer import FastAnswer, FastDetails
from bide.web.page.markup import trouble
from bide.web.page.model_picker import ModelPicker
from bide.web.page.refresher import Refresher
from bide.web.page.visitor import Visitor
from bide.web.page.words import chart_words

KEYS = (*deployment_form.KEYS, *fast_answer.KEYS)
_NAMES = tuple(key.name for key in KEYS if key.name != "gpu")
Answered = FastAnswer | BadInput


def build(visitor: Visitor) -> None:
    """Form on one side, the answer on the other."""
    FastTab(visitor)


class FastTab:
    """The elements of the tab, and what moves them."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor, self._state = visitor, visitor.state
        self._shown: FastAnswer | None = None
        self._refresher = Refresher(self._compute, self._show, visitor.language)
        self._later = Refresher(self._compute_details, self._show_details, visitor.language)
        with block("div", "two"):
            with block("div", "form", role="form", aria_label=_("What is compared")):
                self._picker = ModelPicker(visitor)
                self._form = Live(on_set=self._set, on_act=self._act)
            with block("div", "answer wide"):
                self._build_answer()
        self._state.watch(_NAMES, self._refresher.ask)
        self._refresher.now()

    def _build_answer(self) -> None:
        words = chart_words()
        self._hero = Live().classes("hero whole").props('aria-live="polite"')
        title = _("Speed against work, as more requests run at once")
        self._throughput = Chart(title, height=440, words=words, file="bide-throughput").classes("whole")
        self._at = Live().classes("whole")
        with block("div", "whole"):
            self._choice = Live(on_set=self._state.set).classes("choice-of")
            self._parts = Chart(_("Where a token's time goes"), height=300, words=words, file="bide-parts")
        self._whole = Chart(_("How long a whole answer takes"), height=280, words=words, file="bide-whole")
        self._first = Chart(_("How long until the first token"), height=280, words=words, file="bide-first")
        self._tables = Live().classes("whole")
        Live(fast_view.downloads(), on_act=self._act).classes("whole")
        self._notes = Live().classes("whole")

    def _compute(self) -> Answered:
        try:
            return fast_answer.fast_answer(self._state.frozen(), self._visitor.settings, self._visitor.profile)
        except BadInput as error:
            return error

    def _show(self, answered: Answered) -> None:
        wrong = answered if isinstance(answered, BadInput) else None
        at_field = self._state.blame(wrong, _NAMES)
        self._picker.show()
        self._form.show(fast_view.form(self._state))
        if isinstance(answered, FastAnswer):
            self._shown = answered
            self._show_answer(answered)
        else:
            text = _("This cannot be answered as it stands: see the field.") if at_field else str(wrong)
            self._hero.show(trouble(text))

    def _show_answer(self, shown: FastAnswer) -> None:
        self._hero.show(fast_view.hero(shown))
        label = _(
            "Output tokens a second against time between tokens, a line each for {names}; the tables have the figures"
        )
        self._throughput.draw(shown.throughput, label.format(names=", ".join(shown.said.names)))
        self._at.show(fast_view.at_clients(shown))
        self._tables.show(fast_view.tables(shown))
        self._notes.show(fast_view.endings(shown))
        self._later.ask()

    def _compute_details(self) -> FastDetails | None:
        return fast_answer.fast_details(self._shown) if self._shown else None

    def _show_details(self, details: FastDetails | None) -> None:
        if details is None or self._shown is None:
            return
        self._choice.show(fast_view.parts_choice(self._shown, self._state))
        self._parts.draw(details.parts)
        self._whole.draw(details.whole)
        self._first.draw(details.first)

    def _set(self, key: str, text: str) -> None:
        if key == "add-gpu":
            if text:
                self._state.set("gpus", f"{self._state['gpus']},{text}")
        else:
            self._state.set(key, text)

    def _act(self, what: str, value: str) -> None:
        if what == "forget-profile":
            self._state.set("profile", "")
        elif what == "drop-gpu":
            kept = [gpu for gpu in self._state["gpus"].split(",") if gpu != value]
            self._state.set("gpus", ",".join(kept))
        elif what == "download" and self._shown and self._shown.said.curves:
            with speaking(self._visitor.language):
                content, name = curve_file(self._shown.said, value)
            ui.download.content(content, name)
