"""What weights and cache types ask of a command: an option, another checkpoint, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bide.facts.deployment import Deployment
from bide.facts.formats import UNQUANTISED
from bide.i18n import _
from bide.plan.serving.command import Draft

TORCH_NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}

_MADE_WHILE_LOADING = {"fp8": "fp8", "bnb-nf4": "bitsandbytes"}
"""vLLM's and SGLang's --quantization for weights that they quantise themselves from an unquantised checkpoint."""

Weights = Literal["as they are", "cast", "made while loading", "another checkpoint"]


def weights_of(deployment: Deployment) -> Weights:
    """Where the planned weights come from, given the checkpoint that is named."""
    asked, own = deployment.weights, deployment.model.quantisation
    if asked == "auto":
        return "as they are"
    if asked in UNQUANTISED:
        if own is not None:
            return "another checkpoint"
        return "as they are" if asked == deployment.model.dtype else "cast"
    if own is not None:
        same = any(_family(asked) in kind.name.split("-") for kind in own.formats)
        return "as they are" if same else "another checkpoint"
    return "made while loading" if asked in _MADE_WHILE_LOADING else "another checkpoint"


def _family(weights: str) -> str:
    return weights.partition("-")[0]


def give_weights(draft: Draft, deployment: Deployment) -> None:
    """The options of vLLM and SGLang for the planned weights."""
    kind = weights_of(deployment)
    if kind == "cast":
        draft.give("--dtype", TORCH_NAMES[deployment.weights])
    elif kind == "made while loading":
        draft.give("--quantization", _MADE_WHILE_LOADING[deployment.weights], _other_checkpoint(deployment))
    elif kind == "another checkpoint":
        draft.remarks.append(_other_checkpoint(deployment))


def remark_on_weights(draft: Draft, deployment: Deployment) -> None:
    """For an engine that serves checkpoints as they are."""
    if weights_of(deployment) != "as they are":
        draft.remarks.append(_other_checkpoint(deployment))


def _other_checkpoint(deployment: Deployment) -> str:
    return _("{weights} weights were planned: name a checkpoint of {model} that has them.").format(
        weights=deployment.weights, model=deployment.model.name
    )


def give_cache_type(draft: Draft, deployment: Deployment, name: str, spellings: Mapping[str, tuple[str, ...]]) -> None:
    """The cache's type where it was planned; nothing where it is the model's own."""
    kind = deployment.kv_dtype
    own = deployment.model.kv_dtype or deployment.model.dtype
    if kind in ("auto", own):
        return
    words = spellings.get(kind, (kind,))
    known = [word for word in words if draft.line.takes(name, word)]
    draft.give(name, (known or [words[0]])[0], _("The plan's cache is {kind}.").format(kind=kind))
