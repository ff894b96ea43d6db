"""The inputs that say what runs where, shared by all tabs: their keys, their controls, and the deployment they make."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bide.errors import BadInput, BideError
from bide.i18n import _
from bide.web.page import checks
from bide.web.page.controls import Options, button, grouped, select, text
from bide.web.page.job_checks import identity
from bide.web.page.markup import h
from bide.web.page.models import asked_model, model_of
from bide.web.page.state import Key, State
from bide.web.settings import Settings

WEIGHTS = ("bf16", "fp16", "fp8", "int8", "int4", "awq", "gptq", "nvfp4", "mxfp4")
CACHE = ("bf16", "fp16", "fp8")
PROFILE = Key("profile", "", identity("profile"))
"""A calibration of the visitor's own, by the number of its job."""
KEYS = (
    Key("model", "meta-llama/Llama-3.1-8B"),
    Key("config"),
    Key("gpu", "h100-sxm", checks.gpu("gpu")),
    Key("tp", "1", checks.whole("tp", 1, 64)),
    Key("weights", "auto", checks.one_of("weights", ("auto", *WEIGHTS))),
    Key("kv_dtype", "auto", checks.one_of("kv_dtype", ("auto", *CACHE))),
    Key("gpu_memory_utilization", "", checks.number("gpu_memory_utilization", 0.05, 1.0)),
    Key("max_model_len", "", checks.tokens("max_model_len")),
    PROFILE,
)
NAMES = tuple(key.name for key in KEYS)
_VENDORS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "google": "Google", "aws": "AWS", "apple": "Apple"}


def raw_deployment(values: Mapping[str, str], settings: Settings, **instead: object) -> dict[str, Any]:
    """The keys of a deployment. Raises BadInput for a model that cannot be had."""
    found: dict[str, Any] = {"model": model_of(values, settings), "gpu": values["gpu"], "tp": int(values["tp"])}
    return {**found, **_kept(values), **instead}


def deployment_ask(values: Mapping[str, str]) -> dict[str, Any]:
    """The same, as a request for a job has it."""
    found: dict[str, Any] = {"model": asked_model(values), "gpu": values["gpu"], "tp": int(values["tp"])}
    return found | _kept(values)


def _kept(values: Mapping[str, str]) -> dict[str, Any]:
    """What was set beside model, GPU and split."""
    found: dict[str, Any] = {key: values[key] for key in ("weights", "kv_dtype") if values[key] != "auto"}
    if values["gpu_memory_utilization"]:
        found["gpu_memory_utilization"] = float(values["gpu_memory_utilization"])
    if values["max_model_len"]:
        found["max_model_len"] = int(values["max_model_len"])
    return found


def gpu_groups() -> dict[str, Options]:
    """Every GPU by vendor, NVIDIA's first."""
    from bide.facts.gpus import all_gpus

    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in _VENDORS.values()}
    for gpu in all_gpus():
        name = gpu.name.removeprefix(_VENDORS.get(gpu.vendor, "")).strip()
        groups.setdefault(_VENDORS.get(gpu.vendor, gpu.vendor), []).append((gpu.id, name))
    return {name: options for name, options in groups.items() if options}


def gpu_select(state: State) -> Markup:
    return grouped(state, "gpu", _("GPU"), gpu_groups())


def split_and_formats(state: State) -> list[Markup]:
    """Tensor parallelism, weights and cache."""
    automatic = [("auto", _("as the checkpoint has it"))]
    return [
        select(state, "tp", _("Tensor parallel"), _sizes(state)),
        select(state, "weights", _("Weights"), automatic + [(name, name) for name in WEIGHTS]),
        select(state, "kv_dtype", _("KV cache"), automatic + [(name, name) for name in CACHE]),
    ]


def _sizes(state: State) -> Options:
    sizes = {1, 2, 4, 8, 16, 32}
    if state["tp"].isdigit():
        sizes.add(int(state["tp"]))
    return [(str(size), "1 GPU" if size == 1 else f"{size} GPU") for size in sorted(sizes)]


def knobs(state: State) -> list[Markup]:
    """What the engine may take, and the longest request."""
    return [
        text(
            state,
            "gpu_memory_utilization",
            _("Share of the card"),
            hint=_("gpu_memory_utilization; empty: the engine's default"),
            inputmode="decimal",
            placeholder="0.92",
        ),
        text(
            state,
            "max_model_len",
            _("Longest context"),
            hint=_("max_model_len; empty: the model's own, such as 8k"),
            placeholder="8k",
        ),
    ]


def profile_ask(values: Mapping[str, str]) -> dict[str, Any]:
    """The visitor's own profile, as a request for a job names it."""
    return {"profile": {"job": values["profile"]}} if values["profile"] else {}


def profile_path(values: Mapping[str, str], server: Any) -> Path | None:
    """Its file. Raises BadInput where the server has it no more."""
    if not values["profile"]:
        return None
    try:
        found: Path = server.file("job", values["profile"])
    except BideError as error:
        raise BadInput("profile", None, _("a calibration that this server still has"), str(error)) from None
    return found


def profile_note(state: State) -> Markup | None:
    """That the visitor's own step times are in use, and the way back."""
    if not state["profile"]:
        return None
    back = button(_("Use bide's own"), "forget-profile", class_="link")
    return h("p", _("With the step times of your own measurements."), " ", back, class_="hint in-use")
