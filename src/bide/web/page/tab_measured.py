"""Measured: the fourth tab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from bide.errors import BadInput
from bide.i18n import _, speaking
from bide.web.job import Job
from bide.web.page import deployment_form, measured_answer, measured_view
from bide.web.page.elements import Live, block
from bide.web.page.measured_answer import Read
from bide.web.page.model_picker import ModelPicker
from bide.web.page.uploading import put_away, take
from bide.web.page.visitor import Visitor
from bide.web.page.working import Faults, Work, draw

KEYS = (*deployment_form.KEYS, *measured_answer.KEYS)
_NAMES = tuple(key.name for key in KEYS)


def build(visitor: Visitor) -> None:
    """What was sent and the deployment on one side, what is to be seen in it on the other."""
    MeasuredTab(visitor)


class MeasuredTab:
    """The elements of the tab, and what moves them."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor, self._state = visitor, visitor.state
        self._calibrated: Read | None = None
        self._stated: Mapping[str, str] = {}
        with block("div", "two"):
            with block("div", "form", role="form", aria_label=_("What was measured")):
                self._files = Live(on_act=self._act, on_file=self._take)
                self._picker = ModelPicker(visitor)
                self._form = Live(on_set=self._state.set, on_act=self._act, on_file=self._take)
            with block("div", "answer wide"):
                self._build_answer()
        self._faults = Faults(visitor, self._hero, self._control, self._changed)
        self._works = self._made_works()
        self._state.watch(_NAMES, self._changed)
        self._state.watch(["results"], self._measure)
        self._changed()
        self._measure()

    def _build_answer(self) -> None:
        self._progress = Live(on_act=self._act).classes("whole")
        self._hero = Live(measured_view.invitation()).classes("hero whole").props('aria-live="polite"')
        self._comparison = Live().classes("whole")
        self._calibration = Live().classes("whole")
        self._apply = Live(on_act=self._act).classes("whole")
        self._charts = block("div", "whole charts")
        self._tables = Live().classes("whole")
        self._ends = Live().classes("whole")

    def _made_works(self) -> Mapping[str, Work]:
        shows = {"measure": self._show_measured, "compare": self._show_compared, "calibrate": self._show_calibrated}
        return {kind: Work(self._visitor, kind, self._progress, show, self._faults) for kind, show in shows.items()}

    def _changed(self) -> None:
        with speaking(self._visitor.language):
            server = self._visitor.server
            self._picker.show()
            self._files.show(measured_view.files(self._state, server))
            self._form.show(measured_view.form(self._state, server, self._stated))
            if self._calibrated:
                self._apply.show(measured_view.applying(self._state, self._calibrated))

    def _measure(self) -> None:
        """Read what was sent, as soon as it is."""
        values = self._state.frozen()
        if values["results"]:
            self._works["measure"].start(measured_answer.measure_ask(values))
        else:
            self._works["measure"].cancel()
            self._forget()

    def _forget(self) -> None:
        with speaking(self._visitor.language):
            self._hero.show(measured_view.invitation())
        for each in (self._comparison, self._calibration, self._apply, self._tables, self._ends):
            each.show(Markup(""))
        self._charts.clear()
        self._calibrated, self._stated = None, {}

    def _show_measured(self, job: Job) -> None:
        shown = measured_answer.read(job)
        self._stated = measured_answer.stated((job.result or {}).get("runs", ()))
        self._state.blame(None, ("results", "log"))
        self._hero.show(measured_view.hero(shown))
        self._charts.clear()
        with self._charts:
            draw(shown.view["charts"], "bide-measured")
        self._tables.show(measured_view.tables(shown.view))
        self._ends.show(measured_view.endings(shown))
        self._changed()

    def _show_compared(self, job: Job) -> None:
        shown = measured_answer.read(job)
        self._comparison.show(measured_view.part(shown, _("Measured against predicted"), "compare"))

    def _show_calibrated(self, job: Job) -> None:
        self._calibrated = measured_answer.read(job)
        self._calibration.show(measured_view.part(self._calibrated, _("Calibrated"), "calibrate"))
        self._changed()

    def _take(self, key: str, name: str, answer: str) -> None:
        with speaking(self._visitor.language):
            try:
                take(self._state, key, name, answer, several=key == "results")
            except BadInput as error:
                self._faults(error)

    def _act(self, what: str, value: str) -> None:
        if what in ("compare", "calibrate"):
            self._ask(what)
        elif what == "cancel":
            for work in self._works.values():
                work.cancel()
        elif what == "apply":
            self._state.set("profile", value)
        elif what == "take-stated":
            for key, text in self._stated.items():
                self._state.set(key, text)
        else:
            put_away(self._state, what, value)

    def _ask(self, kind: str) -> None:
        """Compare or calibrate."""
        asks: Mapping[str, Any] = {
            "compare": measured_answer.compare_ask,
            "calibrate": measured_answer.calibrate_ask,
        }
        self._state.blame(None, _NAMES)
        with speaking(self._visitor.language):
            try:
                body = asks[kind](self._state.frozen())
            except BadInput as error:
                self._faults(error)
                return
        self._changed()
        self._works[kind].start(body)

    def _control(self, error: BadInput) -> tuple[str, None] | None:
        """The control of a field of a request; files are those that were dropped."""
        last = error.field.split("[")[0].rsplit(".", 1)[-1]
        key = "results" if last in ("a", "upload", "file") else last
        return (key, None) if key in _NAMES else None
