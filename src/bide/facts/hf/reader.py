"""From a parsed config.json to a Model: find the text model, its family's reader, its type and its scheme."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from bide.errors import BadInput, UnknownArchitecture, nearest
from bide.facts.dtypes import DTYPES
from bide.facts.formats import named_scheme
from bide.facts.hf.assemble import Decoder, groups_of, mark, moe_of, tensors_of
from bide.facts.hf.decoder import original_context
from bide.facts.hf.fields import TEXT_KEYS, Fields
from bide.facts.hf.quantisation import read_kv_dtype, read_quantisation
from bide.facts.hf.rope import read_rope_tables
from bide.facts.hf.towers import Encoders, encoders, is_multimodal
from bide.facts.model import Model, Tensor
from bide.facts.quantisation import Quantisation
from bide.i18n import _
from bide.sourced import Source

Reader = Callable[[Fields], Decoder]
MAX_NESTING = 4
"""Published configs nest two deep (`thinker_config.text_config`)."""
READER_MODULES = ("dense", "classic", "experts", "uneven", "looped", "latent", "hybrid", "local")
"""Modules of this package with a `READERS` table of `model_type` -> reader; asked in this order."""


def from_config(
    config: Mapping[str, Any],
    name: str,
    *,
    quantisation_config: Mapping[str, Any] | None = None,
    source: Source | None = None,
) -> Model:
    """The Model that a parsed `config.json` describes.

    `quantisation_config` is modelopt's separate `hf_quant_config.json`, where there is one.
    Raises BadInput for a missing or impossible field and UnknownArchitecture for a model type
    that no reader knows.
    """
    text, where = _text_config(config)
    model_type, reader = _reader(config, text)
    fields = Fields(text, where, _class_defaults(config, text, model_type))
    decoder = reader(fields)
    encoded = _encoders(config, decoder.hidden)
    moe = moe_of(decoder.layers)
    scheme, scheme_notes = _scheme(config, quantisation_config, name, moe is not None)
    return Model(
        name=name,
        family=model_type,
        hidden_size=decoder.hidden,
        layer_count=len(decoder.layers),
        attention_heads=decoder.heads,
        vocab_size=decoder.vocab,
        dtype=_dtype(config, text),
        groups=groups_of(decoder.layers) + decoder.extra_groups,
        tensors=_tensors(decoder) + encoded.tensors,
        max_context_tokens=decoder.max_context_tokens,
        original_context_tokens=original_context(fields),
        moe=moe,
        quantisation=scheme,
        kv_dtype=read_kv_dtype(config, quantisation_config),
        draft_groups=groups_of(decoder.drafts, len(decoder.layers)),
        rope_tables=read_rope_tables(fields, groups_of(decoder.layers)),
        source=source or Source(_("config.json of {name}").format(name=name), kind="config"),
        notes=decoder.notes + encoded.notes + scheme_notes,
    )


def _scheme(
    config: Mapping[str, Any], separate: Mapping[str, Any] | None, name: str, moe: bool
) -> tuple[Quantisation | None, tuple[str, ...]]:
    """The checkpoint's scheme: stated, or the usual one of the word in its name, which is then said."""
    stated = read_quantisation(config, separate)
    named = named_scheme(name, moe=moe) if stated is None else None
    if named is None:
        return stated, ()
    note = _(
        "the name says {word} and the config states no quantisation (hf_quant_config.json may): the usual {word} "
        "scheme on every linear layer is assumed; --weights bf16 undoes it"
    )
    return named, (note.format(word=named.method),)


def _tensors(decoder: Decoder) -> tuple[Tensor, ...]:
    drafts = tensors_of(decoder.drafts, len(decoder.layers), "mtp") + mark(decoder.draft_shell, "mtp")
    return tensors_of(decoder.layers) + decoder.shell + drafts


