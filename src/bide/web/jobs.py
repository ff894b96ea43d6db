"""Work that takes seconds or minutes: a bounded queue, a process for each job, and what came of it, kept for a while.

In-process callers: `start(kind, body)`, then `job.changed()` until `job.ended`, and `job.result` or `job.error`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.i18n import _, language, ngettext
from bide.web.faults import Busy, NotThere, plain
from bide.web.job import Job, JobState
from bide.web.kinds import asked
from bide.web.staging import Find, Staged, replaced
from bide.web.turns import in_turn
from bide.web.working import Standby, Working

if TYPE_CHECKING:
    from bide.web.settings import Settings


class Jobs:
    """Those of one server. For one event loop; nothing is started before the first job."""

    def __init__(self, folder: Path, settings: Settings, find: Find) -> None:
        self._folder, self._settings, self._find = folder, settings, find
        self._known: dict[str, Job] = {}
        self._waiting: list[Job] = []
        self._running: dict[Job, asyncio.Task[None]] = {}
        self._standby = Standby(settings)
        self._working: set[Working] = set()

    def warm(self) -> None:
        """Let a process for the next job make itself ready."""
        self._standby.prepare()

    def start(self, kind: str, body: Mapping[str, Any] | Any, lang: str | None = None, client: str = "") -> Job:
        """Begin, or queue. Raises BadInput for a body that is not in shape, Busy where too many wait."""
        self.forget_old()
        ask, speech = asked(kind, body).plain(), lang or language()
        key = _key(kind, speech, ask)
        job = self._done_before(key) or self._queued(kind, speech, key, ask, client)
        self._known[job.id] = job
        self._advance()
        return job

    def shared(self, kind: str, body: Mapping[str, Any], lang: str) -> Job | None:
        """One that pages asked the same and that has not ended. Raises BadInput for a body that is not in shape."""
        key = _key(kind, lang, asked(kind, body).plain())
        return next((job for job in self._known.values() if job.shared and job.key == key and not job.ended), None)

    def _done_before(self, key: str) -> Job | None:
        """A job with the answer of one that was asked the same."""
        same = next((one for one in self._known.values() if one.key == key and one.state == "done"), None)
        return same and replace(same, id=_number(), ended_s=time.monotonic(), _happened=asyncio.Event())

    def _queued(self, kind: str, speech: str, key: str, ask: dict[str, Any], client: str) -> Job:
        self._check_room(client)
        number = _number()
        folder = self._folder / number
        folder.mkdir(mode=0o700)
        try:
            staged = replaced(ask, Staged(folder, self._find))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        job = Job(number, kind, folder, key, {"kind": kind, "ask": staged, "lang": speech}, client)
        self._waiting.append(job)
        return job

    def _check_room(self, client: str) -> None:
        limits, own = self._settings.limits, sum(job.client == client for job in self._waiting)
        if own >= limits.jobs_waiting_each:
            text = ngettext(
                "{n} job of yours waits already, as many as one client may have; try again in a minute",
                "{n} jobs of yours wait already, as many as one client may have; try again in a minute",
                own,
            )
            raise Busy(text.format(n=own))
        if len(self._waiting) >= limits.jobs_waiting:
            text = ngettext(
                "{n} job waits already, as many as are taken; try again in a minute",
                "{n} jobs wait already, as many as are taken; try again in a minute",
                limits.jobs_waiting,
            )
            raise Busy(text.format(n=limits.jobs_waiting))

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
        if job in self._waiting:
            self._waiting.remove(job)
        self._end(job, "cancelled")
        if job in self._running:
            self._running[job].cancel()
        self._advance()
        return job

    def _advance(self) -> None:
        """Give free places to those whose turn it is, and tell the others how many are before them."""
        while self._waiting and len(self._running) < self._settings.limits.jobs_at_once:
            job = in_turn(self._waiting, self._running)[0]
            self._waiting.remove(job)
            job.tell(state="running", ahead=0)
            self._running[job] = asyncio.get_running_loop().create_task(self._run(job))
            self._running[job].add_done_callback(lambda _task, job=job: self._over(job))  # type: ignore[misc]
        for ahead, job in enumerate(in_turn(self._waiting, self._running), start=len(self._running)):
            if job.ahead != ahead:
                job.tell(ahead=ahead)

    async def _run(self, job: Job) -> None:
        working = self._standby.take()
        self._standby.prepare()
        self._working.add(working)
        try:
            async with asyncio.timeout(self._settings.limits.job_s):
                async for said in working.do(job.task, job.folder):
                    self._hear(job, said)
        except TimeoutError:
            self._fail(job, _("it took longer than {n:,} s and was ended").format(n=self._settings.limits.job_s))
        finally:
            await working.end()
            self._working.discard(working)
            self._fail(job, working.obituary())  # unless it has ended as it should

    def _over(self, job: Job) -> None:
        """Its place is free, also where it was cancelled before it began."""
        del self._running[job]
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
        made = {str(path.relative_to(left)): path for path in sorted(left.rglob("*")) if path.is_file()}
        answer = made.pop("result.json")
        for path in (path for path in job.folder.iterdir() if path != left):  # what it was given
            path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)
        size = sum(path.stat().st_size for path in (answer, *made.values()))
        self._end(job, "done", answer=answer, files=made, size_bytes=size, share=1.0)

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
        over.sort(key=lambda job: job.ended_s or 0.0, reverse=True)
        held_bytes = 0
        for place, job in enumerate(over):
            held_bytes += job.size_bytes
            is_surplus = place >= limits.results or (place and held_bytes > limits.all_results_bytes)
            if is_surplus or now - (job.ended_s or 0.0) > limits.result_s:
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


def _key(kind: str, speech: str, ask: Mapping[str, Any]) -> str:
    return json.dumps([kind, speech, ask], sort_keys=True)


def _number() -> str:
    """Which nobody guesses: who knows it may see the job."""
    return secrets.token_urlsafe(16)
