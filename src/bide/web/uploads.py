"""Files that users send: bounded while they come, under random names in a private folder, gone after an hour."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections.abc import AsyncIterable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.i18n import _
from bide.web.faults import Busy, NotThere, TooLarge

if TYPE_CHECKING:
    from bide.web.settings import Limits

ID = re.compile(r"[A-Za-z0-9_-]{22}")
_UNSAFE = re.compile(r"[^\w.()+-]+")
_LONGEST_NAME = 80
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent. `name`: what its user called it, as far as that is harmless; `path`: where it lies."""

    id: str
    name: str
    size_bytes: int
    path: Path
    until: float
    """On the server's monotonic clock, in seconds."""

    def to_dict(self) -> dict[str, Any]:
        return {"schema": "bide.upload/1", "upload": self.id, "name": self.name, "size_bytes": self.size_bytes}


class Uploads:
    """Those that a server keeps, each in a folder of its own under `folder`. For one event loop."""

    def __init__(self, folder: Path, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._limits, self._clock = folder, limits, clock
        self._kept: dict[str, Upload] = {}
        self._held_bytes = 0
        """Of all, with those that are not whole yet."""

    async def keep(self, name: str, chunks: AsyncIterable[bytes]) -> Upload:
        """Store what comes. Raises TooLarge beyond the limit, Busy where all uploads together would be too large."""
        self.forget_old()
        number, named = secrets.token_urlsafe(16), harmless(name)
        place = self._folder / number
        place.mkdir(mode=0o700)
        try:
            size = await self._written(place / named, chunks)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        made = Upload(number, named, size, place / named, self._clock() + self._limits.upload_s)
        self._kept[number] = made
        return made

    async def _written(self, path: Path, chunks: AsyncIterable[bytes]) -> int:
        size = 0
        try:
            self._check_room(size, path.name)
            with path.open("xb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    self._held_bytes += len(chunk)
                    self._check_room(size, path.name)
                    file.write(chunk)
        except BaseException:
            self._held_bytes -= size
            raise
        return size

    def _check_room(self, size: int, name: str) -> None:
        limits = self._limits
        if size > limits.upload_bytes:
            raise TooLarge("file", name, _("a file of at most {n:,} bytes").format(n=limits.upload_bytes))
        if self._held_bytes > limits.all_uploads_bytes or len(self._kept) >= limits.uploads:
            raise Busy(_("the server holds as many uploads as it may; they are deleted after a while"))

    def get(self, number: str) -> Upload:
        """Raises NotThere for one that is not, or not any more."""
        self.forget_old()
        found = self._kept.get(number)
        if found is None:
            raise NotThere(_("there is no such upload (any more): uploads are kept for an hour"))
        return found

    def delete(self, number: str) -> None:
        """Raises NotThere for one that is not there."""
        self._remove(self.get(number))

    def forget_old(self) -> None:
        """Delete those whose time is over."""
        now = self._clock()
        for each in [each for each in self._kept.values() if each.until <= now]:
            self._remove(each)

    def _remove(self, upload: Upload) -> None:
        del self._kept[upload.id]
        self._held_bytes -= upload.size_bytes
        shutil.rmtree(upload.path.parent, ignore_errors=True)

    def __iter__(self) -> Iterator[Upload]:
        return iter(tuple(self._kept.values()))


def harmless(name: str) -> str:
    """The last part of a name, without anything that a file system or a terminal could take amiss.

    >>> harmless("../../etc/passwd"), harmless("C:\\\\x\\\\my trace.csv.gz"), harmless("..")
    ('passwd', 'my_trace.csv.gz', 'upload')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    safe = _UNSAFE.sub("_", last.encode("ascii", "replace").decode().replace("?", "_")).strip("._ ")
    if len(safe) > _LONGEST_NAME:
        stem, dot, suffixes = safe.partition(".")
        safe = stem[: max(1, _LONGEST_NAME - len(suffixes) - 1)] + dot + suffixes[-40:]
    return "upload" if not safe or _RESERVED.fullmatch(safe) else safe[-_LONGEST_NAME:]
