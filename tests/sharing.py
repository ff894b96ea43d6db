"""How two processes share the suite: who takes which files and in which order; only one compiles the kernel.

Tests that measure time all go to the first process, and the second gives way to it: a file that must keep time has
the machine nearly to itself, and no core is idle meanwhile.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

HERE = Path(__file__).parent
FIRST = "gw0"
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
"""gw0, gw1, ...; None where this process runs everything, or tells the others what to do."""

ORDER = ("bench", "workload", "closed_loop", "web", "cli", "plan", "simulate", "report", "calibrate")
"""Of folders: what needs no kernel while it is compiled, then the longest, so that both end at the same time."""
COMPILES = "tests/simulate/scheduler/"
"""The second process begins with a file of here: it compiles while the first has other work."""
WITHOUT_KERNEL = frozenset({"bench", "workload", "facts", "floor0", "physics"})
TIMED = ("tests/bench/", "tests/closed_loop/", "tests/web/page/")
TOGETHER = "tests/web/page/"
"""One process takes all of these: one browser is enough."""
GIVES_WAY = 15
"""By how much: a thirtieth of a core is left to who gives way (Linux: 1.25 times less for each)."""


def give_way() -> None:
    """All workers but the first let it go first."""
    if WORKER not in (None, FIRST):
        os.nice(GIVES_WAY)


def in_order(paths: list[Path]) -> Callable[[Path], tuple[int, int]]:
    """A key to sort files by: by folder, and as they were."""
    as_were = {path: number for number, path in enumerate(dict.fromkeys(paths))}

    def key(path: Path) -> tuple[int, int]:
        folder = _folder(path)
        return ORDER.index(folder) if folder in ORDER else len(ORDER), as_were[path]

    return key


def _folder(path: Path) -> str:
    """Of the tests; empty for doctests."""
    return path.relative_to(HERE).parts[0] if path.is_relative_to(HERE) else ""


def compile_once(path: Path) -> None:
    """Have the kernel on disk before a file of a folder that simulates, if this is one of several processes."""
    if WORKER is not None and _folder(path) not in WITHOUT_KERNEL:
        _compile()


@cache
def _compile() -> None:
    """One process compiles, for a minute and more, while the others wait: numba's own cache has no lock."""
    from bide.simulate.scheduler import loading
    from bide.simulate.scheduler.simulate import simulate
    from drawn_schedules import draw

    with open(loading.__file__, "rb") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        case = draw(1)
        simulate(case.config, case.cost, case.requests)


def scheduling(config: pytest.Config, log: object) -> object:
    """Hands out a file, or all of the page's, at a time."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # has none

    class Files(LoadScopeScheduling):  # type: ignore[misc]  # for the same reason
        def _split_scope(self, nodeid: str) -> str:
            return TOGETHER if nodeid.startswith(TOGETHER) else nodeid.split("::", 1)[0]

        def _assign_work_unit(self, node: Any) -> None:
            self.workqueue.move_to_end(chosen(list(self.workqueue), self._is_first(node)), last=False)
            super()._assign_work_unit(node)

        def _reschedule(self, node: Any) -> None:
            if not self._is_first(node) and all(file.startswith(TIMED) for file in self.workqueue):
                node.shutdown()
            super()._reschedule(node)

        def _is_first(self, node: Any) -> bool:
            """Any is, should the first have crashed."""
            return FIRST in (node.gateway.id, *{FIRST} - {each.gateway.id for each in self.nodes})

    return Files(config, log)


def chosen(files: list[str], is_first: bool) -> str:
    """Of those that wait in order: the next one that is not timed, for all but the first process."""
    if is_first:
        return files[0]
    allowed = [file for file in files if not file.startswith(TIMED)] or files
    return next((file for file in allowed if file.startswith(COMPILES)), allowed[0])
