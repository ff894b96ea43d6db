"""All that `bide workload describe` says of traces, for whoever shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bide.report.workload_text import WorkloadSaid
from bide.workload.reading.asking import Ask


def workload_said(sources: Sequence[str | Path], ask: Ask) -> WorkloadSaid:
    """The measures of files, globs or folders. Raises BadInput."""
    from bide.workload.measuring.description import describe
    from bide.workload.reading.reader import read

    reading = read(sources, ask, "source")
    return WorkloadSaid(describe(reading.trace), reading.trace, reading.report)


def workload_dict(said: WorkloadSaid) -> dict[str, Any]:
    """The keys of `bide workload describe --json`."""
    from bide.workload.modelling.compact import compact

    assert said.trace is not None
    assert said.report is not None
    return {"reading": said.report.to_dict(), **said.description.to_dict(), "models": compact(said.trace)}
