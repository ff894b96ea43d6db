"""Families with routed experts on plain attention: rows of traits, and readers for what a row cannot say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder
from bide.facts.hf.dense import family, finish, layer, norms, read, shared_width
from bide.facts.hf.families import QKV_FLAG, USE_BIAS, output_gate
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Layers, Moe, Piece, Vector, linear, name
from bide.facts.hf.traits import (
    POST_ONLY,
    PRE,
    Drafts,
    Traits,
    all_but_each,
    all_but_first_of,
    even_layers,
    from_max_window_layers,
    no_layers,
)
from bide.facts.layers import FullAttention, LayerGroup
from bide.facts.model import Tensor

AROUND_MLP = (*PRE, "pre_mlp_layernorm", "post_mlp_layernorm")
GRANITE = Traits(experts=True, moe_path="block_sparse_moe", router="router.layer")
GLM_DRAFTS = Drafts(own_embedding=True, own_head=True)
EXAONE_DRAFTS = Drafts(projection="fc", norms=("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"), dense=True)
HUNYUAN_DRAFTS = Drafts(norms=("enorm", "hnorm", "final_layernorm"))
ERNIE_DRAFTS = Drafts(projection="mtp_linear_proj", norms=("mtp_emb_norm", "mtp_hidden_norm"), dense=True)
EXPERT_BIAS_KEYS = ("moe_router_enable_expert_bias",)


def flint_windows(f: Fields, layers: int) -> list[bool]:
    """Global: the first two, every fourth and the last."""
    return [not (i < 2 or i % 4 == 1 or i == layers - 1) for i in range(layers)]


FAMILIES: dict[str, Traits] = {
    "mixtral": Traits(experts=True, moe_path="block_sparse_moe"),
    "qwen2_moe": Traits(
        bias="qkv",
        bias_keys=(("qkv_bias", "qkv"),),
        window=from_max_window_layers,
        experts=True,
        shared_gate=True,
        shared_path="shared_expert",
    ),
    "qwen3_moe": Traits(qk_norm="head", window=from_max_window_layers, experts=True),
    "olmoe": Traits(qk_norm="full", experts=True),
    "flex_olmo": Traits(norms=POST_ONLY, qk_norm="full", experts=True),
    "granitemoe": GRANITE,
    "granitemoe_swa": replace(GRANITE, sinks=True, window=all_but_first_of(4)),
    "phimoe": Traits(norm_bias=True, experts=True, moe_path="block_sparse_moe"),
    "minimax_m2": Traits(
        qk_norm="full",
        qk_norm_keys=("use_qk_norm",),
        qk_norm_default=True,
        experts=True,
        moe_path="block_sparse_moe",
        router_bias_keys=("use_routing_bias",),
    ),
    "gpt_oss": Traits(
        bias="qkvo",
        window=even_layers,
        sinks=True,
        experts=True,
        expert_bias=True,
        router="router",
        router_bias=True,
        router_bias_dtype=None,
    ),
    "glm4_moe": Traits(
        bias_keys=QKV_FLAG,
        qk_norm="head",
        qk_norm_keys=("use_qk_norm",),
        experts=True,
        router_bias=True,
        drafts=GLM_DRAFTS,
    ),
    "deepseek": Traits(experts=True),
    "dots1": Traits(qk_norm="head", window=from_max_window_layers, experts=True, router_bias=True),
    "afmoe": Traits(
        norms=AROUND_MLP,
        qk_norm="head",
        window=all_but_each(4),
        experts=True,
        router="router.gate",
        router_bias=True,
        extras=output_gate("self_attn.gate_proj"),
    ),
    "exaone_moe": Traits(
        qk_norm="head",
        bias_keys=(),
        window=all_but_each(4),
        experts=True,
        router_bias=True,
        drafts=EXAONE_DRAFTS,
    ),
    "hy_v3": Traits(qk_norm="head", experts=True, router_bias=True, drafts=HUNYUAN_DRAFTS),
    "solar_open": Traits(bias_keys=QKV_FLAG, experts=True, router_bias=True),
    "sarvam_moe": Traits(
        bias_keys=(*USE_BIAS, *QKV_FLAG, ("use_qkv_bias", "qkv")),
        qk_norm="head",
        qk_norm_keys=("use_qk_norm",),
        qk_norm_default=True,
        experts=True,
        router_bias=True,
        router_bias_keys=EXPERT_BIAS_KEYS,
    ),
    "param2moe": Traits(
        bias_keys=(("use_bias", "o"), ("use_qkv_bias", "qkv")),
        mlp_bias_keys=(),
        qk_norm="head",
        qk_norm_keys=("use_qk_norm",),
        experts=True,
        router_bias=True,
        router_bias_keys=EXPERT_BIAS_KEYS,
    ),
    "mellum": Traits(qk_norm="head", window=no_layers, experts=True),
    "flint": Traits(qk_norm="head", sinks=True, window=flint_windows, experts=True, shared_path="shared_expert"),
    "kolibri1": Traits(
        norms=(*PRE, "post_self_attn_layernorm", "post_mlp_layernorm"),
        qk_norm="head",
        window=all_but_each(5),
        experts=True,
    ),
    "aria_text": Traits(experts=True, router="router"),
    "cohere2_moe": Traits(
        tied=True,
        norms=("input_layernorm",),
        window=all_but_each(4),
        experts=True,
        mlp_widths=("prefix_dense_intermediate_size", *d.INTERMEDIATE),
    ),
    "grok-1": Traits(
        tied=True,
        norms=("pre_attn_norm", "post_attn_norm", "pre_moe_norm", "post_moe_norm"),
        experts=True,
        moe_path="moe_block",
        window=no_layers,
    ),
}

SAME_AS: dict[str, tuple[str, ...]] = {
    "deepseek": ("deepseek_ocr2_text", "unlimited_ocr_text"),
    "granitemoe": ("granitemoeshared",),
    "qwen3_moe": ("qwen3_vl_moe_text", "qwen3_omni_moe_text"),
    "glm4_moe": ("glm4v_moe_text",),
    "grok-1": ("grok1", "grok"),
}


def bailing(f: Fields) -> Decoder:
    """Ling and Ring: LayerNorms on Q and K instead of RMSNorms unless `use_rmsnorm`."""
    traits = Traits(
        bias_keys=(*USE_BIAS, ("use_qkv_bias", "qkv")),
        mlp_bias_keys=("use_bias",),
        qk_norm="head",
        qk_norm_keys=("use_qk_norm",),
        qk_norm_bias=not f.flag("use_rmsnorm", default=True),
        experts=True,
        router_bias_keys=EXPERT_BIAS_KEYS,
        drafts=HUNYUAN_DRAFTS,
    )
    if f.flag("use_bias") and f.has("use_qkv_bias"):
        traits = replace(traits, bias_keys=USE_BIAS)
    return read(f, traits)


def ernie4_5_moe(f: Fields) -> Decoder:
    """ERNIE 4.5: experts from a start to an end layer, at an interval."""
    traits = Traits(
        tied=True,
        bias_keys=USE_BIAS,
        mlp_bias_keys=("use_bias",),
        head_bias_key="use_bias",
        experts=True,
        router_bias=True,
        drafts=ERNIE_DRAFTS,
    )
    sizes = d.read_sizes(f)
    start = f.int("moe_layer_start_index", default=0, low=0)
    end = f.int("moe_layer_end_index", default=sizes.layers - 1, low=-1)
    end = sizes.layers - 1 if end < 0 else end
    each = f.int("moe_layer_interval", default=1)
    sparse = [start <= i <= end and (i + 1) % each == 0 for i in range(sizes.layers)]
    layers = tuple(layer(f, traits, sizes, None, has_experts) for has_experts in sparse)
    return finish(f, traits, sizes, layers)


def dbrx(f: Fields) -> Decoder:
    """DBRX: attention and experts are described in objects of their own."""
    attend, experts = f.part("attn_config"), f.part("ffn_config")
    sizes = d.read_sizes(f)
    sizes = replace(sizes, kv_heads=attend.int("kv_n_heads", default=sizes.heads))
    moved = {key: experts.raw(key)[1] for key in ("ffn_hidden_size", "moe_num_experts", "moe_top_k")}
    traits = Traits(norms=("norm_1", "norm_2"), experts=True, moe_path="ffn", router="router.layer", window=no_layers)
    return read(Fields({**f.values, **moved}, f.where, f.defaults), traits, sizes)


@dataclass(frozen=True, slots=True)
class RoutedAttention:
    """JetMoE: query and output projections are experts, chosen per token; K and V are shared.

    Each token's `chosen` experts give one query for every KV head each.
    """

    hidden: int
    kv_heads: int
    head_dim: int
    experts: int
    path: str = "self_attention"

    def groups(self, layers: Layers) -> tuple[LayerGroup, ...]:
        return (FullAttention(layers, self.kv_heads, self.head_dim, self.head_dim),)

    def tensors(self, layers: Layers) -> tuple[Tensor, ...]:
        width, path = self.kv_heads * self.head_dim, f"{self.path}.experts"
        made = linear("attention", f"{path}.{{e}}.q", width, self.hidden, layers, "experts", copies=self.experts)
        made += linear("attention", f"{path}.{{e}}.o", self.hidden, width, layers, "experts", copies=self.experts)
        made += (Tensor("router", name(f"{path}.router.layer"), self.experts, self.hidden, layers, linear=True),)
        shards = self.kv_heads
        kv = linear("attention", f"{self.path}.kv_proj", 2 * width, self.hidden, layers, "column", shards=shards)
        return made + kv


def jetmoe(f: Fields) -> Decoder:
    """JetMoE: experts in attention and feed-forward, each mixture with a bias of the hidden size."""
    kv_heads, chosen = f.int("num_key_value_heads"), f.int("num_experts_per_tok")
    sizes = d.read_sizes(Fields({**f.values, "num_attention_heads": kv_heads * chosen}, f.where, f.defaults))
    traits = Traits(tied=True, experts=True, router="router.layer", window=no_layers)
    hidden, experts = sizes.hidden, f.int(*d.EXPERTS)
    pieces: tuple[Piece, ...] = (
        *norms(traits, hidden),
        RoutedAttention(hidden, kv_heads, sizes.head_dim, experts),
        Moe(hidden, experts, chosen, f.int(*d.INTERMEDIATE), router="router.layer"),
        Vector("attention", "self_attention.experts.bias", hidden),
        Vector("experts", "mlp.bias", hidden),
    )
    return finish(f, traits, sizes, (pieces,) * sizes.layers)


def ernie4_5_vl_moe(f: Fields) -> Decoder:
    """ERNIE 4.5 VL: text and vision experts side by side; the lists give text's number first."""
    sizes = d.read_sizes(f)
    traits = Traits(tied=True, bias_keys=USE_BIAS, mlp_bias_keys=("use_bias",))
    dense = layer(f, traits, sizes, None, False)
    sparse = (*dense[:-1], *_modal_experts(f, sizes.hidden))
    layers = tuple(sparse if has_experts else dense for has_experts in _modal_layers(f, sizes.layers))
    return finish(f, traits, sizes, layers)


