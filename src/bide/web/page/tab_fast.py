"""How fast: the second tab."""

from __future__ import annotations

from markupsafe import Markup

from bide.i18n import _
from bide.web.page import deployment_form, fast_answer, fast_view
from bide.web.page.answer_tab import AnswerTab
from bide.web.page.downloads import curve_file
from bide.web.page.elements import Chart, Live, block
from bide.web.page.fast_answer import FastAnswer
from bide.web.page.visitor import Visitor
from bide.web.page.words import chart_words

KEYS = (*deployment_form.KEYS, *fast_answer.KEYS)
_NOT_ASKED = "gpu"
"""Of the shared inputs: this tab compares several."""


def build(visitor: Visitor) -> None:
    FastTab(visitor, [key.name for key in KEYS if key.name != _NOT_ASKED], _("What is compared"))


class FastTab(AnswerTab[FastAnswer]):
    """Speed against work, every curve at the requests that were set, a token's parts, whole answers, first tokens."""

    def build(self) -> None:
        words = chart_words()
        title = _("Speed against work, as more requests run at once")
        self._throughput = Chart(title, height=440, words=words, file="bide-throughput").classes("whole")
        self._at = Live().classes("whole")
        with block("div", "whole"):
            self._choice = Live(on_set=self.set).classes("choice-of")
            self._parts = Chart(_("Where a token's time goes"), height=300, words=words, file="bide-parts")
        self._whole = Chart(_("How long a whole answer takes"), height=280, words=words, file="bide-whole")
        self._first = Chart(_("How long until the first token"), height=280, words=words, file="bide-first")
        self._tables = Live().classes("whole")

    def form(self) -> Markup:
        return fast_view.form(self.state)

    def answer(self) -> FastAnswer:
        return fast_answer.fast_answer(self.state.frozen(), self.visitor.settings, self.visitor.profile)

    def show(self, shown: FastAnswer) -> None:
        self.hero.show(fast_view.hero(shown))
        label = _(
            "Output tokens a second against time between tokens, a line each for {names}; the tables have the figures"
        )
        self._throughput.draw(shown.throughput, label.format(names=", ".join(shown.said.names)))
        self._at.show(fast_view.at_clients(shown))

    def prepare_rest(self, shown: FastAnswer) -> None:
        _kept = shown.charts

    def show_rest(self, shown: FastAnswer) -> None:
        self._choice.show(fast_view.parts_choice(shown, self.state))
        self._parts.draw(shown.charts.parts)
        self._whole.draw(shown.charts.whole)
        self._first.draw(shown.charts.first)
        self._tables.show(fast_view.tables(shown))
        self.notes.show(fast_view.endings(shown))

    def file(self, shown: FastAnswer, kind: str) -> tuple[bytes, str] | None:
        return curve_file(shown.said, kind) if shown.said.curves else None

    def set(self, key: str, text: str) -> None:
        if key != "add-gpu":
            self.state.set(key, text)
        elif text:
            self.state.set("gpus", f"{self.state['gpus']},{text}")

    def act(self, what: str, value: str) -> None:
        if what == "drop-gpu":
            kept = [gpu for gpu in self.state["gpus"].split(",") if gpu != value]
            self.state.set("gpus", ",".join(kept))
