"""What a job's process may open: its folder, and the files of Python and its packages. Once up, it stays.

A second wall: requests cannot name paths at all (see `names` and `staging`); this one holds where a file that was
uploaded names another.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

_SYSTEM = ("/proc/", "/sys/", "/dev/null", "/dev/urandom", "/dev/shm/", "/usr/share/zoneinfo/", "/etc/localtime")
_ON_PATHS = ("open", "os.listdir", "os.scandir", "os.chdir", "os.rename", "os.remove", "os.mkdir", "os.symlink")
_ON_NETWORK = ("socket.connect", "socket.bind", "socket.sendto")
_LIBRARIES = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/etc/ld.so.cache")


def put_up(folder: Path, *, network: bool) -> None:
    """From now on opening anything else raises PermissionError; so does a connection, unless `network`."""
    allowed = (*_roots(folder, network), *_SYSTEM, *_LIBRARIES)

    def look(event: str, args: tuple[Any, ...]) -> None:
        if event in _ON_PATHS and isinstance(args[0], str | bytes | os.PathLike):
            path = os.path.realpath(os.fsdecode(args[0]))
            if not (path + "/").startswith(allowed):
                raise PermissionError(13, "outside of the job's folder", os.path.basename(path))
        elif event in _ON_NETWORK and not network and args[0].family != _unix():
            raise PermissionError(13, "jobs do not use the network")

    sys.addaudithook(look)


def _roots(folder: Path, network: bool) -> tuple[str, ...]:
    """Of the job, of the interpreter, of the installed packages, and of what Python compiles."""
    import bide

    given = [str(folder), sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()]
    given += [str(Path(bide.__file__).parent), *(path for path in sys.path if path)]
    given += [os.environ.get(name, "") for name in ("NUMBA_CACHE_DIR", "PYTHONPYCACHEPREFIX", "BIDE_PROFILE")]
    given += [sys.pycache_prefix or ""]
    if network:
        given += [os.environ.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface"), "/etc/"]
    return tuple({os.path.realpath(path) + "/" for path in given if path})


def _unix() -> int:
    import socket

    return int(getattr(socket, "AF_UNIX", -1))
