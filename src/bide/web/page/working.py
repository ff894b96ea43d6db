"""A job of a visitor: started, followed, shown as it goes, and cancelled; what it found drawn, what it refused said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from nicegui import background_tasks, ui

from bide.errors import BadInput, BideError
from bide.i18n import _, numeral, speaking
from bide.web.job import Job
from bide.web.page.controls import button
from bide.web.page.elements import Chart, Live
from bide.web.page.markup import h, trouble
from bide.web.page.visitor import Visitor
from bide.web.page.words import chart_words

_NEWS_S = 20.0
"""How long to wait for news before looking whether the job is still followed."""
Done = Callable[[Job], None]
Failed = Callable[[BideError], None]


class Work:
    """One job at a time of a kind; a new one ends the one before.

    Pages that ask the same follow one job, so that a page that is loaded anew goes on where it was.
    """

    def __init__(self, visitor: Visitor, kind: str, place: Live, done: Done, failed: Failed) -> None:
        self._visitor, self._kind, self._place = visitor, kind, place
        self._done, self._failed = done, failed
        self._job: Job | None = None
        self._client, self._name = ui.context.client, f"page {id(visitor)}"
        self._client.on_connect(self._appear)
        self._client.on_disconnect(self._vanish)

    @property
    def going(self) -> bool:
        return self._job is not None and not self._job.ended

    def start(self, body: Mapping[str, Any]) -> None:
        """Begin; `done` or `failed` is called when it has ended, neither after a cancellation."""
        with speaking(self._visitor.language):
            try:
                job = self._visitor.server.jobs.shared(self._kind, body, self._visitor.language)
                if job is not None and job is self._job:
                    return
                self.cancel()
                self._job = job or self._begun(body)
            except BideError as error:
                self.cancel()
                self._failed(error)
                return
        if self._client.has_socket_connection:
            self._appear()
        background_tasks.create(self._follow(self._job), name=f"bide {self._kind}")

    def _begun(self, body: Mapping[str, Any]) -> Job:
        job: Job = self._visitor.server.jobs.start(self._kind, body, self._visitor.language, client=self._name)
        job.shared = True
        return job

    def cancel(self) -> None:
        """Follow the job no more, and end it where nobody else follows it."""
        job, self._job = self._job, None
        if job is None:
            return
        self._place.show(Markup(""))
        job.followers.discard(self._name)
        if not job.ended and not job.followers:
            self._visitor.server.jobs.cancel(job.id)

    def _appear(self) -> None:
        if self._job is not None:
            self._job.followers.add(self._name)

    def _vanish(self) -> None:
        """The job goes on: who comes back finds it done. A new connection may be there before the old one goes."""
        if self._job is not None and not self._client.has_socket_connection:
            self._job.followers.discard(self._name)

    async def _follow(self, job: Job) -> None:
        with speaking(self._visitor.language):
            while self._job is job and not job.ended:
                seen = job.news
                self._place.show(progress(job))
                await job.changed(seen, _NEWS_S)
            if self._job is not job:
                return
            self._place.show(Markup(""))
            if job.state == "done":
                self._done(job)
            elif job.state == "failed":
                self._failed(fault_of(job))


@dataclass(frozen=True, slots=True)
class Faults:
    """The errors of a tab, each said at its control, or in the place of the answer where it has none here.

    `control` gives the state key of the control, and what stands in the place of the answer meanwhile (None: nothing
    new); or None.
    """

    visitor: Visitor
    answer: Live
    control: Callable[[BadInput], tuple[str, Markup | None] | None]
    changed: Callable[[], None]

    def __call__(self, error: BideError) -> None:
        with speaking(self.visitor.language):
            found = self.control(error) if isinstance(error, BadInput) else None
            if found is None or not isinstance(error, BadInput):
                self.answer.show(trouble(str(error)))
                return
            key, instead = found
            self.visitor.state.blame(BadInput(key, error.given, error.allowed, error.hint), ())
            self.changed()
            if instead is not None:
                self.answer.show(instead)


def draw(charts: Iterable[Mapping[str, Any]], file: str) -> None:
    """Charts of an answer, as `bide.report.spec.drawn` gives them, into the element that is open."""
    for each in charts:
        chart = Chart(each["title"], height=each["height"], words=chart_words(), file=file)
        chart.draw(each["spec"], each["title"])


def fault_of(job: Job) -> BideError:
    """Why a job failed, as the error that it raised."""
    said = job.error or {}
    if said.get("field"):
        return BadInput(said["field"], said.get("given"), said.get("allowed", ""), said.get("hint", ""))
    return BideError(said.get("message") or _("it failed"))


def progress(job: Job) -> Markup:
    """How far a job is, and the button that ends it."""
    waits = _("waiting: {n} before it").format(n=job.ahead)
    words = waits if job.state == "waiting" else job.words or _("starting")
    share = None if job.share is None else numeral(job.share, ".0%")
    value = None if job.share is None else f"{job.share:.3f}"
    bar = h("progress", value=value, max="1", aria_label=_("How far it is"))
    said = h("span", words, f", {share}" if share and job.share else None, class_="hint", role="status")
    return h("div", bar, said, button(_("Cancel"), "cancel"), class_="progress")
