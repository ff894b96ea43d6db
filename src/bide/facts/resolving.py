"""A deployment from what people write: every key checked, every default filled in and named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bide.errors import BadInput, UnknownName, check_keys
from bide.facts.deployment import Deployment
from bide.facts.engine_defaults import (
    default_batched_tokens,
    default_block_size,
    default_prefix_caching,
    default_utilization,
)
from bide.facts.engines import Engine, engine
from bide.facts.fits import check_batch, check_fits, check_pool
from bide.facts.formats import WEIGHTS
from bide.facts.gpus import Gpu, find_gpu
from bide.facts.kv_formats import canonical_kv_dtype
from bide.facts.model import Model
from bide.i18n import _
from bide.sourced import Assumption
from bide.units import format_bytes, parse_bytes, parse_tokens

_RESULTS = ("assumptions", "warnings")
_OWN_TOOLS = ("fp8", "nvfp4")
"""Weights that TensorRT-LLM serves from checkpoints of NVIDIA's Model Optimizer."""
KEYS = (*(name for name in Deployment.__dataclass_fields__ if name not in _RESULTS), "engine_version", "speculative")
_LARGEST = 10**9
_LARGEST_POOL_BYTES = 2**50
"""Of one GPU: far above any card."""
_UNKNOWN_CONTEXT_TOKENS = 2048
"""What vLLM takes where a config states no length (config/model.py _get_and_verify_max_len)."""

T = TypeVar("T")


@dataclass(slots=True)
class _Given:
    """The keys that were given, and what had to be assumed for the others."""

    raw: Mapping[str, object]
    assumptions: list[Assumption] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def take(self, key: str, check: Callable[[str, object], T], default: T, why: str = "") -> T:
        """The checked value of `key`; where it is missing, `default`, listed as an assumption if there is a `why`."""
        value = self.raw.get(key)
        if value is not None:
            return check(key, value)
        if why:
            self.assumptions.append(Assumption(key, default, why))
        return default


def resolve(raw: Mapping[str, object], require_gpu: bool = True) -> Deployment:
    """See Deployment.resolve."""
    if not isinstance(raw, Mapping):
        raise BadInput("deployment", raw, _("an object with the deployment's keys"))
    check_keys(raw, KEYS, "deployment")
    given = _Given(raw)
    model = _model(raw.get("model"))
    gpu = _gpu(given, require_gpu)
    serving = _engine(given)
    tp, pp, dp, ep = (given.take(key, _whole(1, 4096), 1) for key in ("tp", "pp", "dp", "ep"))
    split = Deployment(model, gpu, serving, tp, pp, dp, ep)
    check_fits(split)
    deployment = _with_knobs(given, split)
    if raw.get("max_num_batched_tokens") is not None:
        check_batch(deployment)
    check_pool(deployment)
    return deployment


def _model(value: object) -> Model:
    if isinstance(value, Model):
        return value
    if not isinstance(value, str) or not value.strip():
        raise BadInput("model", value, _("a model's name, a directory or a config.json"))
    from bide.facts.models import load_model

    return load_model(value)


def _gpu(given: _Given, required: bool) -> Gpu | None:
    value = given.raw.get("gpu")
    if isinstance(value, Gpu):
        return value
    if value is not None:
        return find_gpu(value)
    if required and given.raw.get("pool_bytes_per_gpu") is None:
        hint = _("a GPU can be left out only where pool_bytes_per_gpu says how much it has for the cache")
        raise BadInput("gpu", None, _("a GPU of the catalogue (`bide gpus`)"), hint)
    return None


def _engine(given: _Given) -> Engine:
    version = given.raw.get("engine_version")
    if version is not None and not isinstance(version, str):
        raise BadInput("engine_version", version, _("a version such as 0.19.0"))
    serving = engine(given.take("engine", _text, "vllm", _("not given")), version)
    given.assumptions += serving.assumptions
    return serving


def _with_knobs(given: _Given, split: Deployment) -> Deployment:
    """`split` with the engine's knobs: given, or the defaults of the engine at its version on this GPU."""
    serving, model = split.engine, split.model
    tier = serving.batch_tier(*_card(split.gpu))
    at = _("default of {engine} {version}").format(engine=serving.name, version=serving.version_text)
    length = _max_model_len(given, split)
    chunked = given.take("enable_chunked_prefill", _flag, True)
    tokens = default_batched_tokens(split, tier, length)
    if not chunked and serving.name == "vllm":  # 0.33.0 engine/arg_utils.py: a prompt must fit into one step
        tokens = max(tokens, length)
    batched = given.take("max_num_batched_tokens", _tokens, tokens, at)
    seqs = given.take("max_num_seqs", _whole(1, 10**7), min(tier.max_num_seqs, batched), at)
    utilization = default_utilization(split, batched, seqs)
    typed = replace(split, kv_dtype=_cache_type(given, split))
    return Deployment(
        model=model,
        gpu=split.gpu,
        engine=serving,
        tp=split.tp,
        pp=split.pp,
        dp=split.dp,
        ep=split.ep,
        weights=given.take("weights", _weights, "auto"),
        kv_dtype=typed.kv_dtype,
        gpu_memory_utilization=given.take("gpu_memory_utilization", _share, utilization, at),
        max_model_len=length,
        max_num_seqs=seqs,
        max_num_batched_tokens=batched,
        block_size=given.take("block_size", _whole(1, 2**20), default_block_size(typed), at),
        enforce_eager=given.take("enforce_eager", _flag, False),
        enable_prefix_caching=given.take("enable_prefix_caching", _flag, default_prefix_caching(split), at),
        enable_chunked_prefill=chunked,
        speculative_tokens=_speculative(given),
        pool_bytes_per_gpu=given.take("pool_bytes_per_gpu", _pool_bytes, None),
        async_scheduling=given.take("async_scheduling", _flag, True),
        disable_hybrid_kv_cache_manager=given.take("disable_hybrid_kv_cache_manager", _flag, False),
        assumptions=tuple(given.assumptions),
        warnings=tuple(given.warnings),
    )


