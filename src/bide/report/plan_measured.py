"""A replica that was benchmarked, in place of a simulated one: what is said of it, and its levels of load."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bide.i18n import _, ngettext
from bide.plan.answer import ServicePlan
from bide.plan.asks import Probe
from bide.plan.measured.levels import Level, levels_of
from bide.plan.option import Option
from bide.plan.question import Goodput, MeasuredReplica
from bide.report.plan_asked import Asked, asked_of, shown_of
from bide.report.plan_parts import Table
from bide.report.words import count, listed, rate, seconds
from bide.units import format_rate

_TOP = 0.98
"""A grid's step below the highest load that was measured."""


def carries_text(option: Option, measured: MeasuredReplica) -> str:
    """Up to which rate it keeps what is asked, and what says so."""
    levels = levels_of(measured.runs)
    loads = ngettext("{n} load", "{n} loads", len(levels)).format(n=count(len(levels)))
    text = _("Measured, not simulated: {loads}, {low} to {high} requests/s ({files}).").format(
        loads=loads,
        low=rate(levels[0].requests_per_s),
        high=rate(levels[-1].requests_per_s),
        files=listed(measured.files),
    )
    kept = option.kept_rps.mid if option.kept_rps else None
    if kept is None:
        return text
    text += " " + _("It keeps the patience up to {kept}.").format(kept=format_rate(kept))
    if kept >= _TOP * levels[-1].requests_per_s:
        text += " " + _("More was not measured: it may bear more.")
    return text


def sureness_of(names: Sequence[str], services: int, predicted: str) -> Iterator[str]:
    """Of services whose replicas were measured; `predicted` is said of the others."""
    if len(names) < services:
        yield predicted
    if names:
        text = _(
            "The times of {names} are measured, not predicted: as sure as a benchmark is, of which the plan promises "
            "what 95 of 100 runs as long stay below."
        )
        yield text.format(names=listed(names))


def whole_text() -> str:
    """In place of the run of the whole fleet."""
    return _(
        "The fleet was not simulated whole: each replica gets its share of the requests, less bursty than those that "
        "the measured one got."
    )


def levels_table(service: ServicePlan, measured: MeasuredReplica) -> Table:
    """Each load, and what it showed of everything that is shown."""
    shown = shown_of(service.service)
    headers = (_("requests/s"), _("kept?"), _("at once"), *(each.name for each in shown), _("requests"))
    levels = levels_of(measured.runs)
    rows = tuple(_row(level, shown, service) for level in levels)
    legend = _(
        "As measured, and in brackets what 95 of 100 runs as long stay below, which is what the plan promises. Between "
        "two loads it takes the line between them."
    )
    marks = tuple("yes" if _kept(level, service) else "no" for level in levels)
    return Table(headers, rows, marks, legend)


def _row(level: Level, shown: tuple[Asked, ...], service: ServicePlan) -> tuple[str, ...]:
    kept = _("yes") if _kept(level, service) else _("no")
    cells = (_cell(level, each) for each in shown)
    done = level.run.completed
    return (rate(level.requests_per_s), kept, rate(level.running), *cells, "–" if done is None else count(done))


def _cell(level: Level, each: Asked) -> str:
    taken = level.taken(Probe(each.what))
    if taken is None:
        return "–"
    value, promised = taken
    text = rate if isinstance(each.what, Goodput) else seconds
    return _("{value} (up to {promised})").format(value=text(value), promised=text(promised))


def _kept(level: Level, service: ServicePlan) -> bool:
    """Everything that has a limit, as promised."""
    taken = [(level.taken(Probe(each.what)), each.limit) for each in asked_of(service.service)]
    return all(found is not None and found[1] <= (limit or math.inf) for found, limit in taken)
