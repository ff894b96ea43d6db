"""Vision towers that several models share: CLIP, SigLIP, Pixtral, InternViT, MoonViT, RADIO, AIMv2, SAM.

Each takes the tower's own config and returns its tensors. Shapes are those of the published
modelling code (transformers 5.24, vLLM 0.33); the tests hold parameter totals of the model classes.
"""

from __future__ import annotations

from dataclasses import replace

from bide.facts.hf.fields import Fields
from bide.facts.hf.towers import sizes as s
from bide.facts.hf.towers.place import CLIP_STYLE, QWEN_STYLE, WHISPER_STYLE, Blocks, Place, Style, Tensors

PIXTRAL_STYLE = Style(
    "transformer.layers.{i}",
    ("attention.q_proj", "attention.k_proj", "attention.v_proj"),
    "attention.o_proj",
    ("feed_forward.gate_proj", "feed_forward.up_proj"),
    "feed_forward.down_proj",
    ("attention_norm", "ffn_norm"),
)
INTERN_STYLE = Style("encoder.layers.{i}", ("attn.qkv",), "attn.proj", ("mlp.fc1",), "mlp.fc2", ("norm1", "norm2"))
MOON_STYLE = Style("encoder.blocks.{i}", ("wqkv",), "wo", ("mlp.fc0",), "mlp.fc1", ("norm0", "norm1"))
AIM_STYLE = Style(
    "encoder.layers.{i}",
    ("attention.q_proj", "attention.k_proj", "attention.v_proj"),
    "attention.out_proj",
    ("ffn.gate_proj", "ffn.up_proj"),
    "ffn.down_proj",
    ("rms_norm1", "rms_norm2"),
)
LLAMA_VISION_STYLE = Style(
    "layers.{i}",
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attn.o_proj",
    ("mlp.fc1",),
    "mlp.fc2",
    ("input_layernorm", "post_attention_layernorm"),
)


def stack(f: Fields, style: Style, layers: int | None = None, **rest: object) -> Blocks:
    """Blocks of the sizes that `f` states."""
    count = s.layers(f) if layers is None else layers
    return replace(Blocks(style, count, s.hidden(f), s.intermediate(f)), **rest)  # type: ignore[arg-type]


def clip(f: Fields, at: Place, *, class_token: bool = True, patch_bias: bool = False) -> Tensors:
    """CLIP: class token, learned positions, a norm before and one after."""
    hidden, tokens = s.hidden(f), s.positions(f) + class_token
    made = at.table("embeddings.class_embedding", hidden) if class_token else ()
    made += at.conv("embeddings.patch_embedding", hidden, s.patch_inputs(f), bias=patch_bias)
    made += at.table("embeddings.position_embedding", tokens, hidden)
    made += at.blocks(stack(f, CLIP_STYLE))
    return made + at.norms(("pre_layrnorm", "post_layernorm"), hidden)


def siglip(f: Fields, at: Place, *, positions: int | None = None, head: bool | None = None) -> Tensors:
    """SigLIP and SigLIP 2: learned positions, a norm after, and a pooling head where the config asks for one."""
    hidden = s.hidden(f)
    made = at.conv("embeddings.patch_embedding", hidden, s.patch_inputs(f))
    made += at.table("embeddings.position_embedding", positions or s.positions(f), hidden)
    made += at.blocks(stack(f, CLIP_STYLE)) + at.norm("post_layernorm", hidden)
    has_head = f.flag("vision_use_head", default=True) if head is None else head
    return made + pooling_head(f, at.at("head.")) if has_head else made


def pooling_head(f: Fields, at: Place) -> Tensors:
    """SigLIP's attention pooling: a probe, one attention, a norm and a feed-forward."""
    hidden, inner = s.hidden(f), s.intermediate(f)
    made = at.table("probe", hidden) + at.matrix("attention.in_proj", 3 * hidden, hidden)
    made += at.matrix("attention.out_proj", hidden, hidden) + at.norm("layernorm", hidden)
    return made + at.matrix("mlp.fc1", inner, hidden) + at.matrix("mlp.fc2", hidden, inner)


def pixtral(f: Fields, at: Place) -> Tensors:
    """Pixtral: rotary positions, gated feed-forward, no biases."""
    hidden = s.hidden(f)
    made = at.conv("patch_conv", hidden, s.patch_inputs(f), bias=False) + at.norm("ln_pre", hidden, bias=False)
    return made + at.blocks(stack(f, PIXTRAL_STYLE, bias="", norm_bias=False))


