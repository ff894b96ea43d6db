"""Plain attention in layers that differ from each other: by search (Nemotron NAS), by depth, by what they reuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.dense import attention, expert_layers, finish, layer, local_layers, mlp, norms
from bide.facts.hf.families import LLAMA_BIAS, output_gate
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Attention, Linear, Mlp, Moe, Norm, Piece, Vector
from bide.facts.hf.traits import SANDWICH, Traits, no_layers
from bide.facts.model import Tensor
from bide.i18n import _

NAS = Traits(bias_keys=LLAMA_BIAS)


MLLAMA_TILES, MLLAMA_TILE_TOKENS = 4, 1601
"""An image becomes up to 4 tiles of 560 x 560: (560 / 14)^2 patches and a class token each."""


def mllama(f: Fields) -> Decoder:
    """Llama 3.2 Vision: some layers attend to the image instead of the text, behind gates of one number each."""
    sizes = d.read_sizes(f)
    across = set(f.list("cross_attention_layers") or (3, 8, 13, 18, 23, 28, 33, 38))
    own = layer(f, NAS, sizes, None, False)
    attend = replace(
        attention(f, NAS, sizes),
        encoder_tokens=MLLAMA_TILES * MLLAMA_TILE_TOKENS,
        q_norm=sizes.head_dim,
        k_norm=sizes.head_dim,
        path="cross_attn",
    )
    gates = Vector("attention", "cross_attn_gates", 2)
    other: Layer = (*norms(NAS, sizes.hidden), attend, mlp(f, NAS, sizes.hidden), gates)
    layers = tuple(other if i in across else own for i in range(sizes.layers))
    return finish(f, replace(NAS, shell_extras=_mllama_rows), sizes, layers)


def _mllama_rows(f: Fields, sizes: d.Sizes) -> tuple[Tensor, ...]:
    """Eight more rows of the embedding, for the image tokens; the head has none."""
    return (Tensor("embedding", "model.embed_tokens.more", 8, sizes.hidden, split="vocab"),)


def nemotron_nas(f: Fields) -> Decoder:
    """Nemotron Super/Ultra 49B-253B: each block's attention and feed-forward as `block_configs` says."""
    sizes = d.read_sizes(f)
    blocks = f.list("block_configs", length=sizes.layers)
    if blocks is None:
        raise f.bad("block_configs", None, _("a list with an entry for each layer"))
    layers = tuple(_block(f, sizes, Fields(block, f"{f.where}.block_configs[{i}]")) for i, block in enumerate(blocks))
    return finish(f, NAS, sizes, layers)


def _block(f: Fields, sizes: d.Sizes, block: Fields) -> Layer:
    attend, forward = block.part("attention"), block.part("ffn")
    made: Layer = ()
    if not attend.flag("no_op"):
        made += (Norm("input_layernorm", sizes.hidden), _block_attention(f, sizes, attend))
    if not forward.flag("no_op"):
        made += (Norm("post_attention_layernorm", sizes.hidden), _block_mlp(f, sizes, forward))
    return made


def _block_attention(f: Fields, sizes: d.Sizes, attend: Fields) -> Piece:
    if attend.flag("replace_with_linear"):
        return Linear("attention", "self_attn.linear_attn", sizes.hidden, sizes.hidden)
    kv_heads = sizes.heads // attend.int("n_heads_in_group", high=sizes.heads)
    window = attend.int("window_length", default=None)
    return attention(f, NAS, replace(sizes, kv_heads=kv_heads), window)


