"""Compressed attention (DeepSeek V4): layers of several page sizes packed side by side in one block.

Specs as read in vLLM 0.33.0: models/deepseek_v4/{attention,compressor}.py, v1/attention/backends/mla/sparse_swa.py;
packing: v1/core/kv_cache_planning.py _get_packed_kv_cache_groups. Releases before 0.29 pad windows to the pages of
the full layers instead; their blocks are approximated by the same packing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain

from bide.facts.layers import CompressedAttention, KeyIndex, LayerGroup
from bide.physics.blocks.groups import Group
from bide.physics.blocks.specs import Layers, LayerSpec, Paging

_PAGE_ALIGNMENT_BYTES = 576
_WINDOW_BLOCK_TOKENS = 64
_FP32_BYTES = 4
_LATENT_DIM = 512
_INDEX_DIM = 128
_COMPRESSOR_BLOCK_TOKENS = {4: 4, 128: 8}
"""By tokens a state: chosen in the engine so that compressor pages match those of the states."""


def packed_groups(groups: tuple[LayerGroup, ...], paging: Paging) -> list[Group]:
    """The block tables of a model with compressed attention on one rank (everything is on every rank)."""
    layers = list(chain.from_iterable(_specs(group, paging) for group in groups))
    buckets = list(_buckets(layers).values())
    repeats = _repeats_per_group(buckets)
    return list(chain.from_iterable(_divided(bucket, repeats) for bucket in buckets))


def _specs(group: LayerGroup, paging: Paging) -> Iterable[Layers]:
    if isinstance(group, KeyIndex):
        page = _aligned(group.key_bytes * paging.block_tokens / group.tokens_per_key)
        yield Layers(LayerSpec("full", paging.block_tokens, page, ("index",)), group.layers)
        if group.tokens_per_key > 1:
            yield _compressor(group.layers, group.tokens_per_key, _INDEX_DIM)
    elif isinstance(group, CompressedAttention):
        yield from _compressed(group, paging)
    else:
        raise TypeError(type(group).__name__)


def _compressed(group: CompressedAttention, paging: Paging) -> Iterable[Layers]:
    """The raw window, the compressed states, and the compressor's own state of the last tokens."""
    page = _aligned(group.state_bytes * _WINDOW_BLOCK_TOKENS)
    yield Layers(LayerSpec("window", _WINDOW_BLOCK_TOKENS, page, ("raw",), group.window_tokens), group.layers)
    ratio = group.tokens_per_state
    if ratio:
        page = _aligned(group.state_bytes * paging.block_tokens / ratio)
        yield Layers(LayerSpec("full", paging.block_tokens, page, ("state", ratio)), group.layers)
        yield _compressor(group.layers, ratio, _LATENT_DIM)


def _compressor(layers: tuple[int, ...], ratio: int, dim: int) -> Layers:
    """fp32 keys and scores of the tokens not yet compressed; ratio 4 overlaps two windows."""
    overlap = 2 if ratio == 4 else 1
    block = _COMPRESSOR_BLOCK_TOKENS.get(ratio, ratio)
    page = _aligned(block * 2 * overlap * dim * _FP32_BYTES)
    return Layers(LayerSpec("window", block, page, ("compressor", dim), overlap * ratio), layers)


def _aligned(size_bytes: float) -> int:
    return -(-int(size_bytes) // _PAGE_ALIGNMENT_BYTES) * _PAGE_ALIGNMENT_BYTES


Bucket = list[Layers]
"""Layers that need the same slots."""


def _buckets(layers: Sequence[Layers]) -> dict[tuple[object, ...], Bucket]:
    buckets: defaultdict[tuple[object, ...], Bucket] = defaultdict(list)
    for entry in layers:
        buckets[entry.spec.family].append(entry)
    return buckets


def _counts(bucket: Bucket) -> list[int]:
    """Layers by page size."""
    counts: Counter[int] = Counter()
    for entry in bucket:
        counts[entry.spec.page_bytes] += len(entry.layers)
    return list(counts.values())


def _balanced(bucket: Bucket) -> bool:
    return len(set(_counts(bucket))) == 1


def _repeats_per_group(buckets: Sequence[Bucket]) -> int | None:
    """How often the pattern of page sizes repeats in a group: the number that pads least, at least the largest mix."""
    balanced = [bucket for bucket in buckets if _balanced(bucket)]
    least = max((_counts(bucket)[0] for bucket in balanced if len(_counts(bucket)) > 1), default=0)
    return _least_padding([_counts(bucket)[0] for bucket in balanced], least) if least else None


def _least_padding(values: Sequence[int], least: int) -> int:
    """The number >= `least` of which multiples cover `values` with the least excess; the largest of equals.

    >>> _least_padding([43, 21, 20], 21)
    22
    """
    candidates = range(least, max(*values, least) + 1)
    return min(candidates, key=lambda d: (sum(-value % d for value in values), -d))


def _divided(bucket: Bucket, repeats: int | None) -> list[Group]:
    """A balanced bucket in groups of at most `repeats` of its pattern; others whole."""
    number = -(-_counts(bucket)[0] // repeats) if repeats and _balanced(bucket) else 1
    return [Group(tuple(Layers(m.spec, m.layers[i::number]) for m in bucket)) for i in range(number)]
