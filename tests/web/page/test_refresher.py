"""When live answers come: the newest question first, what is seen before the rest of it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest
from nicegui import core

from bide.web.page.refresher import Refresher


class Told:
    """What was shown, in its order: the n-th answer is `seen n`, the rest of it `rest n`.

    `questions`: as many are asked, each as the answer to the one before is shown.
    """

    def __init__(self, questions: int = 1) -> None:
        self.log: list[str] = []
        self.refresher = Refresher(self._compute, self._seen, "en", lambda n: self.log.append(f"rest {n}"))
        self._computed, self._questions = 0, questions

    def _compute(self) -> int:
        self._computed += 1
        return self._computed

    def _seen(self, number: int) -> None:
        self.log.append(f"seen {number}")
        if number < self._questions:
            self.refresher.ask()

    async def until(self, last: str) -> None:
        """Wait for it, ten seconds at most."""
        for _turn in range(2000):
            if last in self.log:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(self.log)


def played(told: Told, play: Callable[[], object], last: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The log of `told` once `last` is in it, of what `play` begins on a loop."""

    async def run() -> None:
        monkeypatch.setattr(core, "loop", asyncio.get_running_loop())
        play()
        await told.until(last)

    asyncio.run(run())
    return told.log


def test_a_page_that_is_built_has_the_whole_answer_at_once() -> None:
    told = Told()
    told.refresher.now()
    assert told.log == ["seen 1", "rest 1"]


def test_the_rest_of_an_answer_comes_after_what_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    assert played(told, told.refresher.ask, "rest 1", monkeypatch) == ["seen 1", "rest 1"]


def test_of_questions_that_come_at_once_one_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()

    def ask() -> None:
        for _question in range(3):
            told.refresher.ask()

    assert played(told, ask, "rest 1", monkeypatch) == ["seen 1", "rest 1"]


def test_the_rest_is_made_beside_the_loop_and_left_out_where_a_question_comes_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, made = Told(), list[tuple[int, bool]]()

    def make(number: int) -> None:
        made.append((number, threading.current_thread() is threading.main_thread()))
        if number == 1:
            assert core.loop is not None
            core.loop.call_soon_threadsafe(told.refresher.ask)
            time.sleep(0.05)

    told.refresher = Refresher(told._compute, told._seen, "en", lambda n: told.log.append(f"rest {n}"), make)
    assert played(told, told.refresher.ask, "rest 2", monkeypatch) == ["seen 1", "seen 2", "rest 2"]
    assert made == [(1, False), (2, False)]


def test_no_rest_is_shown_while_questions_come(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(questions=5)
    expected = ["seen 1", "seen 2", "seen 3", "seen 4", "seen 5", "rest 5"]
    assert played(told, told.refresher.ask, "rest 5", monkeypatch) == expected