def _text_config(config: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The text model's part; root keys that hold for it too are kept beneath its own."""
    if not isinstance(config, Mapping):
        raise BadInput("config.json", type(config).__name__, _("one JSON object"))
    text, where = config, "config.json"
    kept: dict[str, Any] = {}
    for _level in range(MAX_NESTING):
        key = next((key for key in TEXT_KEYS if isinstance(text.get(key), Mapping)), None)
        if key is None:
            Fields(text, where).text("model_type", default=None)
            return {**kept, **text}, where
        kept |= {k: text[k] for k in ("tie_word_embeddings",) if text.get(k) is not None}
        text, where = text[key], f"{where}.{key}"
    raise BadInput(where, _("text models within text models"), _("at most {n} levels").format(n=MAX_NESTING))


def _reader(config: Mapping[str, Any], text: Mapping[str, Any]) -> tuple[str, Reader]:
    """The reader by the text part's `model_type`, by the root's, or by the class names in `architectures`."""
    asked = [str(part.get("model_type") or "").lower() for part in (text, config)]
    for model_type in filter(None, asked):
        reader = _find(model_type)
        if reader:
            return model_type, reader
    for architecture in _architectures(text) + _architectures(config):
        found = _by_architecture(architecture)
        if found:
            return found, _readers()[found]
    raise _unknown(config, text)


def _architectures(part: Mapping[str, Any]) -> list[str]:
    """The first few class names that a config lists (published ones list one)."""
    given = part.get("architectures")
    return [name for name in given[:8] if isinstance(name, str)] if isinstance(given, list) else []


def known_types() -> list[str]:
    """Every `model_type` that can be read, by name."""
    return sorted(_readers())


def _find(model_type: str) -> Reader | None:
    return _readers().get(model_type)


_table: dict[str, Reader] = {}


def _readers() -> dict[str, Reader]:
    if not _table:
        found: dict[str, Reader] = {}
        for module in READER_MODULES:
            found.update(importlib.import_module(f"bide.facts.hf.{module}").READERS)
        _table.update(found)  # at once: another thread must not see some of them
    return _table


def _by_architecture(architecture: str) -> str | None:
    """`Qwen3MoeForCausalLM` -> `qwen3_moe`: compared without case, underscores and the `For...` suffix."""
    stem = architecture.split("For", maxsplit=1)[0].removesuffix("LMHeadModel").removesuffix("Model").lower()
    return next((t for t in _readers() if t.replace("_", "").removesuffix("text") == stem.replace("_", "")), None)


def _unknown(config: Mapping[str, Any], text: Mapping[str, Any]) -> UnknownArchitecture:
    given = text.get("model_type") or config.get("model_type") or config.get("architectures")
    known = _readers()
    near = nearest(str(given), known)
    hint = _("its cache and weights cannot be computed without a rule for it")
    if near:
        hint += "; " + _("the nearest known types: {names}").format(names=", ".join(near))
    allowed = _("one of the {count} model types that bide knows (`bide models --types`)").format(count=len(known))
    return UnknownArchitecture("config.json: model_type", given, allowed, hint)


def _dtype(config: Mapping[str, Any], text: Mapping[str, Any]) -> str:
    """bf16, fp16 or fp32; bf16 where nothing is stated (what engines serve published models in)."""
    for part in (text, config):
        for key in ("dtype", "torch_dtype"):
            given = part.get(key)
            if isinstance(given, str) and given.removeprefix("torch.") in DTYPES:
                return DTYPES[given.removeprefix("torch.")]
    return "bf16"


def _class_defaults(config: Mapping[str, Any], text: Mapping[str, Any], model_type: str) -> Mapping[str, Any]:
    """Nested text configs are saved as differences from their class: its defaults stand behind them."""
    if not any(isinstance(config.get(key), Mapping) for key in TEXT_KEYS):
        return {}
    from bide.facts.hf.defaults import class_defaults, text_class

    stated = text.get("model_type")
    return class_defaults(stated if isinstance(stated, str) else text_class(str(config.get("model_type")), model_type))


def _encoders(config: Mapping[str, Any], text_hidden: int) -> Encoders:
    return encoders(config, text_hidden) if is_multimodal(config) else Encoders()
