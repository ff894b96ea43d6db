"""Learn: the two ideas behind the other tabs, and their words."""

from __future__ import annotations

from bide.i18n import _
from bide.web.page import learn_answer, learn_view, learn_words
from bide.web.page.elements import Chart, Live, block
from bide.web.page.learn_answer import LearnAnswer
from bide.web.page.refresher import Refresher
from bide.web.page.visitor import Visitor
from bide.web.page.words import chart_words

KEYS = learn_answer.KEYS


def build(visitor: Visitor) -> None:
    """Two lessons, text on one side and what can be moved on the other."""
    LearnTab(visitor)


class LearnTab:
    """The elements of the tab, and what moves them."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor, self._state = visitor, visitor.state
        Live(learn_view.opening()).classes("opening")
        with block("div", "lesson"):
            Live(learn_view.memory_lesson())
            with block("div"):
                self._memory_controls = Live(on_set=self._set)
                self._memory_words = Live().props('aria-live="polite"')
                self._contexts = Chart(
                    _("How many requests fit"), height=300, words=chart_words(), file="bide-lesson-1"
                )
        with block("div", "lesson"):
            Live(learn_view.patience_lesson())
            with block("div"):
                self._patience_controls = Live(on_set=self._set)
                self._patience_words = Live().props('aria-live="polite"')
                self._patience = Chart(
                    _("GPUs against patience"), height=300, words=chart_words(), file="bide-lesson-2"
                )
        Live(learn_words.words())
        Live(learn_view.closing(), on_act=lambda _what, tab: visitor.go(tab)).classes("closing")
        refresher = Refresher(self._compute, self._show, visitor.language)
        self._state.watch([key.name for key in KEYS], refresher.ask)
        refresher.now()

    def _set(self, key: str, text: str) -> None:
        self._state.set(key, "fp8" if text == "+fp8" else "" if text == "-fp8" else text)

    def _compute(self) -> LearnAnswer:
        return learn_answer.learn_answer(self._state.frozen())

    def _show(self, shown: LearnAnswer) -> None:
        self._memory_controls.show(learn_view.memory_controls(self._state))
        self._memory_words.show(learn_view.memory_words(shown))
        self._contexts.draw(shown.contexts, _("Requests at once against tokens of context"))
        self._patience_controls.show(learn_view.patience_controls(self._state))
        self._patience_words.show(learn_view.patience_words(shown))
        self._patience.draw(shown.patience, _("GPUs against the time between tokens that is accepted"))
