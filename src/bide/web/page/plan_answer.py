"""How many GPUs: the inputs of the form, and the question that they make."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bide.errors import BadInput
from bide.facts.engines import ENGINES
from bide.i18n import _
from bide.plan.question import Timed
from bide.web.jobs import Job
from bide.web.page import checks
from bide.web.page.deployment_form import CACHE, WEIGHTS, profile_ask
from bide.web.page.job_checks import identity
from bide.web.page.models import asked_model
from bide.web.page.state import Key
from bide.web.samples import samples

LATENCIES: tuple[Timed, ...] = ("e2e", "ttft", "tpot", "itl")
PERCENTILES = ("50", "90", "95", "99")
WORKLOADS = ("lengths", "sample", "trace")
SIZES = ("1", "2", "4", "8")
USUAL: Mapping[str, str] = {"e2e": "5", "ttft": "1", "tpot": "50", "itl": "50"}
"""Patience that a form begins with: seconds, of the last two milliseconds."""
PER_TOKEN = ("tpot", "itl")
MOST_GPUS = 4
_LONGEST_NAME = 60


def _name(text: str) -> str:
    if len(text.strip()) > _LONGEST_NAME:
        raise BadInput("service", text[:20], _("a name of at most {n} characters").format(n=_LONGEST_NAME))
    return text.strip()


KEYS = (
    Key("limit_on", "e2e", checks.one_of("limit_on", LATENCIES)),
    Key("percentile", "95", checks.one_of("percentile", PERCENTILES)),
    Key("patience", "5", checks.number("patience", 0.001, 86_400)),
    Key("peak_rps", "10", checks.number("peak_rps", 0.001, 1_000_000)),
    Key("margin", "1.5", checks.number("margin", 1, 10)),
    Key("work", "lengths", checks.one_of("work", WORKLOADS)),
    Key("prompt_p50", "1000", checks.tokens("prompt_p50")),
    Key("prompt_p95", "3500", checks.tokens("prompt_p95")),
    Key("output_p50", "130", checks.tokens("output_p50")),
    Key("output_p95", "500", checks.tokens("output_p95")),
    Key("sample", "azure-conv-2023", checks.one_of("sample", [each.name for each in samples()])),
    Key("trace", "", identity("trace")),
    Key("plan_gpus", "h100-sxm,l40s", checks.gpus("plan_gpus", MOST_GPUS)),
    Key("plan_tp", "", checks.some_of("plan_tp", SIZES)),
    Key("plan_weights", "", checks.some_of("plan_weights", WEIGHTS)),
    Key("plan_kv", "", checks.some_of("plan_kv", CACHE)),
    Key("engine", "vllm", checks.one_of("engine", ENGINES)),
    Key("max_gpus", "64", checks.whole("max_gpus", 1, 100_000)),
    Key("spare", "0", checks.whole("spare", 0, 1000)),
    Key("held", "", checks.number("held", 0, 86_400)),
    Key("service", "chat", _name),
    Key("planned", "", checks.one_of("planned", ("", "now"))),
)
ASKED = tuple(key.name for key in KEYS if key.name not in ("held", "planned"))
_FILES = ["html", "csv", "manifests", "view"]


def plan_ask(values: Mapping[str, str]) -> dict[str, Any]:
    """The body of a plan job."""
    service = {
        "name": values["service"],
        "model": asked_model(values),
        "workload": _workload(values),
        "traffic": {"peak_rps": float(values["peak_rps"]), "margin": float(values["margin"])},
        "patience": {measure(values): limit(values)},
        "deployment": _deployment(values),
    }
    hardware = {"gpus": values["plan_gpus"].split(","), "max_gpus": int(values["max_gpus"])}
    fleet = {"fleet": {"spare_replicas": int(values["spare"])}} if values["spare"] != "0" else {}
    return {"services": [service], "hardware": hardware, **fleet, **profile_ask(values), "files": _FILES}


def measure(values: Mapping[str, str]) -> str:
    """`e2e_p95`."""
    return f"{values['limit_on']}_p{values['percentile']}"


def limit(values: Mapping[str, str]) -> str:
    """`5s`, `50ms`."""
    return values["patience"] + ("ms" if values["limit_on"] in PER_TOKEN else "s")


def limit_s(values: Mapping[str, str]) -> float:
    """The same in seconds."""
    return float(values["patience"]) / (1e3 if values["limit_on"] in PER_TOKEN else 1)


def _workload(values: Mapping[str, str]) -> dict[str, Any]:
    if values["work"] == "sample":
        return {"trace": {"sample": values["sample"]}}
    if values["work"] == "trace" and values["trace"]:
        return {"trace": {"upload": values["trace"]}}
    return {
        "lengths": {
            side: {each: int(values[f"{side}_{each}"]) for each in ("p50", "p95")} for side in ("prompt", "output")
        }
    }


def _deployment(values: Mapping[str, str]) -> dict[str, Any]:
    """What is fixed, and lists of what the plan may pick from."""
    found: dict[str, Any] = {"engine": values["engine"]}
    if values["plan_tp"]:
        found["tp"] = [int(size) for size in values["plan_tp"].split(",")]
    for key, name in (("plan_weights", "weights"), ("plan_kv", "kv_dtype")):
        if values[key]:
            found[name] = values[key].split(",")
    return found


FIELDS: Mapping[str, str] = {"gpus": "plan_gpus", "tp": "plan_tp", "weights": "plan_weights", "kv_dtype": "plan_kv"}
"""What the plan calls what a control sets, where the names differ."""


def control_of(field: str, values: Mapping[str, str]) -> str:
    """The control that a field of the question is set by."""
    parts = [part.split("[")[0] for part in field.split(".")]
    last = parts[-1]
    if "lengths" in parts:
        side = next((part for part in parts if part in ("prompt", "output")), "prompt")
        return f"{side}_{last}" if last in ("p50", "p95") else f"{side}_p95"
    if "patience" in parts or last == measure(values):
        return "patience"
    if "workload" in parts:
        return "trace" if values["work"] == "trace" else "work"
    return FIELDS.get(last, last)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan that is done: what was asked, what is to be shown, and where its files are."""

    asked: Mapping[str, str]
    job: Job
    view: Mapping[str, Any]


def planned(asked: Mapping[str, str], job: Job) -> Planned:
    """From the files that the job left."""
    return Planned(asked, job, json.loads(job.files["view.json"].read_bytes()))


def held_place(frontier: Mapping[str, Any], held: str) -> int | None:
    """Which limit of the frontier is held: the one nearest to `held`, else the one that was asked for, or can be."""
    able = [place for place, found in enumerate(frontier["places"]) if found]
    if held:
        return min(able, key=lambda place: abs(frontier["seconds"][place] - float(held)))
    asked: int | None = frontier["asked"]
    return asked if asked in able else next(iter(able), None)


def with_handle(frontier: Mapping[str, Any], place: int) -> dict[str, Any]:
    """The chart with its handle at a limit."""
    spec: dict[str, Any] = frontier["spec"]
    return {**spec, "datasets": {**spec["datasets"], "h0": [frontier["places"][place]]}}


def patience_at(frontier: Mapping[str, Any], place: int, values: Mapping[str, str]) -> str:
    """A limit of the frontier as the form's own control has it."""
    seconds = frontier["seconds"][place]
    return f"{seconds * 1e3:.10g}" if values["limit_on"] in PER_TOKEN else f"{seconds:.10g}"