def _cache_type(given: _Given, split: Deployment) -> str:
    """As given; else what the engine's own tools make of the weights that are served."""
    asked, kind = given.take("kv_dtype", _kv_dtype, "auto"), split.engine.quantised_cache
    if asked != "auto" or kind is None or not _from_own_tools(split, given.raw.get("weights")):
        return asked
    why = _("what {engine}'s quantised checkpoints use; a config.json does not say it").format(engine=split.engine.name)
    given.assumptions.append(Assumption("kv_dtype", kind, why))
    return kind


def _from_own_tools(split: Deployment, weights: object) -> bool:
    """Whether the weights are fp8 or nvfp4 that the config does not know, or MXFP4 on a card that multiplies 4 bits."""
    own = split.model.quantisation
    if own is not None and any(kind.family == "mxfp4" for kind in own.formats):
        return split.gpu is not None and "fp4" in split.gpu.tflops and weights in (None, "auto", "mxfp4")
    return own is None and weights in _OWN_TOOLS


def _card(gpu: Gpu | None) -> tuple[int | None, tuple[str, ...]]:
    return (None, ()) if gpu is None else (gpu.memory_bytes, (gpu.id, gpu.name))


def _max_model_len(given: _Given, split: Deployment) -> int:
    """Given, or the model's own longest context; more than that is allowed, with a warning."""
    longest, original = split.model.max_context_tokens, split.model.original_context_tokens
    if longest is None:
        return given.take("max_model_len", _tokens, _UNKNOWN_CONTEXT_TOKENS, _("the model states no longest context"))
    usual, why = longest, _("the model's longest context")
    if original is not None and split.engine.starts_unstretched:
        usual = min(longest, original)
        why = _("{engine} starts with the context before longrope stretches it to {longest:,}")
        why = why.format(engine=split.engine.name, longest=longest)
    length = given.take("max_model_len", _tokens, usual, why)
    if length > longest:
        text = _("max_model_len {given:,} is above the {longest:,} tokens that the model was made for")
        given.warnings.append(text.format(given=length, longest=longest))
    return length


def _speculative(given: _Given) -> int:
    """Draft tokens a step, from `speculative_tokens` or its synonym `speculative` (a number or vLLM's object)."""
    value = given.raw.get("speculative")
    if value is None:
        return given.take("speculative_tokens", _whole(0, 1024), 0)
    if given.raw.get("speculative_tokens") is not None:
        raise BadInput("speculative", value, _("one of speculative and speculative_tokens, not both"))
    if isinstance(value, Mapping):
        value = value.get("num_speculative_tokens")
    return _whole(0, 1024)("speculative", value)


def _whole(low: int, high: int) -> Callable[[str, object], int]:
    """A check for a whole number from `low` to `high`, also as text."""

    def check(name: str, value: object) -> int:
        allowed = _("a whole number from {low:,} to {high:,}").format(low=low, high=high)
        number = value
        if isinstance(value, str) and len(value) <= 20:
            number = int(value) if value.strip().isdecimal() else value
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise BadInput(name, value, allowed)
        return number

    return check


def _tokens(name: str, value: object) -> int:
    tokens = parse_tokens(value, name)
    if tokens > _LARGEST:
        raise BadInput(name, value, _("at most {limit:,} tokens").format(limit=_LARGEST))
    return tokens


def _pool_bytes(name: str, value: object) -> int | None:
    size = parse_bytes(value, name)
    if size > _LARGEST_POOL_BYTES:
        raise BadInput(name, value, _("a size of at most {limit}").format(limit=format_bytes(_LARGEST_POOL_BYTES)))
    return size


def _share(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        raise BadInput(name, value, _("a share above 0 and up to 1, such as 0.9"))
    return float(value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadInput(name, value, _("true or false"))
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadInput(name, value, _("a name"))
    return value


def _weights(name: str, value: object) -> str:
    if value not in WEIGHTS or not isinstance(value, str):
        raise UnknownName(name, value, WEIGHTS, _("one of {names}").format(names=", ".join(WEIGHTS)))
    return value


def _kv_dtype(name: str, value: object) -> str:
    return canonical_kv_dtype(value)