def intern_vit(f: Fields, at: Place) -> Tensors:
    """InternViT: class token, learned positions, layer scales, RMSNorms on Q and K in the 6B."""
    hidden = s.hidden(f)
    extras = {"ls1": hidden, "ls2": hidden}
    if f.flag("qk_normalization", "use_qk_norm"):
        extras |= {"attn.q_norm": hidden, "attn.k_norm": hidden}
    bias = "qkvoid" if f.flag("qkv_bias", "attention_bias") else "oid"
    layer_norm = f.text("norm_type", default="layer_norm") == "layer_norm"
    made = at.table("embeddings.class_embedding", hidden)
    made += at.conv("embeddings.patch_embedding", hidden, s.patch_inputs(f))
    if f.flag("use_absolute_position_embeddings", default=True):
        made += at.table("embeddings.position_embedding", s.positions(f) + 1, hidden)
    if not f.flag("use_mean_pooling", default=True):
        made += at.norm("layernorm", hidden)
    return made + at.blocks(stack(f, INTERN_STYLE, bias=bias, norm_bias=layer_norm, extras=extras))


def moon_vit(f: Fields, at: Place) -> Tensors:
    """MoonViT (Kimi): learned positions on a grid; K3 drops the biases and widens the attention."""
    hidden = s.hidden(f)
    layer_norm = f.text("norm_type", default="layernorm") == "layernorm"
    bias = ("qkvo" if f.flag("attn_bias", default=True) else "") + ("id" if f.flag("linear_bias", default=True) else "")
    grid = s.side(f, "init_pos_emb_height", "pos_emb_height") * s.side(f, "init_pos_emb_width", "pos_emb_width")
    inner = f.int("qkv_hidden_size", default=hidden)
    patch_bias = f.flag("patch_embed_proj_bias", default=True)
    made = at.conv("patch_embed.proj", hidden, s.patch_inputs(f), bias=patch_bias)
    made += at.table("patch_embed.pos_emb", grid, hidden)
    made += at.blocks(stack(f, MOON_STYLE, bias=bias, norm_bias=layer_norm, inner=inner))
    return made + at.norm("encoder.final_layernorm", hidden, bias=layer_norm)


def aim(f: Fields, at: Place) -> Tensors:
    """AIMv2 (Ovis 2): RMSNorms, gated feed-forward, no biases but the patch's."""
    hidden = s.hidden(f)
    bias = ("qkvo" if f.flag("qkv_bias") else "") + ("id" if f.flag("mlp_bias", "use_bias") else "")
    made = at.conv("embeddings.patch_embedding", hidden, s.patch_inputs(f))
    made += at.table("embeddings.position_embedding", s.positions(f), hidden)
    made += at.norms(("embeddings.rms_norm", "rms_norm"), hidden, bias=False)
    return made + at.blocks(stack(f, AIM_STYLE, bias=bias, norm_bias=False))


_TIMM_VIT = {
    "vit_small_patch16_224": (384, 12, 1536),
    "vit_base_patch16_224": (768, 12, 3072),
    "vit_large_patch16_224": (1024, 24, 4096),
    "vit_huge_patch16_224": (1280, 32, 5120),
}
"""Width, blocks and feed-forward of RADIO's backbones (vLLM 0.33 `configs/radio.py`)."""


