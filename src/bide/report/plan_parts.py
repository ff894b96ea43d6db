"""What a plan's report is made of: sections with sentences and tables, the same for terminal, page and Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from bide.plan.answer import ServicePlan
from bide.report.drawing import Drawing

Key = Literal["patience", "peak", "card", "cards", "saving", "candidates", "running", "cost", "swings", "start"]
"""Sections by what they are about; `plan_charts` draws by it."""
Charts = Iterable[tuple[str, Drawing]]
"""The title of each, and what draws it."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text; `marks` has one word a row: `yes`, `maybe`, `no`, `knee` or nothing. `left`: columns of words."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marks: tuple[str, ...] = ()
    legend: str = ""
    wide: bool = False
    """The last column holds sentences."""


@dataclass(frozen=True, slots=True)
class Section:
    """`lines` are told everywhere, `more` and `tables` where there is room, `brief` on a terminal."""

    key: Key
    title: str
    lines: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    brief: tuple[Table, ...] = ()
    lesson: str = ""
    """What a newcomer learns from it."""


@dataclass(frozen=True, slots=True, eq=False)
class ServiceView:
    """One service. `starts` is empty where nothing can be run."""

    name: str
    headline: str
    steps: tuple[Section, ...]
    sections: tuple[Section, ...]
    starts: tuple[tuple[str, str], ...]
    """What each command starts, and the command."""
    remarks: tuple[str, ...]
    plan: ServicePlan


@dataclass(frozen=True, slots=True, eq=False)
class PlanView:
    """The whole report."""

    title: str
    feasible: bool
    sentence: str
    sureness: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]
    """What a budget meeting looks at: a label and a number each."""
    services: tuple[ServiceView, ...]
    assumptions: tuple[str, ...]
    limits: tuple[str, ...]
    sources: tuple[str, ...]
    reproduce: tuple[str, ...]
    command: str
    """That makes the plan again."""
    file: str
    """The service file, as it was read."""
