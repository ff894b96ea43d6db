"""Results of load clients, written and read back."""

from __future__ import annotations

import json
from pathlib import Path

from bide.bench.formats.reading import read_runs
from bide.bench.formats.values import Run


def codes(run: Run) -> set[str]:
    """What was found wrong with it."""
    return {fault.code for fault in run.faults}


def only(path: Path, content: object) -> Run:
    """The one level of load in `content`."""
    path.write_text(json.dumps(content), encoding="utf-8")
    (run,) = read_runs(path)
    return run