def radio(f: Fields, at: Place) -> Tensors:
    """C-RADIO: a linear patch embedding, positions up to `max_resolution`, class and register tokens."""
    args = f.part("args")
    hidden, count, inner = _radio_sizes(f, args)
    patch, channels = s.side(f, "patch_size", default=16), s.channels(f)
    longest = s.side(Fields({**f.values, **args.values}, f.where), "cpe_max_size", "max_img_size", default=2048)
    frames = f.int("video_temporal_patch_size", default=1, high=1024)
    made = at.matrix("patch_generator.embedder", hidden, channels * patch**2, bias=False)
    if frames > 1:
        made += at.matrix("patch_generator.video_embedder", hidden, channels * patch**2 * frames, bias=False)
    made += at.table("patch_generator.pos_embed", (-(-longest // patch)) ** 2, hidden)
    made += at.table("patch_generator.cls_token", _class_and_registers(f, args), hidden)
    return made + at.blocks(Blocks(QWEN_STYLE, count, hidden, inner, extras={"ls1": hidden, "ls2": hidden}))


def _radio_sizes(f: Fields, args: Fields) -> tuple[int, int, int]:
    """By the name of the backbone in `args`, or stated."""
    if not args.has("model"):
        return s.hidden(f), s.layers(f), int(s.hidden(f) * f.number("mlp_ratio", default=4))
    name = args.text("model")
    if name not in _TIMM_VIT:
        raise args.bad("model", name, ", ".join(_TIMM_VIT))
    return _TIMM_VIT[name]


def _class_and_registers(f: Fields, args: Fields) -> int:
    """Stated, or a class token for each named teacher, filled with registers to a multiple (vLLM `ClsToken`)."""
    if not args.has("model"):
        return int(f.int("num_cls_tokens", high=1024) + f.int("num_registers", low=0, high=1024))
    teachers = args.list("teachers") or []
    named = {str(t.get("name")) for t in teachers if isinstance(t, dict)}
    tokens = max(1, len(named)) if args.flag("cls_token_per_teacher") else 1
    multiple = args.int("register_multiple", default=0, low=0, high=1024)
    return tokens + (multiple - tokens % multiple if multiple else 0)


def sam_base(at: Place) -> Tensors:
    """SAM ViT-B at 1,024 pixels as DeepSeek-OCR fixes it in code: 12 blocks of 768, relative positions, neck."""
    grid, window, head, hidden, neck = 64, 14, 64, 768, 256
    made = at.conv("patch_embed.proj", hidden, 3 * 16**2) + at.table("pos_embed", grid**2, hidden)
    made += at.blocks(Blocks(QWEN_STYLE, 12, hidden, 4 * hidden))
    for side, count in ((window, 8), (grid, 4)):
        made += at.table(f"blocks.rel_pos.{side}", 2 * (2 * side - 1), head, layers=count)
    made += at.conv("neck.0", neck, hidden, bias=False) + at.norms(("neck.1", "neck.3"), neck)
    for path, outs, ins in (("neck.2", neck, neck), ("net_2", 512, neck), ("net_3", 1024, 512)):
        made += at.conv(path, outs, 9 * ins, bias=False)
    return made


def llama4_vision(f: Fields, at: Place) -> Tensors:
    """Llama 4: CLIP-like with a linear patch embedding, then a pixel-shuffle MLP."""
    hidden, inner = s.hidden(f), s.intermediate(f)
    made = at.table("class_embedding", hidden) + at.table("positional_embedding_vlm", s.positions(f) + 1, hidden)
    made += at.matrix("patch_embedding.linear", hidden, s.patch_inputs(f), bias=False)
    made += at.norms(("layernorm_pre", "layernorm_post"), hidden)
    made += at.at("model.").blocks(stack(f, LLAMA_VISION_STYLE))
    wide, out = f.int("projector_input_dim"), f.int("projector_output_dim")
    adapter = at.at("vision_adapter.mlp.")
    return made + adapter.matrix("fc1", wide, inner, bias=False) + adapter.matrix("fc2", out, out, bias=False)


def mllama_vision(f: Fields, at: Place) -> Tensors:
    """Llama 3.2 Vision: local and gated global blocks, positions for each tile and aspect ratio."""
    hidden, tokens = s.hidden(f), s.positions(f) + 1
    tiles = f.int("max_num_tiles", high=1024)
    ratios = f.raw("supported_aspect_ratios")[1]
    shapes = (len(ratios) if isinstance(ratios, list) else 8) + 1
    made = at.table("class_embedding", hidden) + at.conv("patch_embedding", hidden, s.patch_inputs(f), bias=False)
    made += at.table("gated_positional_embedding.embedding", tokens, hidden)
    made += at.table("gated_positional_embedding.tile_embedding", shapes, tiles * tokens * hidden)
    for name in ("pre_tile", "post_tile"):
        made += at.table(f"{name}_positional_embedding.embedding", shapes, tiles * hidden)
        made += at.table(f"{name}_positional_embedding.gate", 1)
    made += at.table("gated_positional_embedding.gate", 1) + at.norms(("layernorm_pre", "layernorm_post"), hidden)
    local = stack(f, LLAMA_VISION_STYLE, bias="id")
    gated = stack(f, LLAMA_VISION_STYLE, s.layers(f, "num_global_layers"), bias="id")
    gated = replace(gated, extras={"gate_attn": 1, "gate_ffn": 1})
    return made + at.at("transformer.").blocks(local) + at.at("global_transformer.").blocks(gated)


def step3_vision(f: Fields, at: Place) -> Tensors:
    """Step3-VL: CLIP without the surrounding norms, with a patch bias."""
    hidden = s.hidden(f)
    made = at.table("embeddings.class_embedding", hidden)
    made += at.conv("embeddings.patch_embedding", hidden, s.patch_inputs(f))
    made += at.table("embeddings.position_embedding", s.positions(f) + 1, hidden)
    style = replace(CLIP_STYLE, root="transformer.layers.{i}")
    return made + at.blocks(stack(f, style))


def step3p7_vision(f: Fields, at: Place) -> Tensors:
    """Step 3.7: layer scales, one norm before, two strided convolutions that quadruple the width."""
    hidden = s.hidden(f)
    style = replace(CLIP_STYLE, root="layers.{i}", norms=("layernorm_before", "layernorm_after"))
    scales = {"lambda_1": hidden, "lambda_2": hidden}
    made = at.conv("embeddings.patch_embedding", hidden, s.patch_inputs(f), bias=False)
    made += at.table("embeddings.position_embedding", s.positions(f), hidden) + at.norm("pre_layernorm", hidden)
    inner = int(hidden * f.number("mlp_ratio")) if f.has("mlp_ratio") else s.intermediate(f)
    made += at.blocks(Blocks(style, s.layers(f), hidden, inner, extras=scales))
    made += at.conv("downsampler1", 2 * hidden, 9 * hidden)
    return made + at.conv("downsampler2", 4 * hidden, 18 * hidden)


def eva_clip(f: Fields, at: Place) -> Tensors:
    """EVA2-CLIP of GLM-4V: class token, learned positions, fused QKV."""
    hidden = s.hidden(f)
    style = replace(
        LLAMA_VISION_STYLE, root="transformer.layers.{i}", qkv=("attention.query_key_value",), out="attention.dense"
    )
    made = at.conv("patch_embedding.proj", hidden, s.patch_inputs(f))
    made += at.table("patch_embedding.cls_embedding", hidden)
    made += at.table("patch_embedding.position_embedding", f.int("num_positions"), hidden)
    return made + at.blocks(stack(f, style))


def molmo_vit(at: Place) -> Tensors:
    """Molmo's CLIP ViT-L/14 at 336 pixels, fixed in code: 23 blocks of 1,024, 577 positions, no final norm."""
    hidden = 1024
    made = at.table("class_embedding", hidden) + at.table("positional_embedding", 577, hidden)
    made += at.matrix("patch_embedding", hidden, 3 * 14**2, bias=False) + at.norm("pre_ln", hidden)
    style = replace(WHISPER_STYLE, root="transformer.resblocks.{i}", norms=("attention_norm", "ffn_norm"))
    return made + at.blocks(Blocks(style, 23, hidden, 4 * hidden))


def gemma4(f: Fields, at: Place) -> Tensors:
    """Gemma 4: linear patches, a table of positions for each axis, four RMSNorms and QK norms in each block."""
    hidden, count = s.hidden(f), s.heads(f)
    head = f.int("head_dim", default=hidden // count, high=10**5)
    kv = head * f.int("num_key_value_heads", default=count, high=10**5)
    style = replace(
        LLAMA_VISION_STYLE,
        root="encoder.layers.{i}",
        ins=("mlp.gate_proj", "mlp.up_proj"),
        down="mlp.down_proj",
        norms=(
            "input_layernorm",
            "post_attention_layernorm",
            "pre_feedforward_layernorm",
            "post_feedforward_layernorm",
        ),
    )
    norms = {"self_attn.q_norm": head, "self_attn.k_norm": head}
    made = at.table("patch_embedder.position_embedding_table", 2 * f.int("position_embedding_size"), hidden)
    made += at.matrix("patch_embedder.input_proj", hidden, s.patch_inputs(f), bias=False)
    return made + at.blocks(stack(f, style, bias="", norm_bias=False, inner=count * head, kv_inner=kv, extras=norms))


def minimax(f: Fields, at: Place, frames: int) -> Tensors:
    """MiniMax-M3: CLIP blocks with rotary positions on video patches, a norm before."""
    hidden = s.hidden(f)
    made = at.conv("embeddings.proj", hidden, s.patch_inputs(f) * frames, bias=False) + at.norm("pre_layrnorm", hidden)
    return made + at.blocks(stack(f, CLIP_STYLE))
