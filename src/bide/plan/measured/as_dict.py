"""A benchmark that stands for a replica, as JSON."""

from __future__ import annotations

from typing import Any

from bide.plan.measured.levels import levels_of
from bide.plan.question import MeasuredReplica


def measured_dict(measured: MeasuredReplica) -> dict[str, Any]:
    """The files, and the loads that the replica bore."""
    return {
        "results": list(measured.files),
        "loads": [
            {
                "requests_per_s": level.requests_per_s,
                "running_requests": level.running,
                "completed_requests": level.run.completed,
            }
            for level in levels_of(measured.runs)
        ],
    }
