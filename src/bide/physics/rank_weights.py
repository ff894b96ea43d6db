"""What each GPU holds of a model's weights after loading: its share of the tensors, and the engine's extras.

The sum is what vLLM logs as "Model loading took ... GiB": what PyTorch's allocator has handed out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bide.facts.model import Model, Tensor
from bide.facts.module_names import FUSED
from bide.facts.quantisation import Quantisation
from bide.i18n import _
from bide.physics.same import Same, kept
from bide.physics.shards import Share, shares, stage_layers, ways
from bide.physics.weights import Stored, active_fraction, is_read, stored_tensors
from bide.units import GIB, MIB

ROCM_BYTES = round(0.24 * GIB)
ROCM_EXPERT_BYTES = (round(0.12 * GIB), round(0.48 * GIB))
"""Measured, not explained: what ROCm builds of vLLM 0.11 to 0.13 log beyond these rules on R9700 GPUs. Dense models
0.24 GiB (gemma-3-27b at TP 2); models with routed experts a fixed part and one that TP divides: gpt-oss-20b 0.61 at
TP 1 and 0.38 at TP 2, a 4-bit Qwen3-30B-A3B 0.62 and 0.36 (kyuz0/amd-r9700-vllm-toolboxes, server logs)."""
FUSED_BY_PART = {part: fused for fused, made_of in reversed(FUSED.items()) for part in made_of}


ExtraKind = Literal["absorbed", "rope", "rounding", "rocm"]


@dataclass(frozen=True, slots=True)
class Extra:
    """Bytes on a GPU beyond the checkpoint's own tensors, and why."""

    kind: ExtraKind
    size_bytes: int

    @property
    def name(self) -> str:
        """What it is, in the chosen language."""
        return {
            "absorbed": _("MLA's absorbed copies of W_UK and W_UV, in bf16"),
            "rope": _("cosine and sine tables of rotary embeddings"),
            "rounding": _("ends of blocks that PyTorch's allocator rounds up"),
            "rocm": _("what ROCm builds add at loading"),
        }[self.kind]


@dataclass(frozen=True, slots=True)
class StageWeights:
    """The fullest GPU of one pipeline stage."""

    stage: int
    layers: range
    tensors_bytes: int
    extras: tuple[Extra, ...]
    dense_read_bytes: float
    """Read by every decode step."""
    expert_read_bytes: float
    """Held of routed experts; a step of few tokens reads a fraction of it."""
    draft_read_bytes: float
    """Read by each pass that drafts a token: one draft layer, and the head again."""
    draft_expert_read_bytes: float
    """Held of a draft layer's routed experts."""

    @property
    def size_bytes(self) -> int:
        return self.tensors_bytes + sum(extra.size_bytes for extra in self.extras)


@dataclass(frozen=True, slots=True)
class RankWeights:
    """What the GPUs of one replica hold. GPUs of a stage are alike; stages differ."""

    stages: tuple[StageWeights, ...]

    @property
    def first(self) -> StageWeights:
        """The stage of rank 0: whose figure engines print."""
        return self.stages[0]

    @property
    def worst(self) -> StageWeights:
        """The fullest stage: the one that decides how much cache there is room for."""
        return max(self.stages, key=lambda stage: stage.size_bytes)


@dataclass(frozen=True, slots=True)
class Layout:
    """What decides how weights lie on GPUs, apart from the model.

    `dp_inside_tp`: as in `Engine`. `speculative`: draft (MTP) layers are loaded too. `dtype`: of what is
    not quantised; engines load fp32 checkpoints as bf16 unless told otherwise, so None means at most two
    bytes. `vendor`: of the GPU, for what a build of the engine adds.
    """

    dp_inside_tp: bool = False
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    speculative: bool = False
    dtype: str | None = None
    vendor: str = "nvidia"


def rank_bytes(model: Model, quantisation: Quantisation | None, layout: Layout) -> RankWeights:
    """Bytes that each pipeline stage's GPUs hold after loading."""
    return _rank_bytes(Same(model), Same(quantisation), layout)


@kept(4096)
def _rank_bytes(kept: Same[Model], quantisation: Same[Quantisation | None], layout: Layout) -> RankWeights:
    model = kept.value
    dtype = layout.dtype or ("bf16" if model.dtype == "fp32" else model.dtype)
    split = ways(layout.tp, layout.dp, layout.ep, dp_inside_tp=layout.dp_inside_tp)
    stages = stage_layers(model.layer_count, layout.pp)
    held = [stored for stored in stored_tensors(model, quantisation.value, dtype) if _is_loaded(stored, layout)]
    made = ((i, shares(model, held, split, stages, i)) for i in range(layout.pp))
    return RankWeights(tuple(_stage(model, i, stages[i], mine, layout) for i, mine in made))


