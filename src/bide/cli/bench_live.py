"""A measurement while it goes, on stderr: a bar where that is a terminal, else a plain line now and then.

Cheap enough not to disturb what it shows: nothing runs by itself, and the terminal is drawn when there is news.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bide.cli.output import note
from bide.i18n import _

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from bide.bench.loads import Load
    from bide.bench.measure import Going

_PLAIN_EVERY_S = 30.0


class Live:
    """Gets the number of the cell, its load, and how it goes."""

    def __init__(self) -> None:
        self._bar: Progress | None = _bar() if sys.stderr.isatty() else None
        self._task: TaskID | None = None
        self._next: tuple[int, float] = (0, _PLAIN_EVERY_S)

    def __call__(self, number: int, load: Load, going: Going) -> None:
        if self._bar is None:
            self._plainly(number, load, going)
            return
        from bide.report.bench_progress import progress, share_done

        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("", total=None, left="")
        share = share_done(load, going)
        self._bar.update(
            self._task,
            total=None if share is None else 1.0,
            completed=share or 0.0,
            description=progress(number, load, going),
            left=_left(share, going.elapsed_s),
        )
        self._bar.refresh()

    def _plainly(self, number: int, load: Load, going: Going) -> None:
        """For a log: the first time after half a minute, so that short runs say nothing."""
        from bide.report.bench_progress import progress

        cell, due_s = self._next
        if number != cell:
            self._next = (number, _PLAIN_EVERY_S)
        elif going.elapsed_s >= due_s:
            self._next = (number, going.elapsed_s + _PLAIN_EVERY_S)
            note(progress(number, load, going))

    def clear(self) -> None:
        """What was drawn is gone."""
        if self._bar is not None and self._task is not None:
            self._bar.stop()
            self._task = None


def _bar() -> Progress:
    """Loaded before anything is measured. No thread of its own draws it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (BarColumn(20), TaskProgressColumn(), TextColumn("{task.fields[left]}"), TextColumn("{task.description}"))
    return Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)


def _left(share: float | None, elapsed_s: float) -> str:
    """The time that is left at this pace; nothing until there is a pace."""
    if not share or elapsed_s <= 0:
        return ""
    from bide.report.bench_text import duration

    return _("{time} left").format(time=duration(round(elapsed_s / share - elapsed_s)))
