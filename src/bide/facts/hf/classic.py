"""The older families: GPT-2 and its kin, OPT, BLOOM, Falcon, MPT, ChatGLM, Qwen 1, StableLM, Phi.

They come from before Llama's layout became everybody's: biases and LayerNorms, learned positions,
one norm for a parallel layer, and names of their own for the sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder
from bide.facts.hf.dense import family, finish, layer, read
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Piece, Vector
from bide.facts.hf.traits import PRE, Traits, all_layers, no_layers, nothing
from bide.facts.model import Tensor
from bide.i18n import _

INPUT_ONLY = ("input_layernorm",)
"""Attention and feed-forward side by side, behind one norm."""


def positions(rows: Callable[[Fields], int]) -> Callable[[Fields, d.Sizes], tuple[Tensor, ...]]:
    """A table of learned positions, whole on every rank."""
    return lambda f, sizes: (Tensor("embedding", "model.embed_positions", rows(f), sizes.hidden),)


def _context(offset: int = 0) -> Callable[[Fields], int]:
    return lambda f: int(f.int("n_positions", "max_position_embeddings", "n_ctx")) + offset


CLASSIC = Traits(
    tied=True,
    gated=False,
    bias="qkvo",
    bias_keys=(),
    mlp_bias=True,
    mlp_bias_keys=(),
    norm_bias=True,
    window=no_layers,
)
"""Ungated, with LayerNorms and biases everywhere, and the head tied to the embedding."""
GPT2 = replace(CLASSIC, shell_extras=positions(_context()))
GPTJ = replace(CLASSIC, tied=False, bias="", norms=INPUT_ONLY, head_bias=True)
NEOX = replace(CLASSIC, tied=False, bias_keys=(("attention_bias", "qkvo"),))
PERSIMMON = replace(
    CLASSIC,
    tied=False,
    qk_norm="head",
    qk_norm_keys=("qk_layernorm",),
    qk_norm_default=True,
    qk_norm_bias=True,
)
PHI = replace(PERSIMMON, norms=INPUT_ONLY, qk_norm_default=False, head_bias=True)
STARCODER2 = replace(CLASSIC, bias_keys=(("use_bias", "qkvo"),), mlp_bias_keys=("use_bias",), window=all_layers)


def more_tokens(f: Fields, sizes: d.Sizes) -> tuple[Tensor, ...]:
    """Molmo: a second table of rows for image tokens."""
    rows = f.int("additional_vocab_size", default=128, low=0)
    return (Tensor("embedding", "model.new_embedding", rows, sizes.hidden, split="vocab"),) if rows else ()


MOLMO2 = Traits(
    bias_keys=(("attention_bias", "qkvo"), ("qkv_bias", "qkv")),
    qk_norm_keys=("use_qk_norm",),
    qk_norm_default=True,
    window=no_layers,
    shell_extras=more_tokens,
)


def bloom(f: Fields) -> Decoder:
    """BLOOM: ALiBi instead of positions, and a norm behind the embedding."""

    def embedding_norm(f: Fields, sizes: d.Sizes) -> tuple[Tensor, ...]:
        return (Tensor("norm", "model.embed_tokens_layernorm", 2 * sizes.hidden),)

    return read(f, replace(CLASSIC, shell_extras=embedding_norm, mlp_widths=("n_inner",)))


def gpt_bigcode(f: Fields) -> Decoder:
    """StarCoder 1: GPT-2 with one KV head unless `multi_query` is false."""
    sizes = d.read_sizes(f)
    return read(f, GPT2, replace(sizes, kv_heads=1 if f.flag("multi_query", default=True) else sizes.heads))


def codeshell(f: Fields) -> Decoder:
    """CodeShell: GPT-2 with rotary positions and `num_query_groups` KV heads."""
    sizes = d.read_sizes(f)
    if f.flag("group_query_attention"):
        sizes = replace(sizes, kv_heads=f.int("num_query_groups", default=1))
    learned = f.text("position_embedding_type", default="learned_absolute") == "learned_absolute"
    return read(f, GPT2 if learned else CLASSIC, sizes)


def gpt_neo(f: Fields) -> Decoder:
    """GPT-Neo: layers alternate as `attention_layers` says, or `attention_types` as [[kinds, repeats], ...]."""
    sizes = d.read_sizes(f)
    kinds = f.list("attention_layers", length=sizes.layers) or _repeated(f, sizes.layers)
    window = f.int("window_size", default=256)
    traits = replace(GPT2, bias="o")
    layers = tuple(layer(f, traits, sizes, window if kind == "local" else None, False) for kind in kinds)
    return finish(f, traits, sizes, layers)


def _repeated(f: Fields, layers: int) -> list[str]:
    given = f.list("attention_types") or [[["global"], layers]]
    try:
        kinds = list(chain.from_iterable(list(names) * int(times) for names, times in given))
    except (TypeError, ValueError):
        kinds = []
    if len(kinds) != layers:
        allowed = _("[[kinds, repeats], ...] that make {layers} layers").format(layers=layers)
        raise f.bad("attention_types", given, allowed)
    return kinds


def gpt_neox_japanese(f: Fields) -> Decoder:
    """No biases but one: the last layer's attention output."""
    wide = f.int("intermediate_multiple_size", default=4) * f.int(*d.HIDDEN)
    f = Fields({**f.values, "intermediate_size": wide}, f.where, f.defaults)
    made = read(f, replace(CLASSIC, bias="", mlp_bias=False))
    bias: Piece = Vector("attention", "self_attn.o_proj.bias", made.hidden)
    return replace(made, layers=(*made.layers[:-1], (*made.layers[-1], bias)))


