"""Models whose vision tower is their own, or that join several."""

from __future__ import annotations

from bide.facts.hf.fields import Fields
from bide.facts.hf.towers import audio, merged, vision
from bide.facts.hf.towers import sizes as s
from bide.facts.hf.towers.place import Tensors, audio_at, mlp, projector_at, vision_at
from bide.facts.hf.towers.sizes import AUDIO, VISION, Family, Root

MOBILENET_V5_PARAMETERS = 294_126_912
"""`mobilenetv5_300m_enc`, Gemma 3n's fixed vision tower (counted in timm 1.0.29)."""


def gemma3n(root: Root) -> Tensors:
    see, sound = root.part(VISION, "gemma3n_vision"), root.part(AUDIO, "gemma3n_audio")
    made = vision_at("model.vision_tower.", whole=True).table("timm_model", MOBILENET_V5_PARAMETERS)
    made += audio.gemma_conformer(sound, audio_at("model.audio_tower.", whole=True))
    for name, part in (("embed_vision", see), ("embed_audio", sound)):
        hidden, at = s.hidden(part), projector_at(f"model.{name}.")
        made += at.table("embedding", part.int("vocab_size"), hidden)
        made += at.norms(("hard_embedding_norm", "soft_embedding_norm"), hidden, bias=False)
        made += at.matrix("embedding_projection", root.text_hidden, hidden, bias=False)
    return made


def gemma4(root: Root) -> Tensors:
    """Gemma 4: two tables of positions and QK norms in the vision tower; audio in the small models only."""
    see = root.part(VISION, "gemma4_vision")
    made: Tensors = ()
    if root.fields.has(VISION):
        made = vision.gemma4(see, vision_at("model.vision_tower.", whole=True))
        made += projector_at("model.embed_vision.").matrix(
            "embedding_projection", root.text_hidden, s.hidden(see), bias=False
        )
    if not root.fields.has(AUDIO):
        return made
    sound = root.part(AUDIO, "gemma4_audio")
    out = sound.int("output_proj_dims")
    at = audio_at("model.audio_tower.", whole=True)
    made += audio.gemma_conformer(sound, at) + at.matrix("output_proj", out, s.hidden(sound))
    return made + projector_at("model.embed_audio.").matrix("embedding_projection", root.text_hidden, out, bias=False)


def llama4(root: Root) -> Tensors:
    see = root.part(VISION, "llama4_vision_model")
    made = vision.llama4_vision(see, vision_at("vision_model."))
    out = see.int("vision_output_dim")
    return made + projector_at().matrix("linear_1", root.text_hidden, out, bias=False)


def mllama(root: Root) -> Tensors:
    see = root.part(VISION, "mllama_vision_model")
    made = vision.mllama_vision(see, vision_at("vision_model."))
    return made + projector_at("").matrix("multi_modal_projector", root.text_hidden, see.int("vision_output_dim"))


def internvl(root: Root) -> Tensors:
    """InternVL in its own format and in Hugging Face's, Intern-S1: InternViT, a pixel shuffle, a norm, two layers."""
    see, text = root.part(VISION, "internvl_vision"), root.text_hidden
    joined = s.hidden(see) * s.shrink(root.fields)
    at = projector_at("mlp1.")
    made = vision.intern_vit(see, vision_at("vision_model.")) + at.norm("0", joined)
    return made + mlp(at, joined, text, text, names=("1", "3"))


def kimi(root: Root) -> Tensors:
    """Kimi-VL, Kimi K2.5 and K3: MoonViT and a patch merger; K3's has no biases and a norm after."""
    see, text = root.part(VISION, "kimi_k25_vision"), root.text_hidden
    hidden = s.hidden(see)
    joined = hidden * s.area(see, "merge_kernel_size", default=2)
    second = see.text("mm_projector_type", default="patchmerger") == "patchmergerv2"
    at = projector_at("mm_projector.")
    made = vision.moon_vit(see, vision_at("vision_tower.")) + mlp(
        at, joined, joined, text, names=("proj.0", "proj.2"), bias=not second
    )
    return made + (at.norm("post_norm", text, bias=False) if second else at.norm("pre_norm", hidden))


