"""The dense families that a row of traits describes, and the types that are spelt differently but read the same."""

from __future__ import annotations

from bide.facts.hf import decoder as d
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Linear, Piece, Vector
from bide.facts.hf.traits import (
    POST_ONLY,
    PRE,
    SANDWICH,
    Drafts,
    Extras,
    Traits,
    all_but_each,
    all_but_first_of,
    even_layers,
    from_max_window_layers,
    no_layers,
)

LLAMA_BIAS = (("bias", "qkvo"), ("attention_bias", "qkvo"), ("qkv_bias", "qkv"))
"""The flags that vLLM's Llama class reads: InternLM says `bias`, InternLM 3 has `qkv_bias` besides."""
QKV_FLAG = (("attention_bias", "qkv"),)
USE_BIAS = (("use_bias", "qkvo"),)


def output_gate(path: str, bias_key: str = "") -> Extras:
    """A gate on the attention's output, as wide as the queries; biased where `bias_key` is true."""

    def extras(f: Fields, sizes: d.Sizes) -> tuple[Piece, ...]:
        bias = bool(bias_key) and f.flag(bias_key)
        return (Linear("attention", path, sizes.heads * sizes.head_dim, sizes.hidden, "column", bias),)

    return extras


def xielu(f: Fields, sizes: d.Sizes) -> tuple[Piece, ...]:
    """Apertus: the activation learns two numbers."""
    return (Vector("mlp", "mlp.act_fn.alpha", 2),)


def sub_norms(f: Fields, sizes: d.Sizes) -> tuple[Piece, ...]:
    """BitNet: a norm before each output projection."""
    width = f.int(*d.INTERMEDIATE)
    return Vector("norm", "self_attn.attn_sub_norm", sizes.hidden), Vector("norm", "mlp.ffn_sub_norm", width)


def lambdas(f: Fields, sizes: d.Sizes) -> tuple[Piece, ...]:
    """DiffLlama: four vectors of head_dim weigh the two softmaxes."""
    return (Vector("attention", "self_attn.lambda", 4 * sizes.head_dim),)


def post_norms(f: Fields, sizes: d.Sizes) -> tuple[Piece, ...]:
    """HyperCLOVA X: norms after attention and feed-forward, with `use_post_norm`."""
    if not f.flag("use_post_norm"):
        return ()
    return Vector("norm", "post_norm1", sizes.hidden), Vector("norm", "post_norm2", sizes.hidden)


def down_bias(f: Fields, sizes: d.Sizes) -> tuple[Piece, ...]:
    """TeleChat 2: only the down projection of the feed-forward has a bias."""
    return (Vector("mlp", "mlp.down_proj.bias", sizes.hidden),)


QWEN2 = Traits(bias="qkv", bias_keys=(), window=from_max_window_layers)
QWEN3 = Traits(qk_norm="head", window=from_max_window_layers)
GLM4 = Traits(bias="qkv", bias_keys=QKV_FLAG, norms=(*PRE, "post_self_attn_layernorm", "post_mlp_layernorm"))
LAYER_NORM = Traits(norm_bias=True)
OLMO2 = Traits(norms=POST_ONLY, qk_norm="full")
COHERE = Traits(tied=True, norms=("input_layernorm",), qk_norm="full", qk_norm_keys=("use_qk_norm",))
MIMO_DRAFTS = Drafts(projection="input_proj", norms=("token_layernorm", "hidden_layernorm", "final_layernorm"))

