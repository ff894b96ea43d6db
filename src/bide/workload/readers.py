"""A trace file as a plan wants it: answered pairs, every row readable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bide.errors import BadInput
from bide.i18n import _, ngettext
from bide.workload.reading.asking import Ask
from bide.workload.reading.reader import read
from bide.workload.requests import Workload
from bide.workload.trace import Trace

FEWEST_ROWS = 100
"""Fewer rows than this say too little about a 95th percentile."""
_TOLD = ("tick", "cap", "drawn")
"""Findings that change what a plan should think of its workload."""


def read_both(path: Path, field: str = "trace") -> tuple[Trace, Workload]:
    """The whole trace of any format that `bide workload` reads, and the workload in it.

    Rows without output are failures: the workload leaves them out and counts them in its notes. Times rounded to a
    coarse clock are spread within its ticks. Raises BadInput naming `field` for a file that is not
    there or not understood, for the first row that cannot be read, and for fewer than 100 usable rows.
    """
    reading = read([path], Ask(strict=True), field)
    trace = reading.trace
    answered = int(trace.answered.sum())
    if answered < FEWEST_ROWS:
        allowed = _("a trace of at least {count} answered requests").format(count=FEWEST_ROWS)
        hint = _("{rows} rows are too few for a percentile; describe the lengths instead").format(rows=answered)
        raise BadInput(field, str(path), allowed, hint)
    work = trace.workload(field)
    notes = [finding.text for finding in reading.report.findings if finding.kind in _TOLD]
    failures = len(trace) - answered
    if failures:
        notes.append(
            ngettext(
                "{count} row without output (a failure) left out",
                "{count} rows without output (failures) left out",
                failures,
            ).format(count=failures)
        )
    source = replace(
        work.source,
        text=ngettext("trace {name}, {rows} request", "trace {name}, {rows} requests", len(work)).format(
            name=path.name, rows=len(work)
        ),
    )
    return trace, replace(work, source=source, notes=(*notes, *work.notes))
