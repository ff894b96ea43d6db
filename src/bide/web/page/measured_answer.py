"""Measured: what a visitor sent, and the questions to the jobs that read it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bide.errors import BadInput
from bide.facts.gpus import find_gpu
from bide.facts.models import find
from bide.web.job import Job
from bide.web.page import checks
from bide.web.page.deployment_form import CACHE, WEIGHTS, deployment_ask, profile_ask
from bide.web.page.job_checks import identities, identity
from bide.web.page.state import Key

MOST_FILES = 20
KEYS = (
    Key("results", "", identities("results", MOST_FILES)),
    Key("log", "", identity("log")),
    Key("compared", "0", checks.whole("compared", 0, MOST_FILES - 1)),
    Key("step_law", "roofline", checks.one_of("step_law", ("roofline", "affine"))),
)


@dataclass(frozen=True, slots=True)
class Read:
    """A job that is done, and what is to be shown of it."""

    job: Job
    view: Mapping[str, Any]


def read(job: Job) -> Read:
    """From the file that the job left."""
    return Read(job, json.loads(job.files["view.json"].read_bytes()))


def results_of(values: Mapping[str, str]) -> list[dict[str, str]]:
    """The files that were sent, as a request names them."""
    return [{"upload": number} for number in values["results"].split(",") if number]


def measure_ask(values: Mapping[str, str]) -> dict[str, Any]:
    return {"results": results_of(values), "files": ["view"]}


def compare_ask(values: Mapping[str, str]) -> dict[str, Any]:
    """One of the files beside the prediction for the deployment of the form."""
    files = results_of(values)
    chosen = files[min(int(values["compared"]), len(files) - 1)]
    return {
        "a": chosen,
        "deployment": deployment_ask(values),
        **profile_ask(values),
        "files": ["view", "html", "csv"],
    }


def calibrate_ask(values: Mapping[str, str]) -> dict[str, Any]:
    """All of the files, and an engine's log where one was sent."""
    log = {"log": {"upload": values["log"]}} if values["log"] else {}
    return {
        "results": results_of(values),
        **log,
        "deployment": deployment_ask(values),
        "step_law": values["step_law"],
        "files": ["view", "html", "csv"],
    }


def stated(runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Of the form's inputs those that all results state alike and that the form can hold."""
    found: dict[str, str] = {}
    for key in ("model", "gpu", "tp", "weights", "kv_dtype"):
        said = {str(run["deployment"][key]) for run in runs if run["deployment"].get(key) is not None}
        if len(said) == 1:
            found |= dict(_held(key, said.pop()))
    return found


def _held(key: str, value: str) -> Iterator[tuple[str, str]]:
    allowed = {"weights": WEIGHTS, "kv_dtype": CACHE}
    if key == "model":
        entry = find(value)
        if entry is not None:
            yield key, entry.id
    elif key == "gpu":
        try:
            yield key, find_gpu(value, key).id
        except BadInput:
            return
    elif key == "tp":
        if value.isdigit():
            yield key, value
    elif value in allowed[key]:
        yield key, value
