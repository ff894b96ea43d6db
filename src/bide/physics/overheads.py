"""What lies on the card besides weights and cache: activations, runtime and CUDA graphs.

The shapes of the terms follow what vLLM runs when it profiles (a forward pass of `max_num_batched_tokens`, then a
sampling step of `max_num_seqs` requests: v1/worker/gpu_model_runner.py profile_run); their coefficients were fitted
to start-up logs and lie, with their spread and the logs, in `facts/data/engines/<engine>.json` under `memory`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from bide.facts.deployment import Deployment
from bide.facts.engines import MemoryRules
from bide.facts.model import Model
from bide.physics.weights import Same
from bide.units import GIB

_ACTIVATION_BYTES = 2
"""Activations are kept in 16 bits."""
_PACKED_EXPERTS = ("mxfp4", "nvfp4", "int4", "awq", "gptq", "bnb-nf4")
"""Expert weights whose kernels keep no workspace between steps."""
_LARGEST_CAPTURE = 512
_NVLINK = "nvlink"


@dataclass(frozen=True, slots=True)
class Term:
    """A part of the card with its standard deviation, and the arithmetic that gave it."""

    size_bytes: float
    sigma_bytes: float
    how: str


@dataclass(frozen=True, slots=True)
class Overheads:
    """The terms of one GPU."""

    activation: Term
    runtime: Term
    graphs: Term


def overheads(deployment: Deployment, samples: bool = True) -> Overheads:
    """Activation peak, runtime and CUDA graphs of one GPU of `deployment`.

    `samples` False: of a pipeline stage before the last, where no logits are computed.
    """
    rules = deployment.engine.memory
    activation = _activation(deployment, rules, samples)
    return Overheads(activation, _runtime(deployment, rules), _graphs(deployment, rules))


def _activation(deployment: Deployment, rules: MemoryRules, samples: bool) -> Term:
    """max(sampling + held hidden states, forward) + what experts and encoders keep."""
    model = deployment.model
    batch_bytes = deployment.max_num_batched_tokens * _ACTIVATION_BYTES
    logits = deployment.max_num_seqs * model.vocab_size if samples else 0
    sampling = rules.sampler_bytes_per_logit * logits + rules.held_hidden_copies * batch_bytes * model.hidden_size
    width = feed_forward_width(model) / deployment.tp + rules.forward_hidden_copies * model.hidden_size
    forward = batch_bytes * width
    workspace = rules.expert_workspace_copies * batch_bytes * _routed_width(deployment)
    encoder = _encoder_gib(model, rules) * GIB
    peak = max(sampling, forward)
    size = peak + workspace + encoder
    sigma = _quadrature(
        rules.activation_sigma * (peak + workspace),
        rules.encoder_sigma_gib / rules.encoder_gib * encoder,
    )
    how = (
        f"max({rules.sampler_bytes_per_logit:g} B x {logits:,} logits + "
        f"{rules.held_hidden_copies:g} x {deployment.max_num_batched_tokens:,} x {model.hidden_size:,} x 2 B, "
        f"{deployment.max_num_batched_tokens:,} x {width:,.0f} x 2 B)"
    )
    if workspace:
        how += f" + {workspace / GIB:.2f} GiB"
    if encoder:
        how += f" + {encoder / GIB:.2f} GiB"
    return Term(size, sigma, how)


def _encoder_gib(model: Model, rules: MemoryRules) -> float:
    if not has_encoder(model):
        return 0.0
    free_size = model.family.startswith(tuple(rules.free_size_families))
    return rules.free_size_encoder_gib if free_size else rules.encoder_gib


def _runtime(deployment: Deployment, rules: MemoryRules) -> Term:
    """The driver's and libraries' own, and the buffers through which ranks talk."""
    gpu, ranks = deployment.gpu, deployment.tp
    alone = ranks == 1 and deployment.pp > 1
    size, sigmas = rules.runtime_pipeline_gib if alone else rules.runtime_gib, [rules.runtime_sigma_gib]
    if gpu is not None and gpu.vendor == "amd":
        size += rules.runtime_amd_gib
    if ranks > 1:
        linked = gpu is None or gpu.link_kind.lower().startswith(_NVLINK)
        over_links = rules.runtime_linked_gib + rules.runtime_linked_per_rank_gib * ranks
        size += over_links if linked else rules.runtime_bus_gib
        sigmas.append(rules.linked_sigma_gib)
    if gpu is None or gpu.id not in rules.seen_gpus:
        sigmas.append(rules.unseen_gpu_sigma_gib)
    return Term(size * GIB, _quadrature(*sigmas) * GIB, f"{size:.2f} GiB")


def _graphs(deployment: Deployment, rules: MemoryRules) -> Term:
    """The captured graphs: they grow with the layers, and with the batch sizes that are captured."""
    if deployment.enforce_eager:
        return Term(0.0, 0.0, "0")
    whole = rules.graph_gib + rules.graph_layer_gib * deployment.model.layer_count / deployment.pp
    whole += rules.graph_expert_gib * (deployment.model.moe is not None)
    captured = capture_sizes(deployment.max_num_seqs * (1 + deployment.speculative_tokens))
    share = captured / capture_sizes(_LARGEST_CAPTURE)
    size = whole * share * GIB
    how = f"{whole:.2f} GiB x {captured} / {capture_sizes(_LARGEST_CAPTURE)}"
    return Term(size, rules.graph_sigma * size, how)


def capture_sizes(max_num_seqs: int) -> int:
    """How many batch sizes are captured: 1, 2, 4, every 8th to 256, every 16th to min(2 x max_num_seqs, 512).

    vLLM 0.33.0 config/vllm.py _set_cudagraph_sizes.

    >>> capture_sizes(1024), capture_sizes(16)
    (51, 7)
    """
    largest = min(2 * max_num_seqs, _LARGEST_CAPTURE)
    sizes = [1, 2, 4, *range(8, 256, 8), *range(256, _LARGEST_CAPTURE + 1, 16)]
    return max(1, len([size for size in sizes if size <= largest]))


def feed_forward_width(model: Model) -> int:
    """Channels of the widest feed-forward that a token passes: gate, up and their product."""
    return _widths(Same(model))[0]


def has_encoder(model: Model) -> bool:
    """Whether a vision or audio tower is loaded, which is profiled with the largest input."""
    return _widths(Same(model))[1]


def _routed_width(deployment: Deployment) -> int:
    """Channels of a token's copies on their way to its experts, where the kernels keep them."""
    model = deployment.model
    if model.moe is None or deployment.weights in _PACKED_EXPERTS:
        return 0
    if deployment.weights == "auto" and model.quantisation is not None:
        default = model.quantisation.default
        if default is None or default.bits < 8:  # experts are what such schemes pack
            return 0
    return model.moe.experts_per_token * model.hidden_size


@lru_cache(maxsize=1024)
def _widths(key: Same) -> tuple[int, bool]:
    model = key.value
    assert isinstance(model, Model)
    dense: dict[str, int] = {}
    routed: dict[str, int] = {}
    encoder = False
    for tensor in model.tensors:
        encoder = encoder or tensor.part == "encoder"
        if tensor.part != "text" or tensor.split not in ("column", "experts"):
            continue
        kind = tensor.module.rsplit(".", 1)[-1]
        into = dense if tensor.component in ("mlp", "shared_experts") else routed
        if tensor.component in ("mlp", "shared_experts", "experts") and not kind.startswith("down"):
            into[kind] = max(into.get(kind, 0), tensor.rows)
    copies = model.moe.experts_per_token if model.moe else 1
    return max(_width(dense.values()), copies * _width(routed.values())), encoder


def _width(rows: Iterable[int]) -> int:
    """The inputs of the activation, and its output."""
    inputs = list(rows)
    return sum(inputs) + max(inputs, default=0)


def _quadrature(*sigmas: float) -> float:
    return float(sum(sigma**2 for sigma in sigmas) ** 0.5)
