"""The tables of cosines and sines that engines build for rotary embeddings: small, except for very long contexts.

vLLM keeps one for each distinct set of rope parameters, for every position of the context and in
the model's type (`model_executor/layers/rotary_embedding`); Llama 4 Scout's takes 2.5 GiB.
"""

from __future__ import annotations

from collections.abc import Sequence

from bide.facts.hf.fields import Fields
from bide.facts.layers import ChunkedAttention, FullAttention, LatentAttention, LayerGroup, SlidingWindow
from bide.facts.model import RopeTable

WITHOUT = {"gpt2", "gpt_bigcode", "opt", "bloom", "mpt", "jamba", "whisper", "bamba_nope", "nemotron_h"}
"""Model types with learned, ALiBi or no positions."""
MULTIMODAL_FACTOR = 4
"""Multi-section rope (`mrope_section`) has tables of four times the positions, for videos (vLLM `MRotaryEmbedding`)."""


def read_rope_tables(f: Fields, groups: Sequence[LayerGroup]) -> tuple[RopeTable, ...]:
    """The distinct tables of a text model with these cache groups; empty where positions are not rotary."""
    longest: int | None = f.int("max_position_embeddings", "n_positions", "seq_length", "max_seq_len", default=None)
    if longest is None or f.values.get("model_type") in WITHOUT:
        return ()
    tables = [RopeTable(_positions(f, scaling, longest), dims) for scaling, dims in _uses(f, groups)]
    return tuple(dict.fromkeys(tables)) if not _has_local_base(f) else tuple(tables)


def _uses(f: Fields, groups: Sequence[LayerGroup]) -> list[tuple[Fields, int]]:
    """(scaling, rotated dimensions) for each kind of attention."""
    found: dict[tuple[bool, int], tuple[Fields, int]] = {}
    for group in groups:
        local = isinstance(group, SlidingWindow)
        scaling = _scaling(f, local)
        if isinstance(group, LatentAttention):
            found[False, group.rope_dim] = scaling, group.rope_dim
        elif isinstance(group, FullAttention | SlidingWindow | ChunkedAttention):
            found[local, group.head_dim_k] = scaling, _rotated(f, scaling, group.head_dim_k)
    return list(found.values())


def _scaling(f: Fields, local: bool) -> Fields:
    """`rope_parameters` (by layer type where nested) or `rope_scaling`; none for local layers with their own base."""
    key = "rope_parameters" if isinstance(f.raw("rope_parameters")[1], dict) else "rope_scaling"
    if not isinstance(f.raw(key)[1], dict):
        return Fields({}, f.where)
    whole = f.part(key)
    inner = "sliding_attention" if local else "full_attention"
    if isinstance(whole.raw(inner)[1], dict):
        return whole.part(inner)
    return Fields({}, f.where) if local and f.has("rope_local_base_freq") else whole


def _has_local_base(f: Fields) -> bool:
    parameters = f.raw("rope_parameters")[1]
    nested = isinstance(parameters, dict) and isinstance(parameters.get("sliding_attention"), dict)
    return nested or f.has("rope_local_base_freq")


def _rotated(f: Fields, scaling: Fields, head_dim: int) -> int:
    if scaling.raw("rope_type")[1] == "proportional":
        return head_dim
    if f.has("rotary_dim"):
        return int(f.int("rotary_dim"))
    keys = ("partial_rotary_factor", "rotary_pct", "rotary_percent", "rope_pct")
    fraction = scaling.number(*keys, default=None)
    return int(head_dim * (f.number(*keys, default=1.0) if fraction is None else fraction))


def _positions(f: Fields, scaling: Fields, longest: int) -> int:
    """Rows of the table: scaled from the length that the model was trained at, by the rule of each type."""
    kind = str(scaling.raw("rope_type", "type")[1] or "default")
    factor: float = scaling.number("factor", default=1.0)
    key = "original_max_position_embeddings"
    original: int = scaling.int(key, default=0, low=0) or f.int(key, default=longest)
    if scaling.has("mrope_section"):
        return longest * MULTIMODAL_FACTOR
    if kind in ("linear", "ntk"):
        return round(longest * factor)
    if kind in ("yarn", "deepseek_yarn"):
        return round(original * factor)
    return longest + original if kind in ("longrope", "su") else longest
