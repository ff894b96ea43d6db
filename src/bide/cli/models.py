"""`bide models`: the catalogue of models, searched, or one of them with its facts and their source."""

from __future__ import annotations

import click

from bide.cli.options import json_option
from bide.cli.output import print_json, print_table
from bide.facts.layers import LayerGroup
from bide.facts.model import Model
from bide.facts.models import Entry, find, load_model
from bide.i18n import _, ngettext, numeral
from bide.report.models_dict import group_dict, model_dict, model_facts, models_dict, models_found
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
        _print_entries(models_found(name), as_json)


def _print_types(as_json: bool) -> None:
    from bide.facts.hf.reader import known_types

    if as_json:
        print_json("models", {"types": known_types()})
    else:
        click.echo("\n".join(known_types()))


def _print_entries(entries: list[Entry], as_json: bool) -> None:
    if as_json:
        print_json("models", models_dict(entries))
        return
    headers = ["id", _("type"), _("parameters"), _("KV per token"), _("context")]
    rows = [[e.id, e.family, _billions(e.parameters), format_bytes(e.kv_bytes_per_token), _context(e)] for e in entries]
    print_table(headers, rows, left=(0, 1), wrap=(0,), optional=(1,))
    click.echo(
        "\n"
        + ngettext(
            "{count} model. `bide models NAME`: one, with its source.",
            "{count} models. `bide models NAME`: one, with its source.",
            len(entries),
        ).format(count=len(entries))
    )


def _billions(parameters: int) -> str:
    return f"{numeral(parameters / 1e9, ',.2f')} B"


def _context(entry: Entry) -> str:
    return numeral(entry.max_context_tokens, ",") if entry.max_context_tokens else ""


def _print_model(model: Model, entry: Entry | None, as_json: bool) -> None:
    if as_json:
        print_json("models", model_dict(model, entry))
        return
    facts = model_facts(model)
    names = _fact_names()
    rows = [[names[key], _value(value)] for key, value in facts.items() if value not in (None, [], 0)]
    rows += [[_("layers"), _group_text(group)] for group in model.groups]
    print_table([_("fact"), _("value")], rows, title=model.name, left=(0, 1), wrap=(1,))


def _fact_names() -> dict[str, str]:
    """The keys of `model_facts` in words."""
    return {
        "family": _("family"),
        "parameters": _("parameters"),
        "mtp_parameters": _("MTP parameters"),
        "hidden_size": _("hidden size"),
        "layer_count": _("layer count"),
        "attention_heads": _("attention heads"),
        "vocab_size": _("vocab size"),
        "experts": _("experts"),
        "dtype": _("dtype"),
        "quantisation": _("quantisation"),
        "max_context_tokens": _("max context tokens"),
        "source": _("source"),
        "notes": _("notes"),
    }


def _value(value: object) -> str:
    if isinstance(value, int):
        return numeral(value, ",")
    return "; ".join(value) if isinstance(value, list) else str(value)


def _group_text(group: LayerGroup) -> str:
    shown = {name: value for name, value in group_dict(group).items() if name not in ("type", "layers")}
    known = {name.replace("_", " "): value for name, value in shown.items() if value not in (None, 0, False)}
    details = ", ".join(f"{name} {_value(value)}" for name, value in known.items())
    return f"{len(group.layers)} x {_words(type(group).__name__)}: {details}"


def _words(name: str) -> str:
    """`LatentAttention` -> `latent attention`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
