"""Work that takes seconds or minutes: a bounded queue, a process for each job, and what came of it, kept for a while.

In-process callers: `start(kind, body)`, then `job.changed()` until `job.ended`, and `job.result` or `job.error`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bide.i18n import _, language, ngettext
from bide.web.faults import Busy, NotThere, plain
from bide.web.kinds import asked
from bide.web.staging import Find, Staged, replaced
from bide.web.working import Standby, Working

if TYPE_CHECKING:
    from bide.web.settings import Settings

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(eq=False)
class Job:
    """One piece of work. `share`: how much of it is done, 0 to 1, None where nobody knows; `words`: what it is at."""

    id: str
    kind: str
    language: str
    folder: Path
    key: str
    """Of what was asked: two jobs with the same key give the same."""
    state: JobState = "waiting"
    share: float | None = None
    words: str = ""
    ahead: int = 0
    """Jobs that are to be done before it."""
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    """As the API says it: `field`, `given`, `allowed`, `hint`, `message`."""
    files: dict[str, Path] = field(default_factory=dict)
    ended_s: float | None = None
    """On the server's monotonic clock."""
    news: int = 0
    """Counts every change."""
    _happened: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ended(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    async def changed(self, since: int | None = None, timeout_s: float | None = None) -> bool:
        """Wait for news (later than number `since`); False where there were none in time."""
        if since is not None and since < self.news:
            return True
        try:
            await asyncio.wait_for(self._happened.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    def tell(self, **changes: Any) -> None:
        """Change, and wake those who wait for it."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.news += 1
        self._happened.set()
        self._happened = asyncio.Event()

    def to_dict(self) -> dict[str, Any]:
        """The record: `bide.job/1`."""
        return {
            "schema": "bide.job/1",
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "share": self.share,
            "words": self.words,
            "ahead": self.ahead if self.state == "waiting" else None,
            "error": self.error,
            "files": [{"name": name, "size_bytes": path.stat().st_size} for name, path in self.files.items()],
        }


class Jobs:
    """Those of one server. For one event loop; nothing is started before the first job."""

    def __init__(self, folder: Path, settings: Settings, find: Find) -> None:
        self._folder, self._settings, self._find = folder, settings, find
        self._known: dict[str, Job] = {}
        self._waiting: deque[tuple[Job, dict[str, Any]]] = deque()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._standby = Standby(settings)
        self._working: set[Working] = set()

    def warm(self) -> None:
        """Let a process for the next job make itself ready."""
        self._standby.prepare()

    def start(self, kind: str, body: Mapping[str, Any] | Any, lang: str | None = None) -> Job:
        """Begin, or queue. Raises BadInput for a body that is not in shape, Busy where too many wait."""
        self.forget_old()
        ask = asked(kind, body)
        speech = lang or language()
        key = json.dumps([kind, speech, ask.plain()], sort_keys=True)
        job = self._new(kind, speech, key)
        same = next((one for one in self._known.values() if one.key == key and one.state == "done"), None)
        if same is not None:
            job.tell(state="done", share=1.0, result=same.result, files=same.files, ended_s=time.monotonic())
            job.folder = same.folder
            self._known[job.id] = job
            return job
        self._check_room()
        job.folder.mkdir(mode=0o700)
        try:
            task = {"kind": kind, "ask": self._staged(ask.plain(), job.folder), "lang": speech}
        except BaseException:
            shutil.rmtree(job.folder, ignore_errors=True)
            raise
        self._known[job.id] = job
        self._waiting.append((job, task))
        self._advance()
        return job

    def _staged(self, plain: dict[str, Any], folder: Path) -> dict[str, Any]:
        found: dict[str, Any] = replaced(plain, Staged(folder, self._find))
        return found

    def _new(self, kind: str, speech: str, key: str) -> Job:
        number = secrets.token_urlsafe(16)
        return Job(number, kind, speech, self._folder / number, key)

    def _check_room(self) -> None:
        most = self._settings.limits.jobs_waiting
        if len(self._waiting) >= most:
            text = ngettext(
                "{n} job waits already, as many as are taken; try again in a minute",
                "{n} jobs wait already, as many as are taken; try again in a minute",
                most,
            )
            raise Busy(text.format(n=most))

    def get(self, number: str) -> Job:
        """Raises NotThere for one that is not, or not any more."""
        self.forget_old()
        if number not in self._known:
            raise NotThere(_("there is no such job (any more): results are kept for an hour"))
        return self._known[number]

    def cancel(self, number: str) -> Job:
        """End it: its processes are killed. One that has ended is only forgotten. Raises NotThere."""
        job = self.get(number)
        if job.ended:
            self._forget(job)
            return job
        self._waiting = deque((one, task) for one, task in self._waiting if one is not job)
        self._end(job, "cancelled")
        if job.id in self._running:
            self._running[job.id].cancel()
        self._advance()
        return job

    def _advance(self) -> None:
        """Give free places to those who wait longest, and tell the others how many are before them."""
        while self._waiting and len(self._running) < self._settings.limits.jobs_at_once:
            job, task = self._waiting.popleft()
            job.tell(state="running", ahead=0)
            self._running[job.id] = asyncio.get_running_loop().create_task(self._run(job, task))
            self._running[job.id].add_done_callback(lambda _task, job=job: self._over(job))  # type: ignore[misc]
        for place, (job, _task) in enumerate(self._waiting):
            if job.ahead != place + len(self._running):
                job.tell(ahead=place + len(self._running))

    async def _run(self, job: Job, task: dict[str, Any]) -> None:
        working = self._standby.take()
        self._standby.prepare()
        self._working.add(working)
        try:
            async with asyncio.timeout(self._settings.limits.job_s):
                async for said in working.do(task, job.folder):
                    self._hear(job, said)
        except TimeoutError:
            self._fail(job, _("it took longer than {n:,} s and was ended").format(n=self._settings.limits.job_s))
        finally:
            await working.end()
            self._working.discard(working)
            self._fail(job, working.obituary())  # unless it has ended as it should

    def _over(self, job: Job) -> None:
        """Its place is free, also where it was cancelled before it began."""
        del self._running[job.id]
        self._advance()

    def _hear(self, job: Job, said: Mapping[str, Any]) -> None:
        if "error" in said:
            self._end(job, "failed", error=said["error"])
        elif said.get("done"):
            self._finish(job)
        elif not job.ended:
            job.tell(share=said.get("share"), words=said.get("words", ""))

    def _finish(self, job: Job) -> None:
        left = job.folder / "out"
        result = json.loads((left / "result.json").read_bytes())
        made = {str(path.relative_to(left)): path for path in sorted(left.rglob("*")) if path.is_file()}
        made.pop("result.json")
        self._end(job, "done", result=result, files=made, share=1.0)

    def _fail(self, job: Job, why: str) -> None:
        if not job.ended:
            self._end(job, "failed", error=plain(why))

    def _end(self, job: Job, state: JobState, **more: Any) -> None:
        job.tell(state=state, ended_s=time.monotonic(), **more)
        if state != "done":
            shutil.rmtree(job.folder, ignore_errors=True)

    def forget_old(self) -> None:
        """Those whose time is over, and the oldest of too many."""
        limits, now = self._settings.limits, time.monotonic()
        over = [job for job in self._known.values() if job.ended_s is not None]
        over.sort(key=lambda job: job.ended_s or 0.0)
        surplus = max(0, len(over) - limits.results)
        for place, job in enumerate(over):
            if place < surplus or now - (job.ended_s or 0.0) > limits.result_s:
                self._forget(job)

    def _forget(self, job: Job) -> None:
        """Its files go with the last job that has them."""
        del self._known[job.id]
        if not any(one.folder == job.folder for one in self._known.values()):
            shutil.rmtree(job.folder, ignore_errors=True)

    async def close(self) -> None:
        """End everything that runs."""
        self._waiting.clear()
        tasks = list(self._running.values())
        for task in tasks:
            if not task.cancelling():  # one that is ending already is left to end
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(working.end() for working in self._working))  # whose waiting was cancelled above
        await self._standby.close()