def _block_mlp(f: Fields, sizes: d.Sizes, forward: Fields) -> Piece:
    if forward.flag("replace_with_linear"):
        return Linear("mlp", "mlp.linear_mlp", sizes.hidden, sizes.hidden)
    if forward.has("intermediate_size"):
        return Mlp(sizes.hidden, forward.int("intermediate_size"), bias=f.flag("mlp_bias"))
    third = int(2 * forward.number("ffn_mult") * sizes.hidden / 3)
    return Mlp(sizes.hidden, -(-third // 256) * 256, bias=f.flag("mlp_bias"))


def deci(f: Fields) -> Decoder:
    """DeciLM 7B: KV heads layer by layer."""
    sizes = d.read_sizes(f)
    each = _integers(f, "num_key_value_heads_per_layer", sizes.layers)
    layers = tuple(layer(f, NAS, replace(sizes, kv_heads=kv), None, False) for kv in each)
    return finish(f, NAS, sizes, layers)


def openelm(f: Fields) -> Decoder:
    """OpenELM: heads, KV heads and widths grow with depth."""
    count, hidden, vocab = f.int("num_transformer_layers", high=4096), f.int("model_dim"), f.int("vocab_size")
    head_dim = f.int("head_dim")
    heads = _integers(f, "num_query_heads", count)
    kv_heads = _integers(f, "num_kv_heads", count)
    divisor = f.int("ffn_dim_divisor", default=256)
    widths = [_divisible(times * hidden, divisor) for times in _numbers(f, "ffn_multipliers", count)]
    norm = head_dim if f.flag("normalize_qk_projections", default=True) else 0
    gated = f.flag("ffn_with_glu", default=True)
    layers = tuple(
        (
            *norms(Traits(), hidden),
            Attention(hidden, q, kv, head_dim, head_dim, q_norm=norm, k_norm=norm),
            Mlp(hidden, width, gated),
        )
        for q, kv, width in zip(heads, kv_heads, widths, strict=True)
    )
    sizes = d.Sizes(count, hidden, max(heads), max(kv_heads), head_dim, vocab)
    shell = d.shell(sizes, f.flag("share_input_output_layers", default=True))
    context = f.int("max_context_length", default=None)
    return Decoder(hidden, sizes.heads, vocab, layers, shell, context)


def _divisible(width: float, divisor: int) -> int:
    """The multiple of `divisor` nearest to `width`, not below 0.9 of it (Apple's `make_divisible`)."""
    nearest = max(divisor, int(width + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * width else nearest


def _numbers(f: Fields, key: str, count: int) -> list[float]:
    """A number for each layer: a list, or one for all."""
    if not isinstance(f.raw(key)[1], list):
        return [float(f.number(key))] * count
    given = f.list(key, length=count) or []
    for value in given:
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise f.bad(key, value, _("positive numbers"))
    return [float(value) for value in given]


def _integers(f: Fields, key: str, count: int) -> list[int]:
    return [int(value) for value in _numbers(f, key, count)]


def hunyuan(f: Fields) -> Decoder:
    """Hunyuan 1: with `use_cla` only every `cla_share_factor`-th layer has K and V, the rest reuse them."""
    sizes = d.read_sizes(f)
    traits = Traits(qk_norm="head", qk_norm_keys=("use_qk_norm",), qk_norm_default=True)
    share = f.int("cla_share_factor", default=1) if f.flag("use_cla") else 1
    made: list[Layer] = []
    for i in range(sizes.layers):
        own = i % share == 0
        attend = replace(attention(f, traits, sizes), cached=own, stores_kv=own)
        made.append((*norms(traits, sizes.hidden), attend, _hunyuan_forward(f, traits, sizes, i)))
    return finish(f, traits, sizes, tuple(made))


def _hunyuan_forward(f: Fields, traits: Traits, sizes: d.Sizes, i: int) -> Piece:
    """Experts beside a shared feed-forward of `num_shared_expert` times the dense width; each key may be a list."""

    def here(key: str, default: int) -> int:
        return _integers(f, key, sizes.layers)[i] if f.has(key) else default

    wide, experts = int(f.int(*d.INTERMEDIATE)), here("num_experts", 1)
    if experts <= 1 or i < f.int("moe_layer_num_skipped", default=0, low=0):
        return mlp(f, traits, sizes.hidden)
    shared = here("num_shared_expert", 1) if f.flag("use_mixed_mlp_moe", default=True) else 0
    return Moe(
        sizes.hidden,
        experts,
        here("moe_topk", 1),
        here("moe_intermediate_size", wide),
        shared_intermediate=shared * wide,
        router="gate.wg",
        shared_path="shared_mlp",
    )


LAGUNA = Traits(qk_norm="head", window=no_layers, experts=True, router_bias=True, shared_path="shared_expert")


def laguna(f: Fields) -> Decoder:
    """Laguna: query heads layer by layer, a gate on the attention's output for each head or each channel."""
    sizes = d.read_sizes(f)
    key = "num_attention_heads_per_layer"
    heads = _integers(f, key, sizes.layers) if f.has(key) else [sizes.heads] * sizes.layers
    windows, sparse = local_layers(f, LAGUNA, sizes.layers), expert_layers(f, LAGUNA, sizes.layers)
    sinks = f.flag("swa_attention_sink_enabled")
    made = []
    for i in range(sizes.layers):
        here = replace(sizes, heads=heads[i])
        traits = replace(LAGUNA, sinks=sinks and windows[i] is not None)
        made.append((*layer(f, traits, here, windows[i], sparse[i]), *_laguna_gate(f, here)))
    return finish(f, LAGUNA, sizes, tuple(made))


def _laguna_gate(f: Fields, sizes: d.Sizes) -> tuple[Piece, ...]:
    given = f.raw("gating")[1]
    if given in (None, False):
        return ()
    rows = sizes.heads if given in (True, "per-head") else sizes.heads * sizes.head_dim
    return (Linear("attention", "self_attn.g_proj", rows, sizes.hidden, "column"),)


def k2_horizon(f: Fields) -> Decoder:
    """K2 Horizon: in layers with experts the values are chosen from `mova_num_experts` projections too."""
    traits = Traits(
        qk_norm="full",
        qk_norm_keys=("query_key_norm",),
        experts=True,
        router_bias_keys=("moe_gate_bias",),
        extras=output_gate("self_attn.gate_proj") if f.has("attention_gate_func") else Traits().extras,
    )
    sizes = d.read_sizes(f)
    sparse = expert_layers(f, traits, sizes.layers)
    values = f.int("mova_num_experts", default=0, low=0)
    layers = []
    for has_experts in sparse:
        made = layer(f, traits, sizes, None, has_experts)
        layers.append(_chosen_values(f, sizes, made, values) if has_experts and values else made)
    return finish(f, traits, sizes, tuple(layers))


def _chosen_values(f: Fields, sizes: d.Sizes, made: Layer, experts: int) -> Layer:
    rows = experts * sizes.kv_heads * sizes.head_dim
    more: Layer = (
        Linear("router", "self_attn.v_router", experts, sizes.hidden, bias=f.flag("moe_gate_bias")),
        Linear("attention", "self_attn.v_experts", rows, sizes.hidden, "column"),
    )
    return tuple(replace(p, value_is_key=True) if isinstance(p, Attention) else p for p in made) + more


def domyn_edge(f: Fields) -> Decoder:
    """Domyn Edge: head size and window layer by layer; only the keys' norm has weights."""
    sizes, traits = d.read_sizes(f), Traits(norms=SANDWICH, bias_keys=())
    layers = []
    for i, (own, sides) in enumerate(zip(*_domyn_lists(f, sizes.layers), strict=True)):
        dim = Fields(own, f"{f.where}.per_layer_config[{i}]").int("head_dim")
        window = sides[0] + 1 if isinstance(sides, list) and sides and sides[0] > 0 else None
        attend = replace(attention(f, traits, replace(sizes, head_dim=dim), window), value_dim=dim, k_norm=dim)
        layers.append((*norms(traits, sizes.hidden), attend, mlp(f, traits, sizes.hidden)))
    return finish(f, traits, sizes, tuple(layers))


def _domyn_lists(f: Fields, layers: int) -> tuple[list[dict[str, object]], list[object]]:
    given = f.list("per_layer_config", length=layers), f.list("window_sizes", length=layers)
    if given[0] is None or given[1] is None:
        raise f.bad("per_layer_config", None, _("a list with an entry for each layer, and `window_sizes` beside it"))
    return given[0], given[1]


def doge(f: Fields) -> Decoder:
    """Doge: a learned mask from the values; with `is_moe`, experts of one row each beside the feed-forward."""
    sizes = d.read_sizes(f)
    traits = Traits(qk_norm="head")
    bias, kv = f.flag("attention_bias"), sizes.kv_heads
    more: Layer = (
        Vector("norm", "residuals", 2 * sizes.hidden),
        Vector("attention", "self_attn.A", kv),
        Linear("attention", "self_attn.dt_proj", kv, kv * sizes.head_dim, bias=bias),
    )
    if f.flag("is_moe"):
        experts = f.int("num_experts")
        more += (
            Linear("router", "mlp.router_gate", 2 * int(experts**0.5), sizes.hidden),
            Linear("experts", "mlp.down_embed", experts, sizes.hidden),
            Linear("experts", "mlp.up_embed", experts, sizes.hidden),
        )
    window = local_layers(f, traits, sizes.layers)
    layers = tuple((*layer(f, traits, sizes, window[i], False), *more) for i in range(sizes.layers))
    return finish(f, traits, sizes, layers)


READERS: dict[str, Callable[[Fields], Decoder]] = {
    "deci": deci,
    "doge": doge,
    "domyn_edge": domyn_edge,
    "hunyuan": hunyuan,
    "hunyuan_v1_dense": hunyuan,
    "hunyuan_v1_moe": hunyuan,
    "hunyuan_vl_text": hunyuan,
    "k2_horizon": k2_horizon,
    "laguna": laguna,
    "mllama_text_model": mllama,
    "nemotron-nas": nemotron_nas,
    "openelm": openelm,
}
