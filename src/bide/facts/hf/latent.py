"""Decoders with latent attention (MLA), dense or sparse: DeepSeek, Kimi K2, GLM 5, LongCat and relatives.

Sources: transformers 5.24 `models/{deepseek_v2,deepseek_v3,deepseek_v32,glm_moe_dsa,glm4_moe_lite,
longcat_flash,minicpm3,mistral4,axk1,sarvam_mla}`, vLLM 0.33 `deepseek_v2.py`, `deepseek_mtp.py`, `openpangu.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.compressed import read_compressed
from bide.facts.hf.fields import Fields
from bide.facts.hf.mla_parts import Indexer, Latent
from bide.facts.hf.parts import Mlp, Moe, Norm, Piece, Vector
from bide.facts.model import Tensor

DRAFTS = ("num_nextn_predict_layers", "num_mtp_layers", "mtp_num_layers")


@dataclass(frozen=True, slots=True)
class LatentTraits:
    """What a class with latent attention does where its config is silent."""

    tied: bool = False
    router_bias: bool = True
    """The router has a correction bias per expert, unless `topk_method` says otherwise."""
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    expert_norm: str = ""
    """A norm after the routed experts, on layers that have them."""
    sparse: bool = False
    drafts_own_ends: bool = True
    """A draft layer brings its own embedding and head."""


def mla_sizes(f: Fields) -> d.Sizes:
    """The common sizes; a head's dimension is that of its query, wherever the config puts `head_dim`."""
    heads = f.int(*d.HEADS, high=10**5)
    query = f.int("qk_nope_head_dim") + f.int("qk_rope_head_dim")
    layers = f.int(*d.LAYER_COUNT, high=d.MAX_LAYERS)
    return d.Sizes(layers, f.int(*d.HIDDEN), heads, heads, query, f.int(*d.VOCAB))


def latent(f: Fields, sizes: d.Sizes, *, sparse: bool = False) -> Latent:
    """The attention that a config's MLA keys describe."""
    return Latent(
        sizes.hidden,
        sizes.heads,
        f.int("q_lora_rank", default=0, low=0),
        f.int("kv_lora_rank"),
        f.int("qk_nope_head_dim"),
        f.int("qk_rope_head_dim"),
        f.int("v_head_dim"),
        sparse=sparse,
        bias=f.flag("attention_bias"),
    )


def indexers(f: Fields, sizes: d.Sizes, sparse: bool) -> list[Indexer | None]:
    """The indexer of each layer; layers of type `shared` use that of the last `full` one (GLM 5.2)."""
    if not sparse:
        return [None] * sizes.layers
    made = Indexer(sizes.hidden, f.int("q_lora_rank"), f.int("index_n_heads"), f.int("index_head_dim"))
    kinds = f.list("indexer_types", length=sizes.layers)
    if kinds is not None:
        return [made if kind == "full" else None for kind in kinds]
    return [made if owns else None for owns in _own_indexer(f, sizes.layers)]


def _own_indexer(f: Fields, layers: int) -> list[bool]:
    """By `index_topk_pattern` (S: shared), or one in `index_topk_freq` (vLLM `deepseek_v2.py`)."""
    pattern = f.raw("index_topk_pattern")[1]
    if isinstance(pattern, str | list):
        return [i >= len(pattern) or pattern[i] != "S" for i in range(layers)]
    every = f.int("index_topk_freq", default=1)
    offset = f.int("index_skip_topk_offset", default=2, low=0)
    return [max(i - offset + 1, 0) % every == 0 for i in range(layers)]


def experts(f: Fields, traits: LatentTraits, hidden: int) -> Moe:
    """Routed experts with shared ones that every token passes through."""
    width = f.int("moe_intermediate_size", "expert_ffn_hidden_size")
    bias = f.text("topk_method", default="noaux_tc" if traits.router_bias else "greedy") == "noaux_tc"
    shared = f.int("n_shared_experts", "num_shared_experts", default=0, low=0)
    stated = f.int("moe_shared_expert_intermediate_size", default=width)
    count, chosen = f.int(*d.EXPERTS), f.int(*d.EXPERTS_PER_TOKEN)
    return Moe(hidden, count, chosen, width, shared_intermediate=shared * stated, router_bias=bias)


def read_latent(f: Fields, traits: LatentTraits) -> Decoder:
    """A decoder of MLA layers, the first `first_k_dense_replace` of them without experts."""
    sizes = mla_sizes(f)
    sparse = traits.sparse or f.has("index_topk")
    attention = latent(f, sizes, sparse=sparse)
    owned = indexers(f, sizes, sparse)
    routed = d.moe_layers(f, sizes.layers) if f.has(*d.EXPERTS) else [False] * sizes.layers
    layers = tuple(
        _norms(f, traits, sizes.hidden, routed[i])
        + (attention,)
        + ((index,) if (index := owned[i]) else ())
        + (experts(f, traits, sizes.hidden) if routed[i] else dense(f, sizes.hidden),)
        for i in range(sizes.layers)
    )
    tied = f.flag("tie_word_embeddings", default=traits.tied)
    made = Decoder(sizes.hidden, sizes.heads, sizes.vocab, layers, d.shell(sizes, tied), d.max_context(f))
    return with_drafts(f, made, traits.drafts_own_ends)


