"""How an engine divides tensors: pipeline stages, tensor and expert parallel shares.

Rules are those of vLLM 0.33 (`distributed/utils.py get_pp_indices`, `vocab_parallel_embedding`,
`linear.py`, `fused_moe`); where SGLang and TensorRT-LLM differ it is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bide.facts.model import Model
from bide.physics.weights import Stored, is_tied

VOCAB_PADDING = 64
"""Rows of the vocabulary are padded to a multiple of this before they are divided (vLLM, SGLang)."""


@dataclass(frozen=True, slots=True)
class Ways:
    """Into how many parts each kind of tensor is divided on one pipeline stage."""

    attention: int
    dense: int
    vocab: int
    head: int
    experts: int
    """GPUs over which whole experts are dealt."""
    expert_width: int
    """Parts of each expert's width."""


def ways(tp: int, dp: int, ep: int, *, dp_inside_tp: bool = False) -> Ways:
    """How an engine divides a stage.

    vLLM: replicas of attention for each of `dp`; the experts are spread over all tp x dp GPUs, whole
    with expert parallelism (`ep` above 1) and by width without. SGLang and TensorRT-LLM: dp lies
    inside tp and divides attention by tp / dp only; whole experts over `ep`, their width over tp / ep.
    """
    if dp_inside_tp:
        inner = max(1, tp // dp)
        return Ways(inner, tp, inner, tp, ep, max(1, tp // ep))
    every = tp * dp
    return Ways(tp, tp, tp, tp, every if ep > 1 else 1, 1 if ep > 1 else every)


def stage_layers(layers: int, pp: int) -> tuple[range, ...]:
    """The decoder layers of each pipeline stage: even, what is left over to the stages before the last.

    vLLM `get_pp_indices`: the last stage has the head, so the others take the remainder, from the
    last but one backwards.

    >>> [len(stage) for stage in stage_layers(61, 4)]
    [15, 15, 16, 15]
    """
    counts = [layers // pp] * pp
    for i in range(layers % pp):
        counts[-2 - i] += 1
    starts = [sum(counts[:i]) for i in range(pp)]
    return tuple(range(start, start + count) for start, count in zip(starts, counts, strict=True))


@dataclass(frozen=True, slots=True)
class Share:
    """One GPU's part of a stored tensor: `layers` times `copies` matrices of `rows x cols`."""

    stored: Stored
    layers: int
    copies: int
    rows: int
    cols: int

    @property
    def size_bytes(self) -> float:
        return self.layers * self.copies * self.stored.matrix_bytes(self.rows, self.cols)


def shares(
    model: Model, held: Iterable[Stored], split: Ways, stages: tuple[range, ...], stage: int
) -> tuple[Share, ...]:
    """What the fullest GPU of a `stage` holds of the `held` tensors."""
    counted = ((stored, _layers_on(model, stored, stages, stage)) for stored in held)
    return tuple(_share(stored, layers, split) for stored, layers in counted if layers)


def _layers_on(model: Model, stored: Stored, stages: tuple[range, ...], stage: int) -> int:
    """On how many layers of the stage the tensor is; 1 for one that is outside the layers and on this stage."""
    tensor, is_last = stored.tensor, stage == len(stages) - 1
    if tensor.part == "encoder":
        return max(1, len(stored.layers))  # every stage builds the encoders
    if tensor.part == "mtp":
        return max(1, len(stored.layers)) if is_last else 0
    if stored.layers:
        return sum(layer in stages[stage] for layer in stored.layers)
    if tensor.component == "embedding":
        return int(stage == 0 or (is_last and is_tied(model)))
    return int(is_last)


def _share(stored: Stored, layers: int, split: Ways) -> Share:
    tensor = stored.tensor
    rows, cols, copies = tensor.rows, tensor.cols, tensor.copies
    if tensor.split == "vocab":
        padded = _up(rows, VOCAB_PADDING)
        rows = -(-padded // (split.head if tensor.component == "lm_head" else split.vocab))
    elif tensor.split == "experts":
        rows, cols = _expert_shape(stored, split.expert_width)
        copies = -(-copies // split.experts)
    elif tensor.split != "none":
        parts = split.attention if tensor.component in ("attention", "indexer", "state") else split.dense
        parts = min(parts, tensor.shards or parts)
        rows, cols = (rows, -(-cols // parts)) if tensor.split == "row" else (-(-rows // parts), cols)
    return Share(stored, layers, copies, rows, cols)


def _expert_shape(stored: Stored, parts: int) -> tuple[int, int]:
    """Rows and columns of an expert's matrix when its width is divided; the kernels of MXFP4 pad both sides.

    vLLM's Marlin kernel rounds the hidden size up to 256 and the width on each GPU to 128
    (`mxfp4_round_up_hidden_size_and_intermediate_size`).
    """
    tensor = stored.tensor
    is_down = tensor.module.removesuffix(".bias").endswith("down_proj")
    if tensor.cols == 1:
        return tensor.rows if is_down else -(-tensor.rows // parts), 1
    hidden, width = (tensor.rows, tensor.cols) if is_down else (tensor.cols, tensor.rows)
    width = -(-width // parts)
    if stored.format is not None and stored.format.name == "mxfp4":
        hidden, width = _up(hidden, 256), _up(width, 128)
    return (hidden, width) if is_down else (width, hidden)


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
