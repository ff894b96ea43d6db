"""What lies on the card besides weights and cache: activations, runtime and CUDA graphs.

The shapes of the terms follow what vLLM runs when it profiles (a forward pass of `max_num_batched_tokens`, then a
sampling step of `max_num_seqs` requests: v1/worker/gpu_model_runner.py profile_run); their coefficients were fitted
to start-up logs and lie, with their spread and the logs, in `facts/data/engines/<engine>.json` under `memory`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from bide.facts.deployment import Deployment
from bide.facts.engines import MemoryRules
from bide.facts.formats import served_scheme
from bide.facts.model import Model
from bide.i18n import _
from bide.physics.model_runner import second_runner
from bide.physics.same import Same, kept
from bide.physics.towers import has_tower, tower_bytes
from bide.units import GIB

_ACTIVATION_BYTES = 2
"""Activations are kept in 16 bits."""
_PACKED_BITS = 8
"""Kernels for expert weights of fewer bits keep no workspace between steps."""
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
    """max(sampling + held hidden states, forward, tower) + what experts and encoders keep."""
    model = deployment.model
    batch_bytes = deployment.max_num_batched_tokens * _ACTIVATION_BYTES
    logits = deployment.max_num_seqs * model.vocab_size if samples else 0
    per_logit = _sampler_bytes_per_logit(deployment, rules)
    sampling = per_logit * logits + rules.held_hidden_copies * batch_bytes * model.hidden_size
    width = feed_forward_width(model) / deployment.tp + rules.forward_hidden_copies * model.hidden_size
    forward = batch_bytes * width
    workspace = rules.expert_workspace_copies * batch_bytes * _routed_width(deployment)
    held = rules.encoder_gib * GIB if has_tower(model) else 0.0
    held += rules.per_layer_copies * batch_bytes * per_layer_channels(model)
    text, tower = max(sampling, forward) + held, tower_bytes(deployment, rules)
    sigma = math.hypot(rules.activation_sigma * (text + workspace), rules.tower_sigma * tower * (tower > text / 2))
    how = _(
        "max(sampling {per_logit:g} B x {logits:,} logits + {copies:g} x {tokens:,} tokens x {hidden:,} hidden x 2 B, "
        "forward {tokens:,} tokens x {width:,.0f} channels x 2 B)"
    ).format(
        per_logit=per_logit,
        logits=logits,
        copies=rules.held_hidden_copies,
        tokens=deployment.max_num_batched_tokens,
        hidden=model.hidden_size,
        width=width,
    )
    if tower > text:
        how = _("{gib:.2f} GiB at the peak of the vision tower").format(gib=tower / GIB)
    elif held:
        text_held = _("{sum} + {gib:.2f} GiB of what encoders and embeddings of each layer gave")
        how = text_held.format(sum=how, gib=held / GIB)
    if workspace:
        how = _("{sum} + {gib:.2f} GiB of experts' workspace").format(sum=how, gib=workspace / GIB)
    return Term(max(text, tower) + workspace, sigma, how)


def _sampler_bytes_per_logit(deployment: Deployment, rules: MemoryRules) -> float:
    return rules.second_runner_bytes_per_logit if second_runner(deployment) else rules.sampler_bytes_per_logit


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
    if gpu is not None and gpu.unified_memory:  # what the operating system caches meanwhile counts as the engine's
        size += rules.runtime_unified_gib
        sigmas.append(rules.unified_sigma_gib)
    how = _("as in the logs of {ranks} ranks").format(ranks=ranks) if ranks > 1 else _("as in the logs")
    return Term(size * GIB, math.hypot(*sigmas) * GIB, how)


def _graphs(deployment: Deployment, rules: MemoryRules) -> Term:
    """The captured graphs: they grow with the layers, and with the batch sizes that are captured."""
    if deployment.enforce_eager:
        return Term(0.0, 0.0, "0")
    whole = rules.graph_gib + rules.graph_layer_gib * deployment.model.layer_count / deployment.pp
    whole += rules.graph_expert_gib * (deployment.model.moe is not None)
    batch_tokens = deployment.max_num_seqs * (1 + deployment.speculative_tokens)
    captured, most = capture_sizes(batch_tokens, _largest_capture(deployment)), capture_sizes(_LARGEST_CAPTURE)
    first = rules.graph_first_gib
    size = (first + (whole - first) * captured / most) * GIB
    how = _("{first:.2f} GiB + {rest:.2f} GiB x {captured} / {most} batch sizes")
    shown = how.format(first=first, rest=whole - first, captured=captured, most=most)
    return Term(size, rules.graph_sigma * size, shown)


def _largest_capture(deployment: Deployment) -> int:
    """The largest batch that is captured on the card: more on Blackwell of data centres."""
    capability = (deployment.gpu.compute_capability if deployment.gpu else None) or 0.0
    return deployment.engine.blackwell_capture if 10 <= capability < 11 else _LARGEST_CAPTURE


@lru_cache(maxsize=1024)
def capture_sizes(max_num_seqs: int, most: int = _LARGEST_CAPTURE) -> int:
    """How many batch sizes are captured: 1, 2, 4, every 8th to 256, every 16th to min(2 x max_num_seqs, `most`).

    vLLM 0.33.0 config/vllm.py _set_cudagraph_sizes.

    >>> capture_sizes(1024), capture_sizes(16), capture_sizes(1024, 1024)
    (51, 7, 83)
    """
    largest = min(2 * max_num_seqs, most)
    sizes = [1, 2, 4, *range(8, 256, 8), *range(256, most + 1, 16)]
    return max(1, len([size for size in sizes if size <= largest]))


def feed_forward_width(model: Model) -> int:
    """Channels of the widest feed-forward that a token passes: gate, up and their product."""
    return _width_of(Same(model))


def per_layer_channels(model: Model) -> int:
    """Channels of the embeddings that each layer gets of its own (Gemma 3n and 4), all layers together."""
    return _per_layer_channels(Same(model))


@kept(1024)
def _per_layer_channels(kept: Same[Model]) -> int:
    named = (tensor for tensor in kept.value.tensors if tensor.module.endswith("embed_tokens_per_layer"))
    return sum(tensor.cols for tensor in named)


def _routed_width(deployment: Deployment) -> int:
    """Channels of a token's copies on their way to its experts, where the kernels keep them."""
    model = deployment.model
    if model.moe is None:
        return 0
    scheme = served_scheme(model, deployment.weights)
    # a scheme without a default is one for the experts alone, which it packs
    packed = scheme is not None and (scheme.default is None or scheme.default.bits < _PACKED_BITS)
    return 0 if packed else model.moe.experts_per_token * model.hidden_size


@kept(1024)
def _width_of(kept: Same[Model]) -> int:
    model = kept.value
    dense: dict[str, int] = {}
    routed: dict[str, int] = {}
    for tensor in model.tensors:
        if tensor.part != "text" or tensor.split not in ("column", "experts"):
            continue
        kind = tensor.module.rsplit(".", 1)[-1]
        into = dense if tensor.component in ("mlp", "shared_experts") else routed
        if tensor.component in ("mlp", "shared_experts", "experts") and not kind.startswith("down"):
            into[kind] = max(into.get(kind, 0), tensor.rows)
    copies = model.moe.experts_per_token if model.moe else 1
    return max(_width(dense.values()), copies * _width(routed.values()))


def _width(rows: Iterable[int]) -> int:
    """The inputs of the activation, and its output."""
    inputs = list(rows)
    return sum(inputs) + max(inputs, default=0)
