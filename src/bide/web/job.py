"""One job: what it was asked, how far it is, what came of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(eq=False)
class Job:
    """One piece of work. `share`: how much of it is done, 0 to 1, None where nobody knows; `words`: what it is at."""

    id: str
    kind: str
    folder: Path
    key: str
    """Of what was asked: two jobs with the same key give the same."""
    task: Mapping[str, Any]
    """What its process is told."""
    client: str = ""
    """Who asked: places are given to all in turn."""
    state: JobState = "waiting"
    share: float | None = None
    words: str = ""
    ahead: int = 0
    """Jobs that are to be done before it."""
    answer: Path | None = None
    """The file with what came of it, as JSON."""
    error: dict[str, Any] | None = None
    """As the API says it: `field`, `given`, `allowed`, `hint`, `message`."""
    files: dict[str, Path] = field(default_factory=dict)
    size_bytes: int = 0
    """Of all that it left."""
    ended_s: float | None = None
    """On the server's monotonic clock."""
    news: int = 0
    """Counts every change."""
    shared: bool = False
    """Pages that ask the same follow it together: it is ended where the last of them wants no more of it."""
    followers: set[str] = field(default_factory=set)
    """The pages that do."""
    _happened: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ended(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    @property
    def result(self) -> dict[str, Any] | None:
        """What came of it, read anew each time."""
        return None if self.answer is None else json.loads(self.answer.read_bytes())

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
