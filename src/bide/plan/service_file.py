"""A service file into a Question, every field checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.gpus import Gpu, find_gpu
from bide.facts.model import Model
from bide.facts.models import load_model
from bide.i18n import _
from bide.located import Located, read_yaml
from bide.metrics import ENOUGH_FOR_P99, LATENCIES
from bide.plan.question import Hardware, Limit, Measure, Question, Service, Traffic
from bide.sourced import Assumption
from bide.units import parse_seconds
from bide.workload.lengths import described_workload
from bide.workload.readers import read_trace
from bide.workload.requests import Workload

ENGINE_KEYS = (
    "engine",
    "engine_version",
    "weights",
    "kv_dtype",
    "gpu_memory_utilization",
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "block_size",
    "enforce_eager",
    "tp",
)
"""Deployment keys that a service may fix; the rest is the plan's to choose."""

Value = TypeVar("Value")
_LIMIT = re.compile(rf"({'|'.join(LATENCIES)})_(?:mean|p(\d{{1,2}}(?:\.\d+)?))")
_MAX_GPUS = 64


def read_question(path: Path) -> Question:
    """The question in a service file. Raises BadInput naming the field, its line and what is allowed."""
    root = read_yaml(path).mapping(("services", "hardware"), ("services", "hardware"))
    hardware, assumptions = _hardware(root["hardware"])
    services = tuple(_service(entry, path.parent) for entry in root["services"].items())
    names = [service.name for service in services]
    for entry, name in zip(root["services"].items(), names, strict=True):
        if names.count(name) > 1:
            raise BadInput(f"{entry.path}.name", name, _("a name of its own for each service"), entry.where)
    return Question(services, hardware, assumptions, path.name)


def _service(entry: Located, folder: Path) -> Service:
    required = ("name", "model", "workload", "traffic", "patience")
    keys = entry.mapping((*required, "deployment"), required)
    workload = _workload(keys["workload"], folder)
    model = _named(keys["model"], partial(_model, folder))
    return Service(
        keys["name"].text(),
        model,
        workload,
        _traffic(keys["traffic"]),
        _patience(keys["patience"], workload),
        _engine(keys.get("deployment"), model),
    )


def _model(folder: Path, name: str) -> Model:
    """A model by name, or by a path relative to the service file."""
    local = folder / name
    return load_model(str(local) if name.startswith(".") or local.exists() else name)


def _engine(entry: Located | None, model: Model) -> dict[str, object]:
    """The deployment keys, each checked by the deployment itself."""
    if entry is None:
        return {}
    keys = entry.mapping(ENGINE_KEYS)
    given = {key: item.plain() for key, item in keys.items()}
    try:
        Deployment.resolve({**given, "model": model}, require_gpu=False)
    except BadInput as error:
        item = keys.get(error.field, entry)
        raise BadInput(
            item.path, error.given, error.allowed, " ".join(filter(None, (error.hint, item.where)))
        ) from error
    return given


def _workload(entry: Located, folder: Path) -> Workload:
    keys = entry.mapping(("trace", "lengths", "source"))
    if ("trace" in keys) == ("lengths" in keys):
        raise entry.bad(_("either a trace or lengths"))
    work = _trace(keys["trace"], folder) if "trace" in keys else _lengths(keys["lengths"])
    if "source" not in keys:
        return work
    text = f"{work.source.text}: {keys['source'].text()}"
    return replace(work, source=replace(work.source, text=text))


def _trace(entry: Located, folder: Path) -> Workload:
    name = entry.text()
    return entry.at(lambda: read_trace(folder / name, entry.path))


def _lengths(lengths: Located) -> Workload:
    lengths.mapping(("prompt", "output"), ("prompt", "output"))
    return lengths.at(lambda: described_workload(lengths.plain(), lengths.path))


def _traffic(entry: Located) -> Traffic:
    keys = entry.mapping(("peak_rps", "margin"), ("peak_rps",))
    rate = keys["peak_rps"].number(_("requests per second, above 0 and up to 1,000,000"), 1e-6, 1e6)
    allowed = _("a factor from 1 to 10 on the peak")
    return Traffic(rate, keys["margin"].number(allowed, 1, 10) if "margin" in keys else 1.0)


def _patience(entry: Located, workload: Workload) -> tuple[Limit, ...]:
    allowed = _("ttft, tpot or e2e, then _mean or _p and a percentile from 1 to 99.9 (ttft_p95, tpot_p99, e2e_mean)")
    if not isinstance(entry.value, dict) or not entry.value:
        raise entry.bad(allowed)
    return tuple(_limit(key, item, workload, allowed) for key, item in entry.value.items())


def _limit(key: str, item: Located, workload: Workload, allowed: str) -> Limit:
    match = _LIMIT.fullmatch(key)
    percent = float(match[2]) if match and match[2] else None
    if match is None or (percent is not None and not 1 <= percent <= 99.9):
        raise BadInput(item.path, key, allowed, item.where)
    seconds = item.at(lambda: parse_seconds(item.value, item.path))
    if not 0 < seconds <= 86400:
        raise item.bad(_("a time above 0 and up to a day"))
    if percent is not None and percent >= 99 and len(workload) < ENOUGH_FOR_P99:
        hint = _("this workload has {rows}; ask for p95").format(rows=len(workload))
        raise item.bad(_("a p99 of at least {rows} requests").format(rows=ENOUGH_FOR_P99), hint)
    latency = next(latency for latency in LATENCIES if latency == match[1])
    return Limit(Measure(latency, percent), seconds)


def _hardware(entry: Located) -> tuple[Hardware, tuple[Assumption, ...]]:
    keys = entry.mapping(("gpus", "max_gpus", "prices"), ("gpus",))
    gpus = tuple(dict.fromkeys(_gpu(item).id for item in keys["gpus"].items()))
    assumptions: tuple[Assumption, ...] = ()
    max_gpus = _MAX_GPUS
    if "max_gpus" in keys:
        max_gpus = int(keys["max_gpus"].number(_("a whole number from 1 to 100,000"), 1, 100_000, whole=True))
    else:
        assumptions = (Assumption("max_gpus", _MAX_GPUS, _("not given")),)
    return Hardware(tuple(find_gpu(gpu) for gpu in gpus), max_gpus, _prices(keys.get("prices"), gpus)), assumptions


def _gpu(item: Located) -> Gpu:
    return _named(item, lambda name: find_gpu(name, item.path))


def _prices(entry: Located | None, gpus: tuple[str, ...]) -> dict[str, float]:
    prices: dict[str, float] = {}
    if entry is None:
        return prices
    if not isinstance(entry.value, dict):
        raise entry.bad(_("a mapping of GPUs to USD per GPU hour"))
    for key, item in entry.value.items():
        gpu = item.at(partial(find_gpu, key, item.path)).id
        if gpu not in gpus:
            raise BadInput(item.path, key, _("one of hardware.gpus: {gpus}").format(gpus=", ".join(gpus)), item.where)
        prices[gpu] = item.number(_("USD per GPU hour, above 0 and up to 10,000"), 1e-6, 10_000)
    return prices


def _named(item: Located, find: Callable[[str], Value]) -> Value:
    name = item.text()
    return item.at(lambda: find(name))
