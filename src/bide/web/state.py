"""What a server knows while it runs: its settings, uploads, jobs, and the answers it has given."""

from __future__ import annotations

import shutil
from pathlib import Path

from bide.errors import BadInput
from bide.i18n import _
from bide.web import samples
from bide.web.answered import Answered
from bide.web.folder import PrivateFolder
from bide.web.jobs import Jobs
from bide.web.settings import Settings
from bide.web.uploads import Uploads


class State:
    """One for each application; `app.state.bide`. Its folder is private and goes with it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._private = PrivateFolder()
        self.folder = self._private.path
        self.open()
        self.uploads = Uploads(self.folder / "uploads", settings.limits)
        self.jobs = Jobs(self.folder / "jobs", settings, self.file)
        self.answered = Answered(self, settings.limits.answers)

    def open(self) -> None:
        """Make the folders, where the application has ended and begins anew too."""
        for folder in (self.folder, self.folder / "uploads", self.folder / "jobs"):
            folder.mkdir(mode=0o700, exist_ok=True)

    def file(self, kind: str, name: str) -> Path:
        """The file of an upload, of a sample, or of what a job left. Raises BadInput, NotThere."""
        if kind == "upload":
            return self.uploads.get(name).path
        if kind == "sample":
            return samples.path(name)
        left = self.jobs.get(name).files.get("profile.json")
        if left is None:
            raise BadInput("job", name, _("a calibration that is done"))
        return left

    def own_file(self, kind: str, name: str) -> Path:
        """The same, for a file that the server itself reads. Raises BadInput for one that is too large for that."""
        found = self.file(kind, name)
        most = self.settings.limits.body_bytes
        if found.stat().st_size > most:
            allowed = _("a file of at most {n:,} bytes").format(n=most)
            raise BadInput(kind, found.name, allowed, _("a config.json and a profile have a few kilobytes"))
        return found

    def close(self) -> None:
        """Delete whatever users sent and jobs made."""
        self._private.close()
        shutil.rmtree(self.folder, ignore_errors=True)  # where it has begun anew