def opt(f: Fields) -> Decoder:
    """OPT: two rows more than positions, and OPT-350M's narrower embedding with its two projections."""
    bias, affine = f.flag("enable_bias", default=True), f.flag("layer_norm_elementwise_affine", default=True)
    final = f.flag("do_layer_norm_before", default=True) and not f.flag("_remove_final_layer_norm")
    traits = replace(
        GPT2,
        bias="qkvo" if bias else "",
        mlp_bias=bias,
        norms=PRE if affine else (),
        final_norm=final and affine,
        shell_extras=positions(_context(2)),
    )
    made = read(f, traits)
    narrow = f.int("word_embed_proj_dim", default=made.hidden)
    return made if narrow == made.hidden else replace(made, shell=_narrowed(made, narrow))


def _narrowed(made: Decoder, narrow: int) -> tuple[Tensor, ...]:
    """The shell with embedding and head of `narrow` columns and projections in and out."""
    shell = tuple(replace(t, cols=narrow) if t.rows == made.vocab else t for t in made.shell)
    into = Tensor("embedding", "model.project_in", made.hidden, narrow, linear=True)
    out = Tensor("embedding", "model.project_out", narrow, made.hidden, linear=True)
    return (*shell, into, out)


def falcon(f: Fields) -> Decoder:
    """Falcon: one KV head (7B), groups of them (40B, 180B: the new decoder) or all (RW)."""
    spelt = str(f.values.get("model_type", "")).lower()
    new = f.flag("new_decoder_architecture", default=spelt == "refinedweb")
    sizes = d.read_sizes(f)
    if not new:
        sizes = replace(sizes, kv_heads=1 if f.flag("multi_query", default=True) else sizes.heads)
    bias = f.flag("bias")
    traits = replace(CLASSIC, bias="qkvo" if bias else "", mlp_bias=bias, norms=_falcon_norms(f, new))
    return read(f, traits, sizes)


def _falcon_norms(f: Fields, new: bool) -> tuple[str, ...]:
    """Two norms where attention and feed-forward follow each other; side by side, one or two by count."""
    if not f.flag("parallel_attn", default=True):
        return PRE
    count = f.int("num_ln_in_parallel_attn", default=2 if new else 1)
    return ("ln_attn", "ln_mlp") if count == 2 else INPUT_ONLY


def mpt(f: Fields) -> Decoder:
    """MPT: `no_bias` removes the norms' biases too; KV heads stand in `attn_config`."""
    attend = f.part("attn_config")
    sizes = d.read_sizes(f)
    one = attend.text("attn_type", default="") == "multiquery_attention"
    sizes = replace(sizes, kv_heads=attend.int("kv_n_heads", default=1 if one else sizes.heads))
    bias = not f.flag("no_bias", default=True)
    learned = f.flag("learned_pos_emb", default=True) and not attend.flag("alibi", default=True)
    wide = int(f.number("expansion_ratio", default=4) * sizes.hidden)
    traits = replace(
        CLASSIC,
        bias="qkvo" if bias else "",
        mlp_bias=bias,
        norm_bias=bias,
        qk_norm="full" if attend.flag("qk_ln") else "",
        shell_extras=positions(lambda f: int(f.int("max_seq_len"))) if learned else nothing,
    )
    return read(Fields({**f.values, "intermediate_size": wide}, f.where, f.defaults), traits, sizes)


