"""A plan's form on the page: its elements, and what its controls do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup
from nicegui import ui

from bide.errors import BadInput, BideError
from bide.i18n import _, speaking
from bide.web.page import plan_form, plan_moves
from bide.web.page.elements import Act, Live
from bide.web.page.model_picker import ModelPicker
from bide.web.page.plan_fields import FILES, QUESTION, SERVICE_NAMES, at, place_of, places
from bide.web.page.plan_files import known, uploads
from bide.web.page.plan_form_file import DROPPED, PASTED, service_file
from bide.web.page.plan_form_parts import Folds
from bide.web.page.plan_opening import Opened, opened
from bide.web.page.plan_question import file_text
from bide.web.page.uploading import put_away, take
from bide.web.page.visitor import Visitor


class PlanForm:
    """Made into the element that is open. `act` gets the buttons, `changed` is called after each move."""

    def __init__(self, visitor: Visitor, act: Act, changed: Callable[[], None]) -> None:
        self._visitor, self._state, self._changed = visitor, visitor.state, changed
        self._folds = Folds()
        self._pasted, self._wrong, self._refusals = "", "", 0
        self.moving = False
        """While inputs are set one after the other."""
        self._services = Live(on_set=self._set, on_act=act)
        self._picker = ModelPicker(visitor)
        self._fields = Live(on_set=self._set, on_act=act, on_file=self._take)

    @property
    def place(self) -> int:
        """The service that is shown."""
        wanted, present = int(self._state["at"]), places(self._state.frozen())
        return wanted if wanted in present else 1

    def show(self) -> None:
        place = self.place
        self._picker.turn(at("model", place), at("config", place))
        self._picker.show()
        self._services.show(plan_form.services(self._state, place))
        self._fields.show(self._form())

    def _form(self) -> Markup:
        file = service_file(self._text(), self._wrong, self._refusals)
        return plan_form.form(self._state, self._visitor.server, self.place, self._folds, file)

    def reveal(self, key: str) -> None:
        """Show a control, whichever service it is of and whatever it is folded into."""
        base, place = place_of(key)
        if base in SERVICE_NAMES and place != self.place:
            self._move({"at": f"{place}"})
        self._folds.reveal(key)

    def shows(self, key: str) -> bool:
        """Whether there is a control of that input, after `reveal`: other lengths hide those of a percentile."""
        return f'id="{key}"' in str(self._form())

    def element_of(self, key: str) -> str:
        """The id of a control."""
        name, _place = place_of(key)
        if name in FILES:
            return f"{key}-file"
        return self._picker.id if name in ("model", "config") else key

    def act(self, what: str, value: str) -> None:
        """What a button of the form does."""
        values, place = self._state.frozen(), self.place
        moves: Mapping[str, Callable[[], dict[str, str]]] = {
            "add-limit": lambda: plan_moves.with_limit(values, place),
            "drop-limit": lambda: plan_moves.without_limit(values, place, int(value)),
            "add-service": lambda: plan_moves.with_service(values, place),
            "drop-service": lambda: plan_moves.without_service(values, int(value)),
            "show-service": lambda: {"at": value},
            "drop-gpu": lambda: plan_moves.without_gpu(values, value),
            "give-up": lambda: plan_moves.without_awaited(values, *value.split(" ", 1)),
        }
        if what in moves:
            self._move(moves[what]())
        elif what == "save-file":
            ui.download.content(self._text().encode(), "service.yaml")
        elif what == "open-file":
            self._open(self._pasted)
        else:
            put_away(self._state, what, value)

    def _set(self, key: str, text: str) -> None:
        if key == PASTED:
            self._pasted = text
            return
        with speaking(self._visitor.language):
            self._move(plan_moves.after_setting(self._state.frozen(), key, text))

    def _move(self, moves: Mapping[str, str]) -> None:
        """Set inputs, and have the page follow once."""
        self._state.blame(None, moves)
        self.moving = True
        for key, text in moves.items():
            self._state.set(key, text)
        self.moving = False
        self._changed()

    def _text(self) -> str:
        values = self._state.frozen()
        return file_text(values, uploads(values, self._visitor.server))

    def _take(self, key: str, name: str, answer: str) -> None:
        with speaking(self._visitor.language):
            if key == DROPPED:
                self._open(answer)
                return
            try:
                take(self._state, key, name, answer, several=place_of(key)[0] == "measured")
            except BadInput as error:
                self._state.blame(error, ())
                self.show()
                return
            self._move(plan_moves.with_arrived(self._state.frozen(), key, name) | {key: self._state[key]})

    def _open(self, text: str) -> None:
        """A service file into the form, or why not."""
        try:
            found = opened(text, known(self._state.frozen(), self._visitor.server))
        except BideError as error:
            self._wrong, self._refusals = str(error), self._refusals + 1
            self.show()
            return
        self._wrong = ""
        self._fill(found)

    def _fill(self, found: Opened) -> None:
        """Every input; what the file names and is not here is asked for."""
        self._state.blame(None, QUESTION)
        self._move({**found.values, "at": "1"})
        for key in found.missing:
            self.reveal(key)
            if place_of(key)[0] not in FILES:  # what is awaited of those stands there, until it is dropped
                self._state.blame(BadInput(key, None, _("its config.json, dropped here")), ())
        self.show()
