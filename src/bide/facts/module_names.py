"""One spelling for the modules of a checkpoint, whoever wrote the name.

The same matrix is `model.layers.3.mlp.experts.7.up_proj` in one list,
`language_model.model.layers.3.block_sparse_moe.experts.7.w3` in the next, and part of
`...mlp.experts.gate_up_proj` in a third. `canonical` gives all of them one form, with the wrapper
before `layers` and the expert's number dropped; `parts` takes a fused name apart.
"""

from __future__ import annotations

import re

_WORDS = {
    "block_sparse_moe": "mlp",
    "feed_forward": "mlp",
    "ffn": "mlp",
    "attn": "self_attn",
    "attention": "self_attn",
    "shared_expert": "shared_experts",
    "router": "gate",
    "w1": "gate_proj",
    "w2": "down_proj",
    "w3": "up_proj",
    "head": "lm_head",
    "embed": "embed_tokens",
    "embed_in": "embed_tokens",
    "wte": "embed_tokens",
    "word_embeddings": "embed_tokens",
}
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b")
_WRAPPER = re.compile(r"^(?:(?:model|language_model|backbone|transformer|decoder|thinker|llm|text_model)\.)+")
_DRAFT = re.compile(r"\bmtp\.layers\b")
_EXPERT = re.compile(r"\bexperts\.\d+(?=\.|$)")

FUSED = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "qkv": ("q_proj", "k_proj", "v_proj"),
    "query_key_value": ("q_proj", "k_proj", "v_proj"),
    "c_attn": ("q_proj", "k_proj", "v_proj"),
    "W_pack": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
    "fused_qkv_a_proj": ("q_a_proj", "kv_a_proj_with_mqa"),
    "in_proj_qkvz": ("in_proj_qkv", "in_proj_z"),
    "in_proj_ba": ("in_proj_b", "in_proj_a"),
}
"""The modules that engines and some checkpoints fuse into one, by the fused name (vLLM `packed_modules_mapping`)."""


def canonical(name: str) -> str:
    """The one spelling of a module's name, or of a glob of names.

    >>> canonical("language_model.model.layers.3.block_sparse_moe.experts.7.w3")
    'layers.3.mlp.experts.up_proj'
    >>> canonical("model.layers.*.self_attn"), canonical("language_model.lm_head"), canonical("head")
    ('layers.*.self_attn', 'lm_head', 'lm_head')
    """
    bare = _DRAFT.sub("mtp", _WRAPPER.sub("", name))
    return _EXPERT.sub("experts", _WORD.sub(lambda match: _WORDS[match.group()], bare))


def parts(name: str) -> tuple[str, ...]:
    """The name itself and, where its last word is a fused one, those of what it was fused from.

    >>> parts("layers.0.mlp.gate_up_proj")
    ('layers.0.mlp.gate_up_proj', 'layers.0.mlp.gate_proj', 'layers.0.mlp.up_proj')
    """
    parent, _, leaf = name.rpartition(".")
    dot = "." if parent else ""
    return (name, *(f"{parent}{dot}{part}" for part in FUSED.get(leaf, ())))


def runs(name: str) -> list[str]:
    """Every run of whole words of a dotted name: itself, its parents, its endings and what lies between.

    >>> runs("a.b.c")
    ['a', 'a.b', 'a.b.c', 'b', 'b.c', 'c']
    """
    words = name.split(".")
    count = len(words)
    return [".".join(words[i:j]) for i in range(count) for j in range(i + 1, count + 1)]


def spellings(name: str) -> tuple[str, ...]:
    """How checkpoints may have written a module, for the regular expressions that cannot be respelled."""
    routed = tuple(name.replace(".mlp.", f".{word}.") for word in ("block_sparse_moe", "feed_forward"))
    return tuple(dict.fromkeys((name, f"language_model.{name}", *routed)))
