"""How many fit: the first tab."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from bide.i18n import _
from bide.web.page import deployment_form, fit_answer, fit_view
from bide.web.page.answer_tab import AnswerTab
from bide.web.page.downloads import memory_file
from bide.web.page.elements import Chart, Live
from bide.web.page.fit_answer import FitAnswer
from bide.web.page.typed import plain_number
from bide.web.page.visitor import Visitor
from bide.web.page.words import chart_words

KEYS = (*deployment_form.KEYS, *fit_answer.KEYS)


def build(visitor: Visitor) -> None:
    FitTab(visitor, [key.name for key in KEYS], _("What runs where"))


class FitTab(AnswerTab[FitAnswer]):
    """Bytes of the card, requests by context, levers, services."""

    def build(self) -> None:
        words = chart_words()
        self._cards = Live().classes("whole")
        title = _("Where the memory of one GPU goes")
        self._card = Chart(title, height=150, words=words, file="bide-card").classes("whole")
        self._contexts = Chart(_("How many requests fit"), height=340, words=words, file="bide-requests")
        self._table = Live()
        self._levers = Live(on_set=self._switch)
        self._services = Live(on_set=self._set_service, on_act=self.act)

    def form(self) -> Markup:
        return fit_view.form(self.state)

    def answer(self) -> FitAnswer:
        return fit_answer.fit_answer(self.state.frozen(), self.visitor.settings, self.visitor.profile)

    def show(self, shown: FitAnswer) -> None:
        self.hero.show(fit_view.hero(shown))
        self._cards.show(fit_view.cards(shown))
        self._card.draw(shown.card, _("One GPU's memory as a bar: {parts}").format(parts=_parts(shown.card)))
        label = _("Requests at once against tokens of context; the table below has the figures")
        self._contexts.draw(shown.contexts, label)
        self._table.show(fit_view.contexts(shown))
        self._levers.show(fit_view.levers(shown))
        self._services.show(fit_view.services(self.state, shown))
        self.notes.show(fit_view.endings(shown))

    def file(self, shown: FitAnswer, kind: str) -> tuple[bytes, str]:
        return memory_file(shown.answer, kind)

    def act(self, what: str, value: str) -> None:
        rows = fit_view.service_rows(self.state)
        if what == "add-service":
            rows.append([f"{_('service')} {len(rows) + 1}", "2000", "10"])
        elif what == "drop-service" and len(rows) > 1:
            del rows[int(value)]
        self._set_services(rows)

    def _switch(self, _key: str, change: str) -> None:
        for key, text in fit_answer.switched(self.state.frozen(), change).items():
            self.state.set(key, text)

    def _set_service(self, key: str, text: str) -> None:
        _word, number, place = key.split(".")
        rows = fit_view.service_rows(self.state)
        if int(number) < len(rows):
            read = plain_number("services", text, whole=True) if int(place) else text
            rows[int(number)][int(place)] = " ".join(read.replace(":", " ").replace(",", " ").split())
            self._set_services(rows)

    def _set_services(self, rows: list[list[str]]) -> None:
        self.state.set("services", ",".join(":".join(row) for row in rows))


def _parts(card: dict[str, Any] | None) -> str:
    return ", ".join(str(row["text"]) for row in card["datasets"]["parts"]) if card else ""
