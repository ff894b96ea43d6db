"""A deployment lowered to what one of its GPUs reads and computes in a step."""

from __future__ import annotations

from bide.errors import CannotBeMet
from bide.facts.deployment import Deployment
from bide.facts.formats import served_scheme
from bide.facts.gpus import Gpu
from bide.facts.layers import ChunkedAttention, FullAttention, LatentAttention, SlidingWindow
from bide.facts.model import Model
from bide.facts.quantisation import Quantisation
from bide.i18n import _
from bide.physics.pool import deployment_weights
from bide.physics.steptime import StepWork
from bide.physics.weights import active_parameters

_ACTIVATION_BYTES = 2
_SUMS_PER_LAYER = 2
"""All-reduces of tensor parallelism: after attention and after the MLP."""
_MLA_KEY_SHARE = 0.5
"""Prefill expands a latent of 512 into heads with keys of 128 + rope and values of 128: DeepSeek-V2's and V3's shapes,
so that keys and values together have half the latent's width, plus the rope part."""


def step_work(deployment: Deployment) -> StepWork:
    """Bytes, operations and peaks for one GPU of a replica, pipeline stages apart.

    Operations are two for each parameter that a token passes through. Raises CannotBeMet where the
    deployment names no GPU or the catalogue has no 16-bit peak for it.
    """
    model, gpu, tp = deployment.model, deployment.gpu, deployment.tp
    if gpu is None:
        raise CannotBeMet(_("step times need a GPU"))
    quantisation = served_scheme(model, deployment.weights)
    stages = deployment_weights(deployment).stages
    head = model.hidden_size * model.vocab_size
    moe = model.moe
    return StepWork(
        dense_bytes=sum(stage.dense_read_bytes for stage in stages),
        expert_bytes=sum(stage.expert_read_bytes for stage in stages),
        experts=moe.experts if moe else 0,
        experts_per_token=moe.experts_per_token if moe else 0,
        flops_per_token=(2 * (active_parameters(model) - head) + _window_flops(model)) / tp,
        flops_per_sequence=2 * head / tp,
        flops_per_pair=_pair_flops(model) / tp,
        layers=model.layer_count,
        link_bytes_per_token=_link_bytes(model, tp),
        bandwidth_bytes_per_s=gpu.bandwidth_bytes_per_s,
        peak_flops=_peak_flops(gpu, quantisation),
        link_bytes_per_s=gpu.link_bytes_per_s,
    )


def _pair_flops(model: Model) -> float:
    """Scores and weighted values for one pair of tokens: 2 x (K dim + V dim) for each query head and full layer."""
    total = 0.0
    for group in model.groups:
        if isinstance(group, FullAttention):
            total += 2.0 * (group.head_dim_k + group.head_dim_v) * len(group.layers)
        elif isinstance(group, LatentAttention):
            total += 2.0 * (_MLA_KEY_SHARE * group.latent_dim + group.rope_dim) * len(group.layers)
    return total * model.attention_heads


def _window_flops(model: Model) -> float:
    """The same for layers that see a window or a chunk: for each token a whole window, which is the most there is."""
    total = 0.0
    for group in model.groups:
        if isinstance(group, SlidingWindow | ChunkedAttention):
            seen = group.window_tokens if isinstance(group, SlidingWindow) else group.chunk_tokens / 2
            total += 2.0 * (group.head_dim_k + group.head_dim_v) * len(group.layers) * seen
    return total * model.attention_heads


def _link_bytes(model: Model, tp: int) -> float:
    """What a GPU sends for each token: a ring all-reduce moves 2 (tp - 1) / tp of the data."""
    data = _SUMS_PER_LAYER * model.layer_count * model.hidden_size * _ACTIVATION_BYTES
    return data * 2 * (tp - 1) / tp


def _peak_flops(gpu: Gpu, quantisation: Quantisation | None) -> float:
    """The dense peak of the type that the matrices are multiplied in; 16 bits where only the weights are smaller."""
    kinds = {"fp8": "fp8", "mxfp8": "fp8", "int8": "int8", "nvfp4": "fp4"}
    default = quantisation.default if quantisation else None
    kind = kinds.get(default.family, "bf16") if default else "bf16"
    peak = gpu.tflops.get(kind) or gpu.tflops.get("bf16") or gpu.tflops.get("fp16")
    if peak is None:
        raise CannotBeMet(_("no dense 16-bit peak is known for {gpu}, so no step times").format(gpu=gpu.id))
    return peak * 1e12
