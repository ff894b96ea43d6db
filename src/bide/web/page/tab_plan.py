"""How many GPUs: the third tab."""

from __future__ import annotations

from markupsafe import Markup

from bide.errors import BadInput
from bide.i18n import _, speaking
from bide.web.job import Job
from bide.web.page import deployment_form, plan_answer, plan_view
from bide.web.page.elements import block
from bide.web.page.plan_answer_live import PlanAnswer
from bide.web.page.plan_blame import blamed, called
from bide.web.page.plan_fields import QUESTION
from bide.web.page.plan_files import check_files
from bide.web.page.plan_form_live import PlanForm
from bide.web.page.plan_question import plan_ask
from bide.web.page.visitor import Visitor
from bide.web.page.working import Faults, Work

KEYS = (*deployment_form.KEYS, *plan_answer.KEYS)


def build(visitor: Visitor) -> None:
    """Form on one side, the answer on the other."""
    PlanTab(visitor)


class PlanTab:
    """The form, the job, and its answer."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor, self._state = visitor, visitor.state
        self._asked: dict[str, str] = {}
        self._begun: dict[str, str] = {}
        """Of what was asked last, and of what is planned: what is refused leaves the plan that goes as it is."""
        with block("div", "two"):
            with block("div", "form", role="form", aria_label=_("What is planned")):
                self._form = PlanForm(visitor, self._act, self._changed)
            with block("div", "answer wide"):
                self._answer = PlanAnswer(visitor, self._act)
        self._faults = Faults(visitor, self._answer.hero, self._control, self._changed)
        self._work = Work(visitor, "plan", self._answer.progress, self._done, self._faults)
        self._state.watch((*QUESTION, "at"), self._changed)
        self._state.watch(["held", "held_for"], self._answer.hold)
        self._changed()
        if self._state["planned"]:
            self._plan()

    def _changed(self) -> None:
        """The form, and whether the answer that is shown is still one to it."""
        if self._form.moving:
            return
        with speaking(self._visitor.language):
            self._form.show()
            shown = self._answer.shown
            same = shown is None or self._work.going or shown.asked == plan_answer.asked(self._state.frozen())
            self._answer.stale.show(Markup("") if same else plan_view.stale())
            if shown is None and not self._asked:
                self._answer.hero.show(plan_view.invitation(self._state.frozen(), self._form.place))

    def _act(self, what: str, value: str) -> None:
        if what == "plan":
            self._plan()
        elif what == "plan-with":
            key, _colon, text = value.partition(":")
            self._state.set("held", "")
            self._state.set(key, text)
            self._plan()
        elif what == "cancel":
            self._work.cancel()
            self._asked = {}
            self._state.set("planned", "")
            self._changed()
        else:
            with speaking(self._visitor.language):
                self._form.act(what, value)

    def _plan(self) -> None:
        """Begin with what stands in the form."""
        self._state.blame(None, QUESTION)
        if self._refused():
            return
        values = self._state.frozen()
        self._asked = plan_answer.asked(values)
        with speaking(self._visitor.language):
            try:
                check_files(values, self._visitor.server)
                body = plan_ask(values)
            except BadInput as error:
                self._faults(error)
                return
        self._begun = self._asked
        self._state.set("planned", "now")
        self._work.start(body)
        self._changed()

    def _refused(self) -> bool:
        """Whether a control holds what cannot be used: nothing is planned with what it held before."""
        looked_at = self._state["at"]
        for key in self._state.unread(QUESTION):
            with speaking(self._visitor.language):
                self._form.reveal(key)
                if self._form.shows(key):
                    text = f"{called(key, self._state.frozen())}: {self._state.error(key)}"
                    self._changed()
                    self._answer.hero.show(plan_view.refusal(text, self._form.element_of(key)))
                    return True
        self._state.set("at", looked_at)
        return False

    def _done(self, job: Job) -> None:
        self._answer.show(plan_answer.planned(self._begun, job))
        self._changed()

    def _control(self, error: BadInput) -> tuple[str, Markup] | None:
        """The control that an error of the plan is about; its service and its fold are opened."""
        found = blamed(error, self._state.frozen())
        if found is None:
            return None
        self._form.reveal(found.key)
        return found.key, plan_view.refusal(found.text, self._form.element_of(found.key))
