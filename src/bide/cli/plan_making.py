"""A plan being made: by as many processes as pay, and how far it is, on stderr, where that is a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bide.i18n import _

if TYPE_CHECKING:
    from bide.plan.answer import Plan
    from bide.plan.question import Question
    from bide.plan.search import Progress
    from bide.runners import Runner

Tell = Callable[["Progress"], None]
_MOST_PROCESSES = 8


def made(question: Question, profile: Path | None, one_of_several: bool = False) -> Plan:
    """The plan, with its progress shown. `one_of_several`: in this process, which remembers what it simulated."""
    from bide.plan.search import plan
    from bide.runners import serial

    with shown() as tell:
        return plan(question, serial if one_of_several else _runner(question), profile, tell)


def _runner(question: Question) -> Runner:
    """A process for each kind of GPU of each service, as far as there are cores.

    Several pay: a kind of GPU takes about 5 s, and a fresh process 3 s before it can begin.
    """
    from bide.runners import processes, serial

    work = len(question.services) * len(question.hardware.gpus)
    workers = min(_cores(), work, _MOST_PROCESSES)
    return processes(workers) if workers > 1 else serial


def _cores() -> int:
    """That this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def shown() -> Iterator[Tell]:
    """A line that is gone when the plan is there; nothing at all where nobody looks."""
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from bide.report.plan_progress import best_so_far

    columns = (TextColumn("{task.description}"), BarColumn(20), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(_("planning"), total=None)

        def tell(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.total, description=best_so_far(progress))

        yield tell


def _silent(_progress: Progress) -> None:
    pass
