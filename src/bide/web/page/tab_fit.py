"""How many fit: the first tab."""

from __future__ import annotations

from nicegui import ui

from bide.errors import BadInput
from bide.i18n import _, speaking
from bide.web.page import deployment_form, fit_answer, fit_view
from bide.web.page.downloads import memory_file
from bide.web.page.elements import Chart, Live, block
from bide.web.page.fit_answer import FitAnswer
from bide.web.page.markup import trouble
from bide.web.page.model_picker import ModelPicker
from bide.web.page.refresher import Refresher
from bide.web.page.visitor import Visitor
from bide.web.page.words import chart_words

KEYS = (*deployment_form.KEYS, *fit_answer.KEYS)
_NAMES = tuple(key.name for key in KEYS)
Answered = FitAnswer | BadInput


def build(visitor: Visitor) -> None:
    """Form on one side, the answer on the other."""
    FitTab(visitor)


class FitTab:
    """The elements of the tab, and what moves them."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor, self._state = visitor, visitor.state
        self._shown: FitAnswer | None = None
        self._refresher = Refresher(self._compute, self._show, visitor.language)
        with block("div", "two"):
            with block("div", "form", role="form", aria_label=_("What runs where")):
                self._picker = ModelPicker(visitor)
                self._form = Live(on_set=self._state.set, on_act=self._act)
            with block("div", "answer wide"):
                self._build_answer()
        self._state.watch(_NAMES, self._refresher.ask)
        self._refresher.now()

    def _build_answer(self) -> None:
        self._hero = Live().classes("hero whole").props('aria-live="polite"')
        self._cards = Live().classes("whole")
        self._card = Chart(
            _("Where the memory of one GPU goes"), height=150, words=chart_words(), file="bide-card"
        ).classes("whole")
        self._contexts = Chart(_("How many requests fit"), height=340, words=chart_words(), file="bide-requests")
        self._table = Live()
        self._levers = Live(on_set=self._switch)
        self._services = Live(on_set=self._set_service, on_act=self._act)
        Live(fit_view.downloads(), on_act=self._act).classes("whole")
        self._notes = Live().classes("whole")

    def _compute(self) -> Answered:
        try:
            return fit_answer.fit_answer(self._state.frozen(), self._visitor.settings, self._visitor.profile)
        except BadInput as error:
            return error

    def _show(self, answered: Answered) -> None:
        wrong = answered if isinstance(answered, BadInput) else None
        at_field = self._state.blame(wrong, _NAMES)
        self._picker.show()
        self._form.show(fit_view.form(self._state))
        if isinstance(answered, FitAnswer):
            self._shown = answered
            self._show_answer(answered)
        else:
            text = _("This cannot be answered as it stands: see the field.") if at_field else str(wrong)
            self._hero.show(trouble(text))

    def _show_answer(self, shown: FitAnswer) -> None:
        self._hero.show(fit_view.hero(shown))
        self._cards.show(fit_view.cards(shown))
        self._card.draw(shown.card, _("One GPU's memory as a bar: {parts}").format(parts=_parts(shown.card)))
        self._contexts.draw(
            shown.contexts, _("Requests at once against tokens of context; the table below has the figures")
        )
        self._table.show(fit_view.contexts(shown))
        self._levers.show(fit_view.levers(shown))
        self._services.show(fit_view.services(self._state, shown))
        self._notes.show(fit_view.endings(shown))

    def _switch(self, _key: str, change: str) -> None:
        self._state.set("levers", fit_answer.switched(self._state["levers"], change))

    def _set_service(self, key: str, text: str) -> None:
        _word, number, place = key.split(".")
        rows = fit_view.service_rows(self._state)
        if int(number) < len(rows):
            rows[int(number)][int(place)] = text.replace(":", " ").replace(",", "")
            self._state.set("services", ",".join(":".join(row) for row in rows))

    def _act(self, what: str, value: str) -> None:
        rows = fit_view.service_rows(self._state)
        if what == "forget-profile":
            self._state.set("profile", "")
        elif what == "add-service":
            rows.append([f"{_('service')} {len(rows) + 1}", "2000", "10"])
            self._state.set("services", ",".join(":".join(row) for row in rows))
        elif what == "drop-service" and len(rows) > 1:
            del rows[int(value)]
            self._state.set("services", ",".join(":".join(row) for row in rows))
        elif what == "download" and self._shown:
            with speaking(self._visitor.language):
                content, name = memory_file(self._shown.answer, value)
            ui.download.content(content, name)


def _parts(card: dict[str, object] | None) -> str:
    data = card.get("datasets") if card else None
    rows = next(iter(data.values())) if isinstance(data, dict) else []
    return ", ".join(str(row["text"]) for row in rows)
