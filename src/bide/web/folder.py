"""A private folder for what users send and jobs leave; what a killed server left is deleted by the next one."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from pathlib import Path

_PREFIX = "bide-serve-"
_UNLOCKED, _MARK = "new", "in-use"
"""A file in the folder, locked for as long as its server lives, however that ends."""


class PrivateFolder:
    """A new one at `path`, deleted by `close`, or when nobody has it any more."""

    def __init__(self) -> None:
        for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_MARK}"):
            _delete_if_left(left)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        mark = os.open(self.path / _UNLOCKED, os.O_RDWR | os.O_CREAT, 0o600)
        _lock(mark)
        (self.path / _UNLOCKED).rename(self.path / _MARK)  # never seen without its lock
        self.close = weakref.finalize(self, _delete, self.path, mark)


def _delete(folder: Path, mark: int) -> None:
    os.close(mark)
    shutil.rmtree(folder, ignore_errors=True)


def _delete_if_left(path: Path) -> None:
    """Another user's cannot be opened; one in use cannot be locked."""
    with contextlib.suppress(OSError):
        mark = os.open(path, os.O_RDWR)
        if _lock(mark):
            _delete(path.parent, mark)
        else:
            os.close(mark)


def _lock(mark: int) -> bool:
    """Whether nobody else has it. False too where the system has no such locks: nothing is deleted there."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