def jais(f: Fields) -> Decoder:
    """Jais: GPT-2 with a gate in the feed-forward, ALiBi unless told otherwise."""
    learned = f.text("position_embedding_type", default="learned") == "learned"
    gated = "glu" in f.text("activation_function", default="gelu")
    return read(f, replace(GPT2 if learned else CLASSIC, gated=gated))


def stablelm(f: Fields) -> Decoder:
    """StableLM 3B, 2 and 2 12B (norms on Q and K, attention and feed-forward side by side)."""
    norms = INPUT_ONLY if f.flag("use_parallel_residual") else PRE
    traits = Traits(norms=norms, norm_bias=True, bias_keys=(("use_qkv_bias", "qkv"),), qk_norm="full")
    return read(f, replace(traits, qk_norm_keys=("qk_layernorm",), window=no_layers))


def qwen(f: Fields) -> Decoder:
    """Qwen 1: `intermediate_size` counts gate and up together; only Q, K and V have biases."""
    half = f.int("intermediate_size") // 2
    bias = "qkv" if f.flag("no_bias", default=True) else "qkvo"
    f = Fields({**f.values, "intermediate_size": half}, f.where, f.defaults)
    return read(f, Traits(bias=bias, bias_keys=(), window=no_layers))


def molmo(f: Fields) -> Decoder:
    """Molmo's text model: widths as in Qwen 1."""
    moved = {"intermediate_size": f.int("intermediate_size") // 2, "tie_word_embeddings": f.flag("weight_tying")}
    moved["vocab_size"] = f.int("embedding_size", "vocab_size")
    traits = replace(MOLMO2, qk_norm="full", qk_norm_keys=("attention_layer_norm",), qk_norm_default=False)
    return read(Fields({**f.values, **moved}, f.where, f.defaults), traits)


def molmo2(f: Fields) -> Decoder:
    """Molmo 2's text model: norms on Q and K for each head (as Qwen 3) or over all."""
    return read(f, replace(MOLMO2, qk_norm="head" if f.text("qk_norm_type", default="qwen3") == "qwen3" else "full"))


def chatglm(f: Fields) -> Decoder:
    """ChatGLM 2 and 3 and GLM-4-9B: groups only with `multi_query_attention`."""
    sizes = d.read_sizes(f)
    if not f.flag("multi_query_attention"):
        sizes = replace(sizes, kv_heads=sizes.heads)
    bias = "qkvo" if f.flag("add_bias_linear") else "qkv" if f.flag("add_qkv_bias") else ""
    traits = Traits(
        bias=bias,
        bias_keys=(),
        mlp_bias_keys=("add_bias_linear",),
        norm_bias=not f.flag("rmsnorm", default=True),
        final_norm=f.flag("post_layer_norm", default=True),
    )
    return read(f, traits, sizes)


def plamo(f: Fields) -> Decoder:
    """PLaMo 13B: `n_shared_head` query heads share a KV head."""
    sizes = d.read_sizes(f)
    sizes = replace(sizes, kv_heads=-(-sizes.heads // f.int("n_shared_head", default=8)))
    return read(f, Traits(norms=INPUT_ONLY), sizes)


def xglm(f: Fields) -> Decoder:
    """XGLM: OPT-like with computed positions; its heads stand under `attention_heads`."""
    heads = f.int("attention_heads", *d.HEADS)
    f = Fields({**f.values, "num_attention_heads": heads}, f.where, f.defaults)
    return read(f, CLASSIC)


READERS: dict[str, Callable[[Fields], Decoder]] = {
    "biogpt": family(replace(CLASSIC, shell_extras=positions(_context(2)))),
    "bloom": bloom,
    "chatglm": chatglm,
    "codegen": family(GPTJ),
    "falcon": falcon,
    "fuyu": family(PERSIMMON),
    "gpt2": family(GPT2),
    "gpt_bigcode": gpt_bigcode,
    "gpt_neo": gpt_neo,
    "gpt_neox": family(NEOX),
    "gpt_neox_japanese": gpt_neox_japanese,
    "gptj": family(GPTJ),
    "jais": jais,
    "kclgpt": codeshell,
    "molmo": molmo,
    "molmo2_text": molmo2,
    "mpt": mpt,
    "openai-gpt": family(replace(GPT2, final_norm=False)),
    "opt": opt,
    "persimmon": family(PERSIMMON),
    "phi": family(PHI),
    "phi-msft": family(PHI),
    "plamo": plamo,
    "qwen": qwen,
    "refinedweb": falcon,
    "refinedwebmodel": falcon,
    "stablelm": stablelm,
    "stablelm_epoch": stablelm,
    "starcoder2": family(STARCODER2),
    "xglm": xglm,
}