def dense(f: Fields, hidden: int) -> Mlp:
    return Mlp(hidden, f.int("ffn_hidden_size", *d.INTERMEDIATE))


def _norms(f: Fields, traits: LatentTraits, hidden: int, routed: bool) -> tuple[Piece, ...]:
    paths = traits.norms + (("pre_mlp_layernorm", "post_mlp_layernorm") if f.flag("sandwich_norm") else ())
    if traits.expert_norm and routed:
        paths += (traits.expert_norm,)
    return tuple(Norm(path, hidden) for path in paths)


def with_drafts(f: Fields, made: Decoder, own_ends: bool, layer: Layer | None = None) -> Decoder:
    """`made` with its multi-token-prediction layers: each one more layer behind a projection and norms.

    The projection joins the last hidden state with the next token's embedding; published
    checkpoints leave it unquantised. With `own_ends`, embedding and head are stored again.
    """
    count = f.int(*DRAFTS, default=0, low=0, high=d.MAX_LAYERS)
    if not count:
        return made
    joint = Vector("mlp", "eh_proj", 2 * made.hidden**2)
    joint_norms = tuple(Norm(path, made.hidden) for path in ("enorm", "hnorm", "shared_head.norm"))
    draft = (layer or draft_layer(made.layers)) + (joint, *joint_norms)
    first = len(made.layers)
    ends = [tensor for i in range(first, first + count) for tensor in draft_ends(made, i)] if own_ends else []
    return replace(made, drafts=(draft,) * count, draft_shell=tuple(ends))


def draft_layer(layers: tuple[Layer, ...]) -> Layer:
    """A draft layer is like the last one; where layers share indexers it brings its own (GLM 5's layer 78)."""
    last = layers[-1]
    index = next((piece for layer in layers for piece in layer if isinstance(piece, Indexer)), None)
    return last if index is None or index in last else (*last, index)


def draft_ends(made: Decoder, index: int) -> tuple[Tensor, Tensor]:
    """The embedding and head of draft layer `index`."""
    where = f"model.layers.{index}"
    return (
        Tensor("embedding", f"{where}.embed_tokens", made.vocab, made.hidden, split="vocab"),
        Tensor("lm_head", f"{where}.shared_head.head", made.vocab, made.hidden, split="vocab"),
    )


def read_longcat(f: Fields) -> Decoder:
    """LongCat-Flash: two attention and two dense parts in a layer, and experts beside the second pair.

    Zero-computation experts have a row in the router and no weights.
    """
    sizes = mla_sizes(f)
    attention, hidden = latent(f, sizes), sizes.hidden
    routed = replace(experts(f, LatentTraits(), hidden), router_bias=False)
    rows = routed.experts + f.int("zero_expert_num", default=0, low=0)
    layer: Layer = (routed, *_zero_expert_rows(hidden, routed.experts, rows))
    for i in range(2):
        layer += (replace(attention, path=f"self_attn.{i}"), replace(dense(f, hidden), path=f"mlps.{i}"))
        layer += (Norm(f"input_layernorm.{i}", hidden), Norm(f"post_attention_layernorm.{i}", hidden))
    shell = d.shell(sizes, f.flag("tie_word_embeddings"))
    made = Decoder(hidden, sizes.heads, sizes.vocab, (layer,) * sizes.layers, shell, d.max_context(f))
    return with_drafts(f, made, False, (attention, dense(f, hidden), *_pre_norms(hidden)))


def _zero_expert_rows(hidden: int, experts: int, rows: int) -> tuple[Piece, ...]:
    return (
        Vector("router", "mlp.router.zero_experts", (rows - experts) * hidden),
        Vector("router", "mlp.router.e_score_correction_bias", rows, dtype="fp32"),
    )


def _pre_norms(hidden: int) -> tuple[Piece, ...]:
    return Norm("input_layernorm", hidden), Norm("post_attention_layernorm", hidden)


FAMILIES: dict[str, LatentTraits] = {
    "deepseek_v2": LatentTraits(router_bias=False),
    "deepseek_v3": LatentTraits(),
    "kimi_k2": LatentTraits(),
    "deepseek_v32": LatentTraits(sparse=True),
    "glm_moe_dsa": LatentTraits(sparse=True),
    "glm4_moe_lite": LatentTraits(),
    "minicpm3": LatentTraits(tied=True),
    "mistral4": LatentTraits(router_bias=False),
    "axk1": LatentTraits(expert_norm="mlp.post_mlp_layernorm"),
    "sarvam_mla": LatentTraits(),
    "pangu_ultra_moe": LatentTraits(router_bias=False),
    "youtu": LatentTraits(),
}


def family(traits: LatentTraits) -> Callable[[Fields], Decoder]:
    """The reader of one family."""
    return lambda f: read_latent(f, traits)


READERS: dict[str, Callable[[Fields], Decoder]] = {
    **{model_type: family(traits) for model_type, traits in FAMILIES.items()},
    "longcat_flash": read_longcat,
    "deepseek_v4": read_compressed,
    "deepseek_ref": read_compressed,
}
READERS |= {
    "deepseek_vl_v2": READERS["deepseek_v2"],
    "mistral_large_3": READERS["deepseek_v3"],
    "mistral_small_4": READERS["mistral4"],
}
