"""A deployment in the kernel database's names: system, backend, parallel sizes and types; or why it has none."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

from bide.facts.deployment import Deployment
from bide.facts.formats import served_scheme
from bide.facts.kv_formats import kv_format
from bide.facts.model import Component, Model
from bide.i18n import _
from bide.physics.measured.hf_config import config_of, installed
from bide.physics.same import Same, kept
from bide.physics.weights import stored_tensors

Lack = Literal["extra", "gpu", "engine", "model", "weights", "cache", "layout", "data"]
"""What keeps a deployment from being covered; `data`: all names are known, and no such kernel was measured."""
_LINEAR: tuple[Component, ...] = ("attention", "mlp", "shared_experts", "state")
_EXPERTS: tuple[Component, ...] = ("experts",)


@dataclass(frozen=True, slots=True)
class Uncovered:
    """The database has nothing for a deployment: what is lacking, and a sentence about it."""

    lack: Lack
    reason: str


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of the database, in its own names; hashable."""

    config: str
    """A Hugging Face config.json."""
    system: str
    backend: str
    tp: int
    pp: int
    attention_dp: int
    moe_tp: int
    moe_ep: int
    linear: str
    experts: str
    cache: str
    attention: str


def queries(deployment: Deployment, *, corrected: bool = True) -> tuple[Query, ...] | Uncovered:
    """What to ask for `deployment`, the nearest to what it runs first; Uncovered where no name fits.

    `corrected`: other kernels stand in for those whose times are launches (`instead` in the data file).
    """
    facts = names()
    gpu = deployment.gpu.id if deployment.gpu else _("an unnamed GPU")
    system = facts["systems"].get(gpu)
    if system is None:
        return Uncovered("gpu", _("no kernels were measured on {gpu}").format(gpu=gpu))
    unusual = _unusual(deployment)
    if unusual:
        return Uncovered("engine", unusual)
    config = _config_text(Same(deployment.model))
    if config is None:
        return _without_config(deployment.model)
    kv = kv_format(deployment.kv_dtype, deployment.model).name
    if kv not in facts["cache"]:
        return Uncovered("cache", _("no attention was measured with a cache of {kind}").format(kind=kv))
    moe = _expert_layout(deployment)
    if moe is None:
        return Uncovered("layout", _("ep must divide the GPUs of a stage evenly"))
    types = _types(deployment, system, corrected)
    if isinstance(types, Uncovered):
        return types
    attention = facts["attention"][deployment.engine.name][kv]
    shape = (deployment.attention_tp, deployment.pp, deployment.dp, *moe)
    return tuple(
        Query(config, system, deployment.engine.name, *shape, linear, experts, facts["cache"][kv], fmha)
        for (linear, experts), fmha in product(types, attention)
    )


@lru_cache(maxsize=1)
def names() -> dict[str, Any]:
    """`data/measured.json`: bide's names to the database's, with source and date."""
    path = Path(__file__).parent.with_name("data") / "measured.json"
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return facts


def _unusual(deployment: Deployment) -> str | None:
    """What the measured kernels leave out of a step of this deployment."""
    if deployment.enforce_eager:
        return _("kernels were measured without the gaps between launches that eager mode has")
    if deployment.speculative_tokens:
        return _("no draft model's kernels were measured")
    return None


def _without_config(model: Model) -> Uncovered:
    if model.family in names()["families"] and not installed():
        return not_installed()
    text = _("no kernels stand for the layers of {model} ({family})")
    return Uncovered("model", text.format(model=model.name, family=model.family))


def not_installed() -> Uncovered:
    return Uncovered("extra", _("the kernel database is not installed: install bide[measured]"))


def _expert_layout(deployment: Deployment) -> tuple[int, int] | None:
    """Tensor and expert parallel sizes of the experts; their product is the GPUs of a stage (1, 1: no experts)."""
    if deployment.model.moe is None:
        return (1, 1)
    width = deployment.attention_tp * deployment.dp
    return (width // deployment.ep, deployment.ep) if width % deployment.ep == 0 else None


def _types(deployment: Deployment, system: str, corrected: bool) -> tuple[tuple[str, str], ...] | Uncovered:
    """Pairs of types for the linear layers and for the experts, the nearest first."""
    model = Same(deployment.model)
    linear, experts = (_storage(model, deployment.weights, parts) for parts in (_LINEAR, _EXPERTS))
    found = (_linear_types(linear, deployment.engine.name, corrected), _expert_types(experts, system))
    for storage, measured in zip((linear, experts), found, strict=True):
        if not measured:
            return Uncovered("weights", _("no layers were measured with weights of {kind}").format(kind=storage))
    return tuple(product(*found))


def _linear_types(storage: str, engine: str, corrected: bool) -> list[str]:
    facts = names()
    by_engine = facts["linear_by_engine"].get(engine, {})
    types: list[str] = by_engine.get(storage) or facts["linear"].get(storage, [])
    instead = facts["instead"].get(engine, {}) if corrected else {}
    return [better for name in types for better in instead.get(name, [name])]


def _expert_types(storage: str, system: str) -> list[str]:
    facts = names()
    weight_only = storage == "mxfp4" and system not in facts["native_fp4"]
    types: list[str] = facts["mxfp4_without_native_fp4"] if weight_only else facts["experts"].get(storage, [])
    return types


@kept(1024)
def _storage(model: Same[Model], weights: str, components: tuple[Component, ...]) -> str:
    """How most of the components' parameters are stored: a format's name, or `plain`."""
    sizes: dict[str, int] = {}
    for stored in stored_tensors(model.value, served_scheme(model.value, weights)):
        tensor = stored.tensor
        if tensor.component in components and tensor.part == "text" and tensor.cols > 1:
            name = stored.format.name if stored.format else "plain"
            sizes[name] = sizes.get(name, 0) + stored.count * tensor.rows * tensor.cols
    return max(sizes, key=lambda name: sizes[name], default="plain")


@kept(1024)
def _config_text(model: Same[Model]) -> str | None:
    """The model as a config.json; None where the database has no such architecture."""
    config = config_of(model.value, names()["families"].get(model.value.family, ()))
    return json.dumps(config) if config else None
