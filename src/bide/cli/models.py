"""`bide models`: the catalogue of models, searched, or one of them with its facts and their source."""

from __future__ import annotations

import click

from bide.cli.options import json_option
from bide.cli.output import print_json, print_table
from bide.facts.layers import LayerGroup
from bide.facts.model import Model
from bide.facts.models import Entry, catalogue, find, load_model, normalise, unknown
from bide.i18n import _
from bide.units import format_bytes


@click.command(help=_("The catalogue of models. NAME: one, with its facts and source; or text to search for."))
@click.argument("name", required=False)
@click.option("--types", is_flag=True, help=_("The model types (`model_type` of a config.json) that bide can read."))
@json_option
def command(name: str | None, types: bool, as_json: bool) -> None:
    """Print the catalogue, the entries that match, one model, or the readable types."""
    if types:
        _print_types(as_json)
    elif name is not None and find(name):
        _print_model(load_model(name), find(name), as_json)
    else:
        _print_entries(_search(name), as_json)


def _search(text: str | None) -> list[Entry]:
    if not text:
        return list(catalogue())
    found = [e for e in catalogue() if normalise(text) in " ".join((e.id, *e.aliases, e.family)).lower()]
    if not found:
        raise unknown(text)
    return found


def _print_types(as_json: bool) -> None:
    from bide.facts.hf.reader import known_types

    if as_json:
        print_json("models", {"types": known_types()})
    else:
        click.echo("\n".join(known_types()))


def _print_entries(entries: list[Entry], as_json: bool) -> None:
    if as_json:
        print_json("models", {"models": [_entry_dict(e) for e in entries]})
        return
    headers = ["id", _("type"), _("parameters"), _("KV per token"), _("context")]
    rows = [[e.id, e.family, _billions(e.parameters), format_bytes(e.kv_bytes_per_token), _context(e)] for e in entries]
    print_table(headers, rows, left=(0, 1), wrap=(0,), optional=(1,))
    click.echo("\n" + _("{count} models. `bide models NAME`: one, with its source.").format(count=len(entries)))


def _entry_dict(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "aliases": list(entry.aliases),
        "family": entry.family,
        "parameters": entry.parameters,
        "kv_bytes_per_token": entry.kv_bytes_per_token,
        "max_context_tokens": entry.max_context_tokens,
    }


def _billions(parameters: int) -> str:
    return f"{parameters / 1e9:,.2f} B"


def _context(entry: Entry) -> str:
    return f"{entry.max_context_tokens:,}" if entry.max_context_tokens else ""


def _print_model(model: Model, entry: Entry | None, as_json: bool) -> None:
    facts = _facts(model)
    if as_json:
        listed = _entry_dict(entry) if entry else {"id": model.name}
        layers = [_group_dict(group) for group in model.groups]
        print_json("models", {"models": [listed | facts | {"groups": layers}]})
        return
    rows = [[key.replace("_", " "), _value(value)] for key, value in facts.items() if value not in (None, [], 0)]
    rows += [[_("layers"), _group_text(group)] for group in model.groups]
    print_table([_("fact"), _("value")], rows, title=model.name, left=(0, 1), wrap=(1,))


def _value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "; ".join(value) if isinstance(value, list) else str(value)


def _facts(model: Model) -> dict[str, object]:
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


def _group_dict(group: LayerGroup) -> dict[str, object]:
    fields = {name: getattr(group, name) for name in group.__dataclass_fields__}
    return {"type": type(group).__name__, **fields, "layers": len(group.layers)}


def _group_text(group: LayerGroup) -> str:
    shown = {name: value for name, value in _group_dict(group).items() if name not in ("type", "layers")}
    known = {name.replace("_", " "): value for name, value in shown.items() if value not in (None, 0, False)}
    details = ", ".join(f"{name} {_value(value)}" for name, value in known.items())
    return f"{len(group.layers)} x {_words(type(group).__name__)}: {details}"


def _words(name: str) -> str:
    """`LatentAttention` -> `latent attention`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