def minicpm_v(root: Root) -> Tensors:
    """MiniCPM-V 2.5 to 4.5: SigLIP without a head, and a resampler whose queries attend to the patches once."""
    see, text = root.part(VISION, "siglip_vision_model"), root.text_hidden
    hidden = s.hidden(see)
    drop = root.fields.flag("drop_vision_last_layer")
    see = Fields({**see.values, "num_hidden_layers": s.layers(see) - drop}, see.where, see.defaults)
    made = vision.siglip(see, vision_at("vpm."), head=False)
    at = projector_at("resampler.")
    made += at.table("query", root.fields.int("query_num", default=64), text)
    made += at.matrix("kv_proj", text, hidden, bias=False) if hidden != text else ()
    made += at.matrix("attn.in_proj", 3 * text, text) + at.matrix("attn.out_proj", text, text)
    return made + at.norms(("ln_q", "ln_kv", "ln_post"), text) + at.table("proj", text, text)


def minicpm_o(root: Root) -> Tensors:
    """MiniCPM-o: MiniCPM-V and a Whisper encoder with a two-layer projector; engines do not load its voice."""
    made = minicpm_v(root)
    if not root.fields.has(AUDIO):
        return made
    sound = root.part(AUDIO, "whisper")
    made += audio.whisper(sound, audio_at("apm."))
    at, text = projector_at("audio_projection_layer."), root.text_hidden
    return made + mlp(at, s.intermediate(sound) // 4, text, text, names=("linear1", "linear2"))


def minicpm_v4_6(root: Root) -> Tensors:
    """MiniCPM-V 4.6 and 4.7, MiniCPM-OCR: windows of 2 x 2 patches merged inside the tower, and once more after it."""
    see = root.part(VISION, "minicpmv4_6_vision")
    hidden = s.hidden(see)
    joined = hidden * s.area(see, "window_kernel_size", default=2)
    at = vision_at("model.vision_tower.")
    made = vision.siglip(see, at, head=False)
    inside = at.at("vit_merger.")
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        made += inside.matrix(f"self_attn.{name}", hidden, hidden)
    made += inside.norm("layer_norm1", hidden) + inside.norm("pre_norm", joined)
    made += mlp(inside, joined, 4 * s.intermediate(see), hidden)
    made += _minicpm_mergers(root, hidden)
    return made


def _minicpm_mergers(root: Root, hidden: int) -> Tensors:
    joined, times = (
        hidden * s.area(root.fields, "merge_kernel_size", default=2),
        s.layers(root.fields, "merger_times") if root.fields.has("merger_times") else 1,
    )
    made: Tensors = ()
    for i in range(times):
        at = projector_at(f"model.merger.mlp.{i}.")
        out = root.text_hidden if i == times - 1 else hidden
        made += at.norm("pre_norm", joined) + mlp(at, joined, joined, out)
    return made


def molmo(root: Root) -> Tensors:
    """Molmo: CLIP fixed in code; attention pools two of its layers; a gated projector of half the text's width."""
    hidden, text = 1024, root.text_hidden
    inner = root.fields.int("intermediate_size") // 2
    made = vision.molmo_vit(vision_at("model.vision_backbone.image_vit."))
    at = projector_at("model.vision_backbone.")
    for name, ins in (("wq", 2 * hidden), ("wk", 2 * hidden), ("wv", 2 * hidden), ("wo", hidden)):
        made += at.matrix(f"image_pooling_2d.{name}", hidden, ins)
    for name, rows, cols in (("w1", inner, hidden), ("w3", inner, hidden), ("w2", text, inner)):
        made += at.matrix(f"image_projector.{name}", rows, cols, bias=False)
    return made + at.table("pad_embed", 2, 2 * hidden)


def minimax_m3(root: Root) -> Tensors:
    """MiniMax-M3: CLIP blocks on video patches without positions or a norm after, and two two-layer projectors."""
    see, text = root.part(VISION, "minimax_m3_vl_vision"), root.text_hidden
    hidden, middle = s.hidden(see), root.fields.int("projector_hidden_size", default=root.text_hidden)
    packing = Fields({**see.values, **see.part("img_token_compression_config").values}, see.where)
    side, frames = (
        packing.int("spatial_merge_size", default=2, high=1024),
        packing.int("temporal_patch_size", default=2, high=1024),
    )
    made = vision.minimax(see, vision_at("vision_tower.vision_model."), frames)
    at = projector_at("")
    made += mlp(at, hidden, middle, text, names=("multi_modal_projector.linear_1", "multi_modal_projector.linear_2"))
    return made + mlp(at, text * side**2, middle, text, names=("patch_merge_mlp.linear_1", "patch_merge_mlp.linear_2"))


def deepseek_vl2(root: Root) -> Tensors:
    """DeepSeek-VL2: timm's SigLIP so400m (no head), a down-sampling MLP, two separators."""
    see = root.fields.part(VISION)
    width = see.int("width", default=1152)
    ratio = see.number("mlp_ratio", default=3.7362)
    sizes = {
        "hidden_size": width,
        "intermediate_size": int(width * ratio),
        "num_hidden_layers": s.layers(see) if see.has("layers") else 27,
    }
    full = Fields({"image_size": 384, "patch_size": 14, **see.values, **sizes}, see.where)
    return vision.siglip(full, vision_at("vision."), head=False) + _deepseek_projector(root)


def deepseek_ocr(root: Root) -> Tensors:
    """DeepSeek-OCR: SAM ViT-B, CLIP ViT-L/14 at 224 pixels on its output, one linear layer, two separators."""
    see = root.part("no such part", "clip_vision_l_224")
    made = vision.sam_base(vision_at("model.sam_model.")) + vision.clip(see, vision_at("model.vision_model."))
    post = 2 * s.hidden(see)
    made = tuple(t for t in made if not (t.module == "model.vision_model.post_layernorm" and t.parameters == post))
    return made + _deepseek_projector(root)


def _deepseek_projector(root: Root) -> Tensors:
    shape = root.fields.part("projector_config")
    out = shape.int("n_embed", default=root.text_hidden)
    ins, at = shape.int("input_dim", default=1152), projector_at("projector.")
    made = at.table("image_newline", out) + at.table("view_seperator", out)
    if shape.text("projector_type", default="downsample_mlp_gelu") == "linear":
        return made + at.matrix("layers", out, ins)
    wide = out * shape.int("mlp_ratio", default=1, high=1024)
    depth = shape.int("depth", default=2, low=2, high=1024)
    widths = (ins * shape.int("downsample_ratio", default=2, high=1024) ** 2, *([wide] * (depth - 1)), out)
    return made + mlp(at, *widths, names=tuple(f"layers.{2 * i}" for i in range(depth)))


def step3_vl(root: Root) -> Tensors:
    see = root.part(VISION, "step3_vision_encoder")
    hidden, out = s.hidden(see), see.int("output_hidden_size", default=4096)
    at = projector_at("")
    made = vision.step3_vision(see, vision_at("vision_model.")) + at.conv("vit_downsampler", out, 4 * hidden)
    made += at.conv("vit_downsampler2", 2 * out, 9 * out)
    return made + at.matrix("vit_large_projector", root.text_hidden, 2 * out, bias=root.fields.flag("projector_bias"))


def step3p7(root: Root) -> Tensors:
    see = root.part(VISION, "step3p5_vision")
    made = vision.step3p7_vision(see, vision_at("vision_model."))
    bias = root.fields.flag("projector_bias")
    return made + projector_at("").matrix("multi_modal_projector", root.text_hidden, 4 * s.hidden(see), bias=bias)


def nemotron_vl(root: Root) -> Tensors:
    """Llama-Nemotron-Nano-VL: C-RADIO, a pixel shuffle, a norm and two layers."""
    see = root.fields.part(VISION)
    hidden = root.fields.int("vit_hidden_size", default=1280)
    middle, joined = root.fields.int("projector_hidden_size", default=4096), hidden * s.shrink(root.fields)
    at = projector_at("mlp1.")
    made = vision.radio(see, vision_at("vision_model.radio_model.model.", whole=True)) + at.norm("0", joined)
    return made + mlp(at, joined, middle, root.text_hidden, names=("1", "3"))


def nemotron_omni(root: Root) -> Tensors:
    """Nemotron Nano VL 2 and Nemotron Omni: C-RADIO, a pixel shuffle, an RMSNorm and two layers without biases."""
    see = root.part(VISION, "radio")
    hidden = root.fields.int("vit_hidden_size", default=1280)
    middle, joined = root.fields.int("projector_hidden_size", default=4096), hidden * s.shrink(root.fields)
    at = projector_at("mlp1.")
    made = vision.radio(see, vision_at("vision_model.radio_model.model.")) + at.norm("0", joined, bias=False)
    return made + mlp(at, joined, middle, root.text_hidden, names=("1", "3"), bias=False)


def ovis2(root: Root) -> Tensors:
    """Ovis 2 in Hugging Face's format: the visual tokenizer's sizes stand in `vision_config`."""
    see = root.part(VISION, "ovis2_vision")
    return _visual_tokenizer(root, see, see)


def ovis(root: Root) -> Tensors:
    """Ovis 2 in its own format."""
    tokenizer = Fields(root.fields.part("visual_tokenizer_config").values, "config.json.visual_tokenizer_config")
    return _visual_tokenizer(root, tokenizer, tokenizer.part("backbone_config"))


def _visual_tokenizer(root: Root, see: Fields, backbone: Fields) -> Tensors:
    """AIMv2, a head onto a visual vocabulary, and that vocabulary's embedding table."""
    stride = see.int("hidden_stride", default=2, high=1024) ** 2
    words = see.int("vocab_size", default=16384)
    seen = words - see.int("num_visual_indicator_tokens", default=5, low=0)
    at = projector_at("visual_tokenizer.")
    made = vision.aim(backbone, vision_at("visual_tokenizer.backbone."))
    made += at.matrix("head.0", seen, s.hidden(backbone) * stride, bias=False) + at.norm("head.1", seen)
    return made + projector_at("").table("vte", words, root.fields.int("hidden_size", default=root.text_hidden))


def ernie(root: Root) -> Tensors:
    return merged.ernie(root.part(VISION, "ernie4_5_vl_moe_vision"), vision_at("vision_model."), root.text_hidden)


FAMILIES: dict[str, Family] = {
    "deepseek_ocr": deepseek_ocr,
    "deepseek_vl_v2": deepseek_vl2,
    "ernie4_5_moe_vl": ernie,
    "ernie4_5_vl_moe": ernie,
    "gemma3n": gemma3n,
    "gemma4": gemma4,
    "interns1": internvl,
    "internvl": internvl,
    "h2ovl_chat": internvl,
    "internvl_chat": internvl,
    "skywork_chat": internvl,
    "kimi_k25": kimi,
    "kimi_k3": kimi,
    "kimi_vl": kimi,
    "llama4": llama4,
    "llama_nemotron_nano_vl": nemotron_vl,
    "minicpm_ocr": minicpm_v4_6,
    "minicpmo": minicpm_o,
    "minicpmv": minicpm_v,
    "minicpmv4_6": minicpm_v4_6,
    "minicpmv4_7": minicpm_v4_6,
    "minimax_m3_vl": minimax_m3,
    "mllama": mllama,
    "molmo": molmo,
    "nemotron_h_omni": nemotron_omni,
    "nemotronh_nano_omni_reasoning_v3": nemotron_omni,
    "nemotronh_nano_vl_v2": nemotron_omni,
    "nemotronh_omni_reasoning_v3": nemotron_omni,
    "nemotronh_super_omni_reasoning_v3": nemotron_omni,
    "ovis": ovis,
    "ovis2": ovis2,
    "step3_vl": step3_vl,
    "step3p7": step3p7,
}
