"""How many GPUs: the third tab."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from nicegui.element import Element

from bide.errors import BadInput, BideError
from bide.i18n import _, speaking
from bide.web.jobs import Job
from bide.web.page import deployment_form, plan_answer, plan_form, plan_view
from bide.web.page.elements import Chart, Live, block
from bide.web.page.markup import trouble
from bide.web.page.model_picker import ModelPicker
from bide.web.page.plan_answer import Planned
from bide.web.page.uploading import number_of
from bide.web.page.visitor import Visitor
from bide.web.page.words import chart_words
from bide.web.page.working import Work

KEYS = (*deployment_form.KEYS, *plan_answer.KEYS)
_ASKED = ("model", "config", "profile", *plan_answer.ASKED)
_ALL_GPUS_KEY = "plan_gpus"
_TICKED = ("plan_tp", "plan_weights", "plan_kv")


def build(visitor: Visitor) -> None:
    """Form on one side, the answer on the other."""
    PlanTab(visitor)


class PlanTab:
    """The elements of the tab, and what moves them."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor, self._state = visitor, visitor.state
        self._shown: Planned | None = None
        self._asked: dict[str, str] = {}
        with block("div", "two"):
            with block("div", "form", role="form", aria_label=_("What is planned")):
                self._picker = ModelPicker(visitor)
                self._form = Live(on_set=self._set, on_act=self._act, on_file=self._take)
            with block("div", "answer wide"):
                self._build_answer()
        self._work = Work(visitor, "plan", self._progress, self._done, self._failed)
        self._state.watch(_ASKED, self._changed)
        self._state.watch(["held"], self._hold)
        self._changed()
        if self._state["planned"]:
            self._plan()

    def _build_answer(self) -> None:
        self._progress = Live(on_act=self._act).classes("whole")
        self._stale = Live(on_act=self._act).classes("whole")
        self._hero = Live(plan_view.invitation(self._state), on_act=self._act).classes("hero whole")
        self._hero.props('aria-live="polite"')
        with block("div", "whole frontier"):
            title = _("What each patience costs")
            self._frontier = Chart(title, height=320, words=chart_words(), file="bide-frontier", on_drag=self._drag)
            self._handle = Live(on_set=self._state.set, on_act=self._act)
        self._sections = block("div", "whole sections")
        self._ends = Live().classes("whole")

    def _changed(self) -> None:
        """The form, and whether the answer that is shown is still one to it."""
        with speaking(self._visitor.language):
            self._picker.show()
            self._form.show(plan_form.form(self._state, self._visitor.server))
            same = self._shown is None or self._work.going or self._shown.asked == self._question()
            self._stale.show(Markup("") if same else plan_view.stale())
            if self._shown is None and not self._asked:
                self._hero.show(plan_view.invitation(self._state))

    def _question(self) -> dict[str, str]:
        values = self._state.frozen()
        return {name: values[name] for name in _ASKED}

    def _set(self, key: str, text: str) -> None:
        if key == "add-gpu":
            if text:
                self._state.set(_ALL_GPUS_KEY, f"{self._state[_ALL_GPUS_KEY]},{text}")
        elif key in _TICKED:
            self._state.set(key, plan_form.ticked(self._state[key], text))
        else:
            before = self._state["limit_on"] in plan_answer.PER_TOKEN
            self._state.set(key, text)
            if key == "limit_on" and (before != (text in plan_answer.PER_TOKEN) or text == "ttft"):
                self._state.set("patience", plan_answer.USUAL.get(text, "5"))

    def _act(self, what: str, value: str) -> None:
        if what == "plan":
            self._plan()
        elif what == "plan-with":
            self._state.set("held", "")
            self._state.set("patience", value)
            self._plan()
        elif what == "cancel":
            self._work.cancel()
            self._asked = {}
            self._state.set("planned", "")
            self._changed()
        elif what == "drop-gpu":
            kept = [gpu for gpu in self._state[_ALL_GPUS_KEY].split(",") if gpu != value]
            self._state.set(_ALL_GPUS_KEY, ",".join(kept))
        elif what == "drop-trace":
            self._state.set("trace", "")
        elif what == "forget-profile":
            self._state.set("profile", "")

    def _take(self, key: str, name: str, answer: str) -> None:
        with speaking(self._visitor.language):
            try:
                self._state.set(key, number_of(name, answer))
            except BadInput as error:
                self._blame(error, key)

    def _plan(self) -> None:
        """Begin with what stands in the form."""
        self._state.blame(None, _ASKED)
        self._asked = self._question()
        with speaking(self._visitor.language):
            if self._state["work"] == "trace" and not self._state["trace"]:
                self._blame(BadInput("trace", None, _("a trace: drop one there")), "trace")
                return
            try:
                body = plan_answer.plan_ask(self._state.frozen())
            except BadInput as error:
                self._failed(error)
                return
        self._state.set("planned", "now")
        self._work.start(body)
        self._changed()

    def _done(self, job: Job) -> None:
        if self._shown is not None and self._shown.job is not job:
            self._state.set("held", "")
        self._shown = plan_answer.planned(self._asked, job)
        self._changed()
        self._hero.show(plan_view.hero(self._shown))
        self._hold()
        self._sections.clear()
        with self._sections:
            for place, service in enumerate(self._shown.view["services"]):
                self._service(f"{place}", service)
            Live(plan_view.manifests(self._shown))
        self._ends.show(plan_view.downloads(self._shown) + plan_view.endings(self._shown))

    def _service(self, key: str, service: dict[str, Any]) -> None:
        """Its steps and sections, most of them closed at first."""
        if len(self._shown.view["services"] if self._shown else ()) > 1:
            Live(plan_view.heading(service))
        for number, said in enumerate(service["steps"], 1):
            self._section(f"{key}-{said['key']}", said, number)
        for said in service["sections"]:
            self._section(f"{key}-{said['key']}", said, None)
        Live(plan_view.starts(service))

    def _section(self, key: str, said: dict[str, Any], number: int | None) -> None:
        with self._folded(said, number):
            Live(plan_view.section(said, key))
            with block("div", "charts"):
                for each in said["charts"]:
                    if said["key"] == "saving" and each["title"] == self._frontier_title():
                        continue
                    chart = Chart(each["title"], height=each["height"], words=chart_words(), file=f"bide-{said['key']}")
                    chart.draw(each["spec"])
            Live(plan_view.tables(said))

    def _folded(self, said: dict[str, Any], number: int | None) -> Element:
        more = {"open": ""} if plan_view.is_open(said) else {}
        made = block("details", "section", **more)
        with made, block("summary"):
            Live(plan_view.section_title(said, number))
        return made

    def _frontier_title(self) -> str:
        found = self._held()
        return str(found["title"]) if found else ""

    def _held(self) -> dict[str, Any] | None:
        """The frontier that is shown with a handle."""
        services = self._shown.view["services"] if self._shown else ()
        return next((service["frontier"] for service in services if service["frontier"]), None)

    def _hold(self) -> None:
        """Put the handle where it is held."""
        frontier = self._held()
        place = plan_answer.held_place(frontier, self._state["held"]) if frontier else None
        if frontier is None or place is None:
            self._frontier.draw(None)
            self._handle.show(Markup(""))
            return
        with speaking(self._visitor.language):
            label = _("What each limit on {measure} costs; the slider below moves along it")
            drags = [found and found["x"] for found in frontier["places"]]
            self._frontier.draggable(drags)
            self._frontier.draw(plan_answer.with_handle(frontier, place), label.format(measure=frontier["measure"]))
            self._handle.show(plan_view.handle(frontier, self._state))

    def _drag(self, place: int) -> None:
        frontier = self._held()
        if frontier and 0 <= place < len(frontier["seconds"]):
            self._state.set("held", f"{frontier['seconds'][place]:.10g}")

    def _failed(self, error: BideError) -> None:
        with speaking(self._visitor.language):
            if isinstance(error, BadInput):
                self._blame(error, plan_answer.control_of(error.field, self._state.frozen()))
            else:
                self._hero.show(trouble(str(error)))

    def _blame(self, error: BadInput, control: str) -> None:
        """At its control where it has one here."""
        moved = BadInput(control, error.given, error.allowed, error.hint)
        if self._state.blame(moved, ()):
            self._changed()
            self._hero.show(trouble(_("This cannot be planned as it stands: see the field.")))
        else:
            self._hero.show(trouble(str(error)))
