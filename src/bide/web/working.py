"""A process that does one job: started, told, listened to, and killed with all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.i18n import _

if TYPE_CHECKING:
    from bide.web.settings import Settings

_LONGEST_LINE = 2**20
_SECRETS = ("BIDE_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN")
_GRACE_S = 5.0


def passed_on(hub: bool) -> dict[str, str]:
    """The environment of a job: without the server's token, and without that of the hub unless it is asked."""
    secret = ("BIDE_TOKEN",) if hub else _SECRETS
    return {name: value for name, value in os.environ.items() if name not in secret}


class Working:
    """A process of `bide.web.worker` for one job. `early`: it loads what jobs need before it has one."""

    def __init__(self, settings: Settings, *, early: bool = False) -> None:
        self._settings, self._early = settings, early
        self._starting = asyncio.ensure_future(self._start())
        self._ending: asyncio.Future[None] | None = None

    async def _start(self) -> asyncio.subprocess.Process:
        limits = self._settings.limits
        told = json.dumps(
            {
                "memory_bytes": limits.job_memory_bytes,
                "file_bytes": limits.job_file_bytes,
                "cpu_s": int(limits.job_s * 4) + 60,
                "hub": self._settings.hub,
                "early": self._early,
            }
        )
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bide.web.worker",
            told,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            env=passed_on(self._settings.hub),
            start_new_session=True,
        )

    async def do(self, task: Mapping[str, Any], folder: Path) -> AsyncIterator[dict[str, Any]]:
        """What the process says of the task, until it is done or the process is gone."""
        process = await asyncio.shield(self._starting)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({**task, "folder": str(folder)}).encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()
        while line := await process.stdout.readline():
            said = json.loads(line)
            yield said
            if "error" in said or said.get("done"):
                return

    async def end(self) -> None:
        """Kill it and whatever it started; done also where the caller is cancelled meanwhile."""
        self._ending = self._ending or asyncio.ensure_future(self._killed())
        await asyncio.shield(self._ending)

    async def _killed(self) -> None:
        try:
            process = await self._starting
        except OSError:  # it never began
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        assert process.stdin is not None
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.communicate(), _GRACE_S)  # to the end of its pipe, which closes it

    def obituary(self) -> str:
        """Why a process that has said nothing of its end is gone."""
        return _("its process ended before it was done, as one does that takes more memory than {n:,} MiB").format(
            n=self._settings.limits.job_memory_bytes // 2**20
        )


class Standby:
    """A process that has made itself ready for the next job, which then begins seconds sooner."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ready: Working | None = None

    def prepare(self) -> None:
        """Start one, unless one is there."""
        if self._settings.spare and self._ready is None:
            self._ready = Working(self._settings, early=True)

    def take(self) -> Working:
        """The one that is ready, or a new one."""
        found, self._ready = self._ready, None
        return found or Working(self._settings)

    async def close(self) -> None:
        """End the one that is ready."""
        if self._ready is not None:
            found, self._ready = self._ready, None
            await found.end()
