"""The process of one job: `python -m bide.web.worker LIMITS`, which reads a task and writes how it goes, as JSON lines.

It limits itself before it reads anything: memory, files, time of the processor, a low priority. Once it knows its task
it lives in the task's folder and opens nothing outside but Python's own files (see `fence`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

_NICE = 10
_TOLD_EVERY_S = 0.1


def main() -> int:
    """Do one task."""
    told = json.loads(sys.argv[1])
    _limit(told)
    out = _own_stdout()
    if told["early"]:
        _make_ready()
    line = sys.stdin.buffer.readline()
    if not line:
        return 0
    task = json.loads(line)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    folder = Path(task["folder"])
    (folder / "out").mkdir()
    os.chdir(folder)
    from bide.web import fence

    fence.put_up(folder, network=told["hub"])
    _say(out, _outcome(task, told["hub"], _Teller(out)))
    return 0


def _limit(told: dict[str, Any]) -> None:
    """As far as the system can; where it cannot, the server still ends what takes too long."""
    os.nice(_NICE)
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in (
        (resource.RLIMIT_DATA, told["memory_bytes"]),  # not RLIMIT_AS: V8, which draws, reserves far more than it uses
        (resource.RLIMIT_FSIZE, told["file_bytes"]),
        (resource.RLIMIT_CPU, told["cpu_s"]),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing fails instead


def _own_stdout() -> IO[bytes]:
    """The pipe to the server; what anybody else prints goes to stderr."""
    own = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return own


def _make_ready() -> None:
    """Import what nearly every job needs."""
    import bide.plan.search
    import bide.simulate.scheduler.kernel.run
    import bide.web.tasks  # noqa: F401


def _end_with_the_server() -> None:
    """When the server is gone, so is the pipe."""
    while sys.stdin.buffer.read(1024):
        pass
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _outcome(task: dict[str, Any], hub: bool, tell: Callable[..., None]) -> dict[str, Any]:
    """`done`, or what is wrong; the result lies in the folder."""
    from bide.errors import BadInput, BideError
    from bide.i18n import _, speaking
    from bide.web import tasks
    from bide.web.faults import fault_dict, plain

    with speaking(task["lang"]):
        try:
            made = tasks.done(task["kind"], task["ask"], hub, tell, Path("out"))
            Path("out", "result.json").write_text(json.dumps(made, allow_nan=False), encoding="utf-8")
        except BideError as error:
            return {"error": fault_dict(error)}
        except MemoryError:
            return {"error": plain(_("it takes more memory than a job may"))}
        except OSError as error:
            return {"error": fault_dict(BadInput("file", None, _("files that can be read"), error.strerror or ""))}
        except Exception:
            import traceback

            traceback.print_exc()
            return {"error": plain(_("an error of bide's own; the server's log has it"))}
    return {"done": True}


class _Teller:
    """Tells how far the task is, not too often."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out, self._last_s = out, 0.0

    def __call__(self, share: float | None, words: str = "") -> None:
        now = time.monotonic()
        if now - self._last_s >= _TOLD_EVERY_S:
            self._last_s = now
            _say(self._out, {"share": share, "words": words})


def _say(out: IO[bytes], what: dict[str, Any]) -> None:
    out.write(json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
