"""Raw requests into a trace: one clock from 0, sorted, checked, with a report of all that was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bide.errors import BadInput
from bide.i18n import _, ngettext
from bide.sourced import Source
from bide.workload.arrivals import find_tick_s, spread_in_ticks
from bide.workload.reading import checks
from bide.workload.reading.asking import Ask
from bide.workload.reading.files import File
from bide.workload.reading.formats import Format
from bide.workload.reading.raw import Raw
from bide.workload.reading.report import Dropped, Finding, Reading, ReadReport
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_YEAR_S = 365.25 * 86400
_LONGEST_YEARS = 10
_LONGEST_S = _LONGEST_YEARS * _YEAR_S
"""A recording that goes on for longer is a unit misread, or a date that means "none"."""


def assemble(raw: Raw, files: Sequence[File], known: Format, ask: Ask, field: str) -> Reading:
    """The trace and its report. Raises BadInput where nothing is left, or less than half could be read."""
    names = tuple(file.path.name for file in files)
    if not len(raw.prompt_tokens):
        raise BadInput(field, _named(names), _("at least one request"), " ".join(d.text for d in raw.dropped))
    unreadable = sum(each.count for each in raw.dropped if each.kind.startswith(("unreadable", "not_json")))
    if 2 * unreadable > raw.rows:
        raise BadInput(field, _named(names), _("a file of which most can be read"), raw.dropped[0].text)
    raw, findings = _in_order(raw, _named(names), field)
    raw, more = _without_duplicates(raw, ask)
    findings += [*more, *checks.zero_outputs(raw.output_tokens)]
    findings += checks.caps(raw.prompt_tokens, _("prompt"))
    findings += checks.caps(raw.output_tokens[raw.output_tokens > 0], _("output"))
    time_s, ticks = _off_ticks(raw, ask)
    trace = Trace(
        raw.prompt_tokens,
        raw.output_tokens,
        time_s,
        Source(_source(names, len(raw.prompt_tokens)), kind="given"),
        raw.blocks,
        raw.session,
        raw.think_s,
        raw.cached_tokens,
        raw.assumptions,
    )
    every = (*raw.findings, *ticks, *findings)
    return Reading(trace, ReadReport(names, known.name, raw.rows, len(trace), raw.columns, raw.dropped, every))


def _named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else _("{first} and {more} more").format(first=names[0], more=len(names) - 1)


def _source(names: Sequence[str], requests: int) -> str:
    return _("trace {name}, {rows} requests").format(name=_named(names), rows=requests)


def _in_order(raw: Raw, given: str, field: str) -> tuple[Raw, list[Finding]]:
    """The requests by time, from 0 on. Raises BadInput for times that cannot be one recording."""
    import numpy as np

    if raw.time_s is None:
        return raw, [Finding("no_times", _("there are no times: nothing can be said of arrivals"))]
    findings = [] if raw.made else checks.unsorted(raw.time_s)
    if (raw.time_s[1:] < raw.time_s[:-1]).any():
        raw = _taken(raw, np.argsort(raw.time_s, kind="stable"))
    assert raw.time_s is not None
    time_s = raw.time_s - raw.time_s[0]
    if time_s[-1] > _LONGEST_S:
        span = _("the times span {years:,.0f} years").format(years=time_s[-1] / _YEAR_S)
        hint = span + _(": a unit misread, or two clocks in one file? --time-unit says the unit")
        raise BadInput(field, given, _("times within {years} years of each other").format(years=_LONGEST_YEARS), hint)
    return replace(raw, time_s=time_s), findings


def _taken(raw: Raw, order: Ints) -> Raw:
    def of(column: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
        return None if column is None else column[order]

    names = ("prompt_tokens", "output_tokens", "time_s", "session", "think_s", "cached_tokens")
    columns = {name: of(getattr(raw, name)) for name in names}
    blocks = None if raw.blocks is None else raw.blocks.taken(order)
    return replace(raw, blocks=blocks, **columns)  # type: ignore[arg-type]  # every column keeps its type


def _without_duplicates(raw: Raw, ask: Ask) -> tuple[Raw, list[Finding]]:
    """Rows that repeat another in time and lengths: told, and left out where that is asked for."""
    import numpy as np

    if raw.time_s is None or raw.made:
        return raw, []
    again = checks.duplicates(raw.time_s, raw.prompt_tokens, raw.output_tokens)
    count = int(again.sum())
    if not count:
        return raw, []
    if ask.drop_duplicates:
        dropped = Dropped("duplicate", count, _("same time and lengths as another row"))
        return replace(_taken(raw, np.flatnonzero(~again)), dropped=(*raw.dropped, dropped)), []
    text = ngettext(
        "{count:,} row equals another in time and lengths: kept (--drop-duplicates leaves it out)",
        "{count:,} rows equal another in time and lengths: kept (--drop-duplicates leaves them out)",
        count,
    )
    return raw, [Finding("duplicates", text.format(count=count), {"count": count})]


def _off_ticks(raw: Raw, ask: Ask) -> tuple[Floats | None, list[Finding]]:
    """Times with the rounding of a coarse clock undone as far as it can be."""
    import numpy as np

    if raw.time_s is None or raw.made:
        return raw.time_s, []
    tick_s = find_tick_s(raw.time_s)
    if tick_s is None:
        return raw.time_s, []
    stamps = 1 + int((np.diff(raw.time_s) > 0).sum())
    spread = ask.spread_ticks
    times_s = spread_in_ticks(raw.time_s, tick_s, ask.seed) if spread else raw.time_s
    return times_s - times_s[0], checks.tick(tick_s, len(times_s), stamps, spread)
