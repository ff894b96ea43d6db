"""The deployment that was measured: what the user says, then what the engine's log and the results themselves state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bide.bench.formats.values import Run
from bide.calibrate.logs import EngineLog
from bide.errors import BadInput, BideError
from bide.facts.deployment import Deployment
from bide.facts.layout import laid_out
from bide.facts.models import load_model
from bide.i18n import _

_FROM_LOG = (
    "tp",
    "pp",
    "dp",
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "gpu_memory_utilization",
    "kv_dtype",
    "enforce_eager",
    "enable_prefix_caching",
    "async_scheduling",
    "speculative_tokens",
)
_FROM_RESULTS = ("gpu", "tp", "pp", "dp", "ep", "engine", "engine_version", "weights", "kv_dtype")

Known = Callable[[str], bool]
"""Whether the name that a server answers to is that of a model we know."""


def loadable(name: str) -> bool:
    """A catalogue name, or a path or an id that can be read."""
    try:
        load_model(name)
    except BideError:
        return False
    return True


def stated_deployment(
    given: Mapping[str, Any], runs: Sequence[Run], log: EngineLog | None, known: Known = loadable
) -> Deployment:
    """The deployment of `given` keys; what they leave open is from the log, then from what all results state alike.

    Raises BadInput where nobody says the model or the GPU.
    """
    raw = _stated(runs, known)
    if log is not None:
        raw |= {"engine": log.engine, **({"engine_version": log.version} if log.version else {})}
        raw |= {key: value for key, value in log.settings.items() if key in _FROM_LOG}
        raw |= {"model": log.settings["model"]} if "model" in log.settings else {}
    raw |= given
    if raw.get("model") is None:
        raise BadInput("model", None, _("--model: what was served, as the catalogue or a config.json knows it"))
    if raw.get("gpu") is None:
        hint = _("--gpu unlisted with --step-law affine and a pool is for any other hardware")
        raise BadInput("gpu", None, _("--gpu: a GPU of the catalogue (`bide gpus`)"), hint)
    return Deployment.resolve(laid_out(raw), require_gpu=False)


def _stated(runs: Sequence[Run], known: Known) -> dict[str, Any]:
    """What all results that say it say alike; a served name counts as the model only where the catalogue knows it."""
    found: dict[str, Any] = {}
    for key in (*_FROM_RESULTS, "model"):
        values = {str(run.deployment[key]) for run in runs if run.deployment.get(key) is not None}
        if len(values) == 1:
            found[key] = values.pop()
    if "model" in found and not known(found["model"]):
        del found["model"]
    if "engine_version" in found and not found["engine_version"][:1].isdigit():
        del found["engine_version"]
    return found
