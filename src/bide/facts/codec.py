"""Models as compact JSON and back: the catalogue's own format.

A value becomes a list: its class (for a union member), then its fields in order, trailing
defaults dropped. Layer indices become ranges: `"0-31"`, `"3-47/4"` (every fourth), joined by commas.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from bide.facts.layers import LayerGroup
from bide.facts.model import Model, Moe, RopeTable, Tensor
from bide.facts.quantisation import Format, Quantisation, Rule
from bide.sourced import Source

_GROUPS = {cls.__name__: cls for cls in LayerGroup.__args__}
_PLAIN = (
    "family",
    "hidden_size",
    "layer_count",
    "attention_heads",
    "vocab_size",
    "dtype",
    "max_context_tokens",
    "original_context_tokens",
    "kv_dtype",
)


def encode(model: Model) -> dict[str, Any]:
    """The catalogue's entry for `model` (without its source, which the catalogue adds).

    >>> from bide.facts import layers as groups
    >>> small = Model("a/b", "llama", 64, 2, 4, 100, "bf16", (groups.FullAttention((0, 1), 2, 16, 16),), ())
    >>> encode(small)["groups"]
    [['FullAttention', '0-1', 2, 16, 16]]
    """
    entry = {key: value for key in _PLAIN if (value := getattr(model, key)) is not None}
    entry["groups"] = [[type(g).__name__, *_fields(g)] for g in model.groups]
    entry["tensors"] = [_fields(t) for t in model.tensors]
    optional = {
        "moe": _fields(model.moe) if model.moe else None,
        "draft_groups": [[type(g).__name__, *_fields(g)] for g in model.draft_groups],
        "quantisation": _encode_scheme(model.quantisation) if model.quantisation else None,
        "rope_tables": [_fields(t) for t in model.rope_tables],
        "notes": list(model.notes),
    }
    return entry | {key: value for key, value in optional.items() if value}


def decode(name: str, entry: Mapping[str, Any], source: Source) -> Model:
    """The Model of a catalogue entry."""
    scheme = entry.get("quantisation")
    return Model(
        name=name,
        **{key: entry[key] for key in _PLAIN if key in entry},
        groups=tuple(_group(g) for g in entry["groups"]),
        tensors=tuple(Tensor(*_restore(Tensor, t)) for t in entry["tensors"]),
        moe=Moe(*_restore(Moe, entry["moe"])) if "moe" in entry else None,
        draft_groups=tuple(_group(g) for g in entry.get("draft_groups", ())),
        quantisation=_decode_scheme(scheme) if scheme else None,
        rope_tables=tuple(RopeTable(*t) for t in entry.get("rope_tables", ())),
        source=source,
        notes=tuple(entry.get("notes", ())),
    )


def _group(encoded: Sequence[Any]) -> LayerGroup:
    cls = _GROUPS[encoded[0]]
    made: LayerGroup = cls(*_restore(cls, encoded[1:]))
    return made


def _fields(value: Any) -> list[Any]:
    """The fields in order, layer indices as ranges, trailing defaults dropped."""
    fields = dataclasses.fields(value)
    made = [to_ranges(v) if f.name == "layers" else v for f in fields for v in [getattr(value, f.name)]]
    while made and fields[len(made) - 1].default is not dataclasses.MISSING:
        field = fields[len(made) - 1]
        if getattr(value, field.name) != field.default:
            break
        made.pop()
    return made


def _restore(cls: type, encoded: Sequence[Any]) -> list[Any]:
    names = [f.name for f in dataclasses.fields(cls)]
    return [from_ranges(v) if name == "layers" else v for name, v in zip(names, encoded, strict=False)]


def _encode_scheme(scheme: Quantisation) -> dict[str, Any]:
    rules = [[r.pattern, _encode_format(r.format)] for r in scheme.rules]
    entry = {"method": scheme.method, "default": _encode_format(scheme.default), "rules": rules}
    return entry | {"parts": list(scheme.parts), "embeddings": scheme.embeddings}


def _encode_format(fmt: Format | None) -> list[Any] | None:
    return None if fmt is None else _fields(fmt)


def _decode_scheme(entry: Mapping[str, Any]) -> Quantisation:
    rules = tuple(Rule(pattern, _decode_format(fmt)) for pattern, fmt in entry["rules"])
    kept = {"parts": tuple(entry["parts"]), "embeddings": entry["embeddings"]} if "parts" in entry else {}
    return Quantisation(entry["method"], _decode_format(entry["default"]), rules, **kept)


def _decode_format(encoded: Sequence[Any] | None) -> Format | None:
    if encoded is None:
        return None
    fields: list[Any] = [tuple(v) if isinstance(v, list) else v for v in encoded]
    return Format(*fields)


def to_ranges(indices: Sequence[int]) -> str:
    """Indices as ranges with a step.

    >>> to_ranges((0, 1, 2, 3)), to_ranges((3, 7, 11)), to_ranges((0, 0, 1)), to_ranges((5,)), to_ranges(())
    ('0-3', '3-11/4', '0,0-1', '5', '')
    """
    parts, i = [], 0
    while i < len(indices):
        end = _run_end(indices, i)
        step = indices[i + 1] - indices[i] if end > i else 0
        parts.append(f"{indices[i]}" if end == i else f"{indices[i]}-{indices[end]}" + (f"/{step}" if step > 1 else ""))
        i = end + 1
    return ",".join(parts)


def _run_end(indices: Sequence[int], start: int) -> int:
    """The last index of the arithmetic run that begins at `start` (runs of two only where they are neighbours)."""
    if start + 1 >= len(indices) or indices[start + 1] <= indices[start]:
        return start
    step, end = indices[start + 1] - indices[start], start + 1
    while end + 1 < len(indices) and indices[end + 1] - indices[end] == step:
        end += 1
    return end if step == 1 or end - start > 1 else start


def from_ranges(text: str) -> tuple[int, ...]:
    """The inverse of `to_ranges`.

    >>> from_ranges("0,0-1"), from_ranges("3-11/4"), from_ranges("")
    ((0, 0, 1), (3, 7, 11), ())
    """
    made: list[int] = []
    for part in filter(None, text.split(",")):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        made.extend(range(int(first), int(last or first) + 1, int(step or 1)))
    return tuple(made)