FAMILIES: dict[str, Traits] = {
    "llama": Traits(bias_keys=LLAMA_BIAS),
    "mistral": Traits(),
    "cwm": Traits(window=all_but_first_of(4)),
    "granite_swa": Traits(tied=True, sinks=True, window=all_but_first_of(4)),
    "glm": Traits(bias="qkv", bias_keys=QKV_FLAG),
    "glm4": GLM4,
    "glm_ocr_text": Traits(norms=GLM4.norms),
    "granite_docling_text": Traits(tied=True),
    "internlm3": Traits(bias_keys=(("attention_bias", "qkvo"), ("bias", "o"), ("qkv_bias", "qkv"))),
    "seed_oss": Traits(bias="qkv", bias_keys=(("attention_bias", "qkv"), ("attention_out_bias", "o"))),
    "qwen2": QWEN2,
    "qwen3": QWEN3,
    "mimo": Traits(bias="qkv", bias_keys=(), window=from_max_window_layers, drafts=MIMO_DRAFTS),
    "smollm3": Traits(tied=True, window=no_layers),
    "helium": Traits(bias_keys=QKV_FLAG),
    "exaone4": Traits(norms=POST_ONLY, qk_norm="head", bias_keys=(), window=all_but_each(4)),
    "ernie4_5": Traits(tied=True, bias_keys=USE_BIAS, mlp_bias_keys=("use_bias",)),
    "hyperclovax": Traits(extras=post_norms),
    "telechat2": Traits(bias="o", bias_keys=(), mlp_bias_keys=(), extras=down_bias),
    "step1": Traits(),
    "minicpm": Traits(tied=True, experts=True),
    "gemma": Traits(tied=True),
    "gemma2": Traits(tied=True, norms=SANDWICH, window=even_layers),
    "gemma3_text": Traits(tied=True, norms=SANDWICH, qk_norm="head", window=all_but_each(6)),
    "rnj1": Traits(tied=True, norms=SANDWICH, qk_norm="head", window=no_layers),
    "vaultgemma": Traits(tied=True, norms=("input_layernorm", "pre_feedforward_layernorm"), window=even_layers),
    "muse_glimmer": Traits(norms=SANDWICH, extras=output_gate("self_attn.output_gate_proj")),
    "plamo3": Traits(tied=True, norms=SANDWICH, qk_norm="head", bias_keys=(), window=all_but_each(8)),
    "cohere": COHERE,
    "cohere2": Traits(tied=True, norms=("input_layernorm",), window=all_but_each(4)),
    "olmo": Traits(norms=(), final_norm=False),
    "olmo2": OLMO2,
    "olmo3": Traits(norms=POST_ONLY, qk_norm="full", window=all_but_each(4)),
    "nanochat": Traits(norms=(), final_norm=False, gated=False),
    "orion": LAYER_NORM,
    "nemotron": Traits(norm_bias=True, gated=False),
    "jais2": Traits(norm_bias=True, gated=False, bias="qkvo", mlp_bias=True),
    "arcee": Traits(gated=False),
    "apertus": Traits(gated=False, qk_norm="head", extras=xielu),
    "bitnet": Traits(extras=sub_norms),
    "diffllama": Traits(extras=lambdas),
}

SAME_AS: dict[str, tuple[str, ...]] = {
    "llama": (
        "aquila",
        "baichuan",
        "emu3_text_model",
        "exaone",
        "fm9g",
        "granite",
        "granite4_vision_text",
        "internlm",
        "internlm2",
        "iquestcoder",
        "llava",
        "llava_llama",
        "mobilellm",
        "nanbeige",
        "panguembedded",
        "pangu_embedded",
        "smolvlm",
        "solar",
        "teleflm",
        "telechat3",
        "ultravox",
        "xverse",
        "yi",
    ),
    "mistral": (
        "llava_mistral",
        "ministral",
        "ministral3",
        "mistral3",
        "phi3",
        "phi3_v",
        "phi4mm",
        "phi4_multimodal",
        "voxtral",
    ),
    "gemma": ("paligemma",),
    "ernie4_5": ("paddleocr_vl_text",),
    "glm4": ("glm4v", "glm4v_text", "glm_image_text"),
    "qwen2": (
        "got_ocr2",
        "llava_qwen",
        "opencua",
        "qwen2_audio",
        "qwen2_vl",
        "qwen2_vl_text",
        "qwen2_5_vl",
        "qwen2_5_vl_text",
        "qwen2_5_omni_text",
    ),
    "qwen3": ("qwen3_asr", "qwen3_asr_text", "qwen3_vl_text", "qwen3_omni_text"),
    "apertus": ("apertus1p5_text",),
    "telechat2": ("telechat",),
    "muse_glimmer": ("muse_glimmer_text",),
}
