"""The measurement that would narrow a plan most: one replica of what was chosen, at its share of the load."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bide.plan.option import Option
from bide.plan.question import Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PERCENTS = (50, 95)


def bench_command(question: Question, place: int, option: Option) -> str:
    """`bide bench` on a server of the chosen deployment. Its URL is for the reader to fill in.

    Of a disaggregated fleet on the smallest one, behind its router, at the rate that it works off half of.
    """
    rps = option.reading.requests_per_s
    if option.pools is not None:
        rps = min(option.pools.prompts_rps.mid, option.pools.answers_rps.mid) / 2
    rate = f"{rps:.3g}"
    model = option.candidate.deployment.model.name
    words = ["bide", "bench", "http://localhost:8000", "--model", model, "--rate", rate]
    return shlex.join([*words, *_load(question, place)])


def _load(question: Question, place: int) -> list[str]:
    """The file that the requests are from, where they are as in it; else lengths like theirs.

    A file of the kind that `observe` writes is no workload file: it is told where prompts share beginnings only. Paths
    are told from where the plan was asked for, as that of the service file is.
    """
    service, asked = question.services[place], _asked(question.given, place)
    if "trace" in asked and "scaled_to" not in asked:
        return ["--workload", str(Path(question.folder, str(asked["trace"])))]
    if "file" in asked and service.trace is not None:
        return ["--workload", str(Path(question.folder, str(asked["file"])))]
    work = service.workload
    return ["--prompt", _figures(work.prompt_tokens), "--answer", _figures(work.output_tokens)]


def _figures(tokens: NDArray[np.int64]) -> str:
    """`p50=900,p95=3800` as `bide bench` takes it, or the one length that all have."""
    import numpy as np

    if tokens.min() == tokens.max():
        return str(tokens[0])
    return ",".join(f"p{percent}={np.percentile(tokens, percent):.0f}" for percent in _PERCENTS)


def _asked(given: Mapping[str, object], place: int) -> Mapping[str, object]:
    """The service's `workload` in the file; empty where the question is from no file."""
    services = given.get("services")
    if not isinstance(services, Sequence) or place >= len(services):
        return {}
    workload = services[place].get("workload") if isinstance(services[place], Mapping) else None
    return workload if isinstance(workload, Mapping) else {}