def _is_loaded(stored: Stored, layout: Layout) -> bool:
    """Draft layers only with speculation; on one stage they use the target's embedding and head."""
    tensor = stored.tensor
    if tensor.part != "mtp":
        return True
    return layout.speculative and (layout.pp > 1 or tensor.component not in ("embedding", "lm_head"))


def _stage(model: Model, index: int, layers: range, held: Sequence[Share], layout: Layout) -> StageWeights:
    read = [share for share in held if is_read(model, share.stored.tensor)]
    routed = [share for share in read if active_fraction(model, share.stored.tensor, 1) < 1]
    expert_read = sum(share.size_bytes for share in routed)
    return StageWeights(
        index,
        layers,
        round(sum(share.size_bytes for share in held)),
        tuple(extra for extra in _extras(model, held, layout) if extra.size_bytes),
        sum(share.size_bytes for share in read) - expert_read,
        expert_read,
        *_draft_reads(model, held),
    )


def _draft_reads(model: Model, held: Sequence[Share]) -> tuple[float, float]:
    """What a pass of one draft layer reads, its routed experts apart; the head is the model's own."""
    drafts = [share for share in held if share.stored.tensor.part == "mtp"]
    drafts = [share for share in drafts if share.stored.tensor.component not in ("embedding", "lm_head")]
    if not drafts or not model.draft_groups:
        return 0.0, 0.0
    layers = len({layer for group in model.draft_groups for layer in group.layers})
    routed = sum(share.size_bytes for share in drafts if active_fraction(model, share.stored.tensor, 1) < 1)
    dense = sum(share.size_bytes for share in drafts) - routed
    head = sum(share.size_bytes for share in held if _is_head(model, share.stored.tensor))
    return dense / layers + head, routed / layers


def _is_head(model: Model, tensor: Tensor) -> bool:
    """Whether `tensor` gives the logits: the head, or the embedding where it is both."""
    return tensor.component in ("lm_head", "embedding") and is_read(model, tensor)


def _extras(model: Model, held: Sequence[Share], layout: Layout) -> Iterable[Extra]:
    yield Extra("absorbed", _absorbed_bytes(held))
    yield Extra("rope", _rope_bytes(model))
    yield Extra("rounding", _rounding_bytes(held))
    yield Extra("rocm", _rocm_bytes(model, layout))


def _rocm_bytes(model: Model, layout: Layout) -> int:
    if layout.vendor.lower() != "amd":
        return 0
    if model.moe is None:
        return ROCM_BYTES
    fixed, divided = ROCM_EXPERT_BYTES
    return fixed + divided // layout.tp


def _absorbed_bytes(held: Sequence[Share]) -> int:
    """MLA keeps `kv_b_proj` and, split and transposed, a two-byte copy of it for decoding."""
    of = [share for share in held if share.stored.tensor.module.endswith("kv_b_proj")]
    return sum(share.layers * share.rows * share.cols * 2 for share in of)


def _rope_bytes(model: Model) -> int:
    """Two-byte tables, on every stage."""
    return sum(table.positions * table.dims * 2 for table in model.rope_tables)


def _rounding_bytes(held: Sequence[Share]) -> int:
    """What the allocator loses at the ends of large tensors, fused as the engine fuses them."""
    tensors: dict[tuple[str, int, tuple[int, ...]], list[float]] = {}
    for share in held:
        if share.cols == 1:
            continue
        bits = share.stored.format.bits if share.stored.format else 8 * share.stored.element_bytes
        parent, _dot, leaf = share.stored.tensor.module.rpartition(".")
        key = (f"{parent}.{FUSED_BY_PART.get(leaf, leaf)}", share.layers, share.stored.layers)
        tensors.setdefault(key, []).append(share.copies * share.rows * share.cols * bits / 8)
    return round(sum(layers * lost_bytes(sum(sizes)) for (_name, layers, _all), sizes in tensors.items()))


def lost_bytes(size_bytes: float) -> float:
    """Bytes that a tensor of `size_bytes` takes beyond its own in PyTorch's CUDA caching allocator.

    Requests of 10 MiB or more get a segment rounded up to 2 MiB; a rest of at most 1 MiB is not
    split off and counts as allocated (`CUDACachingAllocator.cpp`: kMinLargeAlloc, kRoundLarge,
    should_split). Smaller requests share segments, and lose little.

    >>> lost_bytes(259 * MIB) / MIB, lost_bytes(24.5 * MIB) / MIB, lost_bytes(9 * MIB)
    (1.0, 0.0, 0.0)
    """
    if size_bytes < 10 * MIB:
        return 0.0
    rest = -size_bytes % (2 * MIB)
    return rest if rest <= MIB else 0.0
