"""A tab with a form on one side and, on the other, an answer that follows every input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from markupsafe import Markup
from nicegui import ui

from bide.errors import BadInput
from bide.i18n import _, speaking
from bide.web.page.controls import button, copy_link
from bide.web.page.elements import Live, block
from bide.web.page.markup import h, trouble
from bide.web.page.model_picker import ModelPicker
from bide.web.page.refresher import Refresher
from bide.web.page.visitor import Visitor

Answer = TypeVar("Answer")


class AnswerTab(ABC, Generic[Answer]):
    """The elements that such tabs share, and what moves them. A tab says how it asks, answers and shows.

    What cannot be answered is said at its field, or in the answer's place where it has none.
    """

    def __init__(self, visitor: Visitor, names: Iterable[str], about: str) -> None:
        """`names`: the inputs that the answer depends on; `about` names the form."""
        self.visitor, self.state = visitor, visitor.state
        self.shown: Answer | None = None
        self._names = tuple(names)
        refresher = Refresher(self._compute, self._show, visitor.language, self._show_rest, self._prepare_rest)
        with block("div", "two"):
            with block("div", "form", role="form", aria_label=about):
                self._picker = ModelPicker(visitor)
                self._form = Live(on_set=self.set, on_act=self._act)
            with block("div", "answer wide"):
                self.hero = Live().classes("hero whole").props('aria-live="polite"')
                self.build()
                Live(_downloads(), on_act=self._act).classes("whole")
                self.notes = Live().classes("whole")
        self.state.watch(self._names, refresher.ask)
        refresher.now()

    @abstractmethod
    def build(self) -> None:
        """Put the elements of the answer below its headline."""

    @abstractmethod
    def form(self) -> Markup:
        """The form as it is now, but for the model."""

    @abstractmethod
    def answer(self) -> Answer:
        """To what is set now; called beside the event loop. Raises BadInput."""

    @abstractmethod
    def show(self, shown: Answer) -> None:
        """Put an answer into the elements, or what is seen of it first."""

    def prepare_rest(self, shown: Answer) -> None:
        """Make what `show_rest` puts there; called beside the event loop."""

    def show_rest(self, shown: Answer) -> None:
        """Put the rest of it into the elements, once inputs rest."""

    @abstractmethod
    def file(self, shown: Answer, kind: str) -> tuple[bytes, str] | None:
        """An answer as json, csv or html: content and name; None where there is nothing to take away."""

    def set(self, key: str, text: str) -> None:
        """An input of the form was changed."""
        self.state.set(key, text)

    def act(self, what: str, value: str) -> None:
        """Another button than those that all such tabs have was pressed."""

    def _compute(self) -> Answer | BadInput:
        try:
            return self.answer()
        except BadInput as error:
            return error

    def _show(self, answered: Answer | BadInput) -> None:
        wrong = answered if isinstance(answered, BadInput) else None
        at_field = self.state.blame(wrong, self._names)
        self._picker.show()
        self._form.show(self.form())
        if isinstance(answered, BadInput):
            text = _("This cannot be answered as it stands: see the field.") if at_field else str(wrong)
            self.hero.show(trouble(text))
        else:
            self.shown = answered
            self.show(answered)

    def _prepare_rest(self, answered: Answer | BadInput) -> None:
        if not isinstance(answered, BadInput):
            self.prepare_rest(answered)

    def _show_rest(self, answered: Answer | BadInput) -> None:
        if not isinstance(answered, BadInput):
            self.show_rest(answered)

    def _act(self, what: str, value: str) -> None:
        if what == "forget-profile":
            self.state.set("profile", "")
        elif what == "download":
            self._download(value)
        else:
            self.act(what, value)

    def _download(self, kind: str) -> None:
        with speaking(self.visitor.language):
            found = self.file(self.shown, kind) if self.shown is not None else None
        if found is not None:
            ui.download.content(*found)


def _downloads() -> Markup:
    """The answer as files."""
    kinds = (("json", "JSON"), ("csv", "CSV"), ("html", _("Report (HTML)")))
    made = [button(name, "download", kind) for kind, name in kinds]
    return h("div", h("span", _("Take it with you:"), class_="hint"), made, copy_link(), class_="row")
