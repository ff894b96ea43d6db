"""The catalogue of models, searched, and as plain values: the keys of `bide models --json`."""

from __future__ import annotations

from collections.abc import Iterable

from bide.facts.layers import LayerGroup
from bide.facts.model import Model
from bide.facts.models import Entry, catalogue, normalise, unknown


def models_found(text: str | None = None) -> list[Entry]:
    """Entries with `text` in their id, an alias or their family; all without. Raises UnknownName for none."""
    if not text:
        return list(catalogue())
    found = [e for e in catalogue() if normalise(text) in " ".join((e.id, *e.aliases, e.family)).lower()]
    if not found:
        raise unknown(text)
    return found


def models_dict(entries: Iterable[Entry]) -> dict[str, object]:
    """A line of the catalogue each."""
    return {"models": [_entry_dict(entry) for entry in entries]}


def model_dict(model: Model, entry: Entry | None) -> dict[str, object]:
    """One model with its facts and its layers."""
    listed = _entry_dict(entry) if entry else {"id": model.name}
    return {"models": [listed | model_facts(model) | {"groups": [group_dict(group) for group in model.groups]}]}


def _entry_dict(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "aliases": list(entry.aliases),
        "family": entry.family,
        "parameters": entry.parameters,
        "kv_bytes_per_token": entry.kv_bytes_per_token,
        "max_context_tokens": entry.max_context_tokens,
    }


def model_facts(model: Model) -> dict[str, object]:
    """What there is to say of a model as a whole; `parameters` without its drafting layers."""
    drafts = sum(tensor.parameters for tensor in model.tensors if tensor.part == "mtp")
    return {
        "family": model.family,
        "parameters": model.parameters - drafts,
        "mtp_parameters": drafts,
        "hidden_size": model.hidden_size,
        "layer_count": model.layer_count,
        "attention_heads": model.attention_heads,
        "vocab_size": model.vocab_size,
        "experts": f"{model.moe.experts_per_token} of {model.moe.experts}" if model.moe else None,
        "dtype": model.dtype,
        "quantisation": model.quantisation.method if model.quantisation else None,
        "max_context_tokens": model.max_context_tokens,
        "source": str(model.source),
        "notes": list(model.notes),
    }


def group_dict(group: LayerGroup) -> dict[str, object]:
    """A layer group with its type and its number of layers."""
    fields = {name: getattr(group, name) for name in group.__dataclass_fields__}
    return {"type": type(group).__name__, **fields, "layers": len(group.layers)}
