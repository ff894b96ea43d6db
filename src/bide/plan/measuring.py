"""The measurement that would narrow a plan most: one replica of what was chosen, at its share of the load."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from bide.plan.answer import Option
from bide.plan.question import Question


def bench_command(question: Question, place: int, option: Option) -> str:
    """`bide bench` on a server of the chosen deployment. Its URL is for the reader to fill in."""
    rate = f"{option.reading.requests_per_s:.3g}"
    model = option.candidate.deployment.model.name
    words = ["bide", "bench", "http://localhost:8000", "--model", model, "--rate", rate]
    source = _workload(question.given, place) or question.file
    return shlex.join([*words, "--workload", source] if source else words)


def _workload(given: Mapping[str, object], place: int) -> str:
    """The file that the service's requests are from; empty where they were described."""
    services = given.get("services")
    if not isinstance(services, Sequence) or place >= len(services):
        return ""
    workload = services[place].get("workload") if isinstance(services[place], Mapping) else None
    if not isinstance(workload, Mapping):
        return ""
    return str(workload.get("trace") or workload.get("file") or "")