def _modal_layers(f: Fields, layers: int) -> list[bool]:
    """From the first start index to the last end index, or as `mlp_layer_types` says."""
    if f.has("mlp_layer_types"):
        return d.moe_layers(f, layers)
    start, end = min(_pair(f, "moe_layer_start_index", 0)), max(_pair(f, "moe_layer_end_index", -1, low=-1))
    return [start <= i <= (end if end >= 0 else layers) for i in range(layers)]


def _pair(f: Fields, key: str, default: int, low: int = 0) -> tuple[int, int]:
    """A number for text and for vision: one for both, or a list of two."""
    given = f.raw(key)[1]
    if isinstance(given, list):
        two = [int(Fields({key: value}, f.where).int(key, low=low)) for value in f.list(key, length=2) or []]
        return two[0], two[1]
    value = int(f.int(key, default=default, low=low))
    return value, value


def _modal_experts(f: Fields, hidden: int) -> tuple[Piece, ...]:
    counts, widths = _pair(f, "moe_num_experts", 0), _pair(f, "moe_intermediate_size", 0)
    chosen, shared = f.int("moe_k"), shared_width(f, widths[0])
    text = Moe(hidden, counts[0], chosen, widths[0], shared_intermediate=shared, router_bias=True)
    vision = Moe(hidden, counts[1], chosen, widths[1], router_bias=True, path="mlp.vision", router="gate_1")
    return text, vision


READERS: dict[str, Callable[[Fields], Decoder]] = {kind: family(traits) for kind, traits in FAMILIES.items()}
READERS |= {alias: READERS[of] for of, aliases in SAME_AS.items() for alias in aliases}
READERS |= {
    "bailing_moe": bailing,
    "bailing_moe_v2": bailing,
    "dbrx": dbrx,
    "ernie4_5_moe": ernie4_5_moe,
    "ernie4_5_moe_vl": ernie4_5_vl_moe,
    "ernie4_5_vl_moe_text": ernie4_5_vl_moe,
    "jetmoe": jetmoe,
}
