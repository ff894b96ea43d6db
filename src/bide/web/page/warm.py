"""Loads what the first answers need: the chart library of Python, facts, step times, and the shapes of the charts."""

from __future__ import annotations

import gc
from functools import cache

from bide.i18n import LANGUAGES, language, speaking


def warm_up() -> None:
    """The answers that the tabs open with; the next are quick."""
    from bide.web.page import shell
    from bide.web.page.charts import quick

    shell.modules()
    quick()
    _answers()


def warm_languages() -> None:
    """The same in the other languages, and the browsers' chart library; what there is then stays."""
    from bide.web.page.bundle import chart_bundle

    chart_bundle()
    for code in LANGUAGES:
        if code != language():
            with speaking(code):
                _answers()
    keep_for_good()


@cache
def keep_for_good() -> None:
    """Have Python's collector pass over what is loaded by now: to look through it takes 100 ms, amid an answer."""
    gc.collect()
    gc.freeze()


def _answers() -> tuple[object, ...]:
    """Whole, with the charts that come later."""
    from bide.web.page import deployment_form, fast_answer, fit_answer, learn_answer
    from bide.web.page.state import State
    from bide.web.settings import Settings

    keys = [key for tab in (deployment_form, fit_answer, fast_answer, learn_answer) for key in tab.KEYS]
    opened = State(keys).frozen()
    fit, learn = fit_answer.fit_answer(opened, Settings()), learn_answer.learn_answer(opened)
    return fit, fast_answer.fast_answer(opened, Settings()).charts, learn
