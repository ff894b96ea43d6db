"""Who follows a job of the page, as connections come and go: without a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from markupsafe import Markup
from nicegui import core

from bide.web.job import Job
from bide.web.page import working
from bide.web.page.working import Work

ASK = {"services": "two"}


class Page:
    """A page, its connections, and what stands where its progress does."""

    def __init__(self, jobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.connections, self.shown = 0, Markup("")
        self.appear: list[Callable[[], None]] = []
        self.vanish: list[Callable[[], None]] = []
        monkeypatch.setattr(working, "ui", SimpleNamespace(context=SimpleNamespace(client=self)))
        visitor: Any = SimpleNamespace(language="en", server=SimpleNamespace(jobs=jobs))
        place: Any = SimpleNamespace(show=lambda html: setattr(self, "shown", html))
        self.work = Work(visitor, "plan", place, lambda _job: None, lambda _error: None)
        self.connect()

    def on_connect(self, told: Callable[[], None]) -> None:
        self.appear.append(told)

    def on_disconnect(self, told: Callable[[], None]) -> None:
        self.vanish.append(told)

    @property
    def has_socket_connection(self) -> bool:
        return self.connections > 0

    def connect(self) -> None:
        self.connections += 1
        for told in self.appear:
            told()

    def disconnect(self) -> None:
        self.connections -= 1
        for told in self.vanish:
            told()


class Running:
    """A server that has one job, which goes on until it is cancelled."""

    def __init__(self) -> None:
        self.job = Job("j" * 22, "plan", Path(), "", {}, state="running")

    def shared(self, *_asked: Any) -> Job | None:
        return self.job if self.job.shared else None

    def start(self, *_asked: Any, client: str) -> Job:
        self.job.client = client
        return self.job

    def cancel(self, _number: str) -> None:
        self.job.tell(state="cancelled")


def followed(monkeypatch: pytest.MonkeyPatch, what: Callable[[Running, Page, Page], None]) -> str:
    """The job's state after `what` has been done with two pages that ask the same."""

    async def act() -> str:
        monkeypatch.setattr(core, "loop", asyncio.get_running_loop())
        jobs = Running()
        one, other = Page(jobs, monkeypatch), Page(jobs, monkeypatch)
        for page in (one, other):
            page.work.start(ASK)
        await asyncio.sleep(0)
        what(jobs, one, other)
        state = jobs.job.state
        jobs.job.tell(state="done")
        for _turn in range(10):
            await asyncio.sleep(0)  # until nobody follows it
        return state

    return asyncio.run(act())


def test_a_job_is_ended_where_the_last_page_cancels_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelled(jobs: Running, one: Page, other: Page) -> None:
        one.work.cancel()
        assert (jobs.job.state, one.shown, one.work.going) == ("running", "", False)
        other.work.cancel()

    assert followed(monkeypatch, cancelled) == "cancelled"


def test_a_page_that_connects_anew_before_the_old_connection_goes_still_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(_jobs: Running, one: Page, other: Page) -> None:
        one.connect()
        one.disconnect()
        other.work.cancel()

    assert followed(monkeypatch, interrupted) == "running"


def test_a_page_that_has_gone_keeps_no_job_going(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(jobs: Running, one: Page, other: Page) -> None:
        one.disconnect()
        assert jobs.job.state == "running"
        other.work.cancel()

    assert followed(monkeypatch, gone) == "cancelled"


def test_a_job_that_has_just_ended_leaves_no_bar_where_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(jobs: Running, one: Page, _other: Page) -> None:
        assert one.shown != ""
        jobs.job.tell(state="done")
        one.work.cancel()
        assert one.shown == ""

    assert followed(monkeypatch, late) == "done"
