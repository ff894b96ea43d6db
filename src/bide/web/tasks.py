"""What the jobs do, in their own process: the functions that the command line calls, on requests in JSON.

The working directory is the job's folder; files are named relative to it, as `staging` put them there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bide.web.answers import said
from bide.web.task_measured import calibrated, compared, described, measured
from bide.web.task_plan import planned
from bide.web.task_simulate import simulated

Tell = Callable[..., None]
"""Takes the share that is done (None: unknown) and words."""
Task = Callable[[Mapping[str, Any], bool, Tell, Path], Mapping[str, Any]]
TASKS: Mapping[str, tuple[str, Task]] = {
    "simulate": ("simulate", simulated),
    "plan": ("plan", planned),
    "calibrate": ("calibrate", calibrated),
    "compare": ("compare", compared),
    "measure": ("measured", measured),
    "describe": ("workload.describe", described),
}
"""By kind: the command whose schema the answer has, and the function."""


def done(kind: str, ask: Mapping[str, Any], hub: bool, tell: Tell, out: Path) -> dict[str, Any]:
    """The answer to `ask`; further files go to `out`. Raises BideError."""
    command, task = TASKS[kind]
    return said(command, lambda: task(ask, hub, tell, out))
