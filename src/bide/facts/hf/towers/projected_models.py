"""Models that put a small projector behind CLIP, SigLIP or Pixtral."""

from __future__ import annotations

from collections.abc import Callable

from bide.facts.hf.fields import Fields
from bide.facts.hf.towers import audio, vision
from bide.facts.hf.towers import sizes as s
from bide.facts.hf.towers.place import Place, Tensors, audio_at, mlp, projector_at, vision_at
from bide.facts.hf.towers.sizes import AUDIO, VISION, Family, Root


def tower(see: Fields, at: Place) -> Tensors:
    """The vision tower that a LLaVA-like config names in `vision_config.model_type`."""
    kind = str(see.values.get("model_type") or "clip_vision_model")
    if kind not in TOWERS:
        raise see.bad("model_type", kind, ", ".join(sorted(TOWERS)))
    return TOWERS[kind](see, at)


def _siglip2(see: Fields, at: Place) -> Tensors:
    return vision.siglip(see, at, positions=see.int("num_patches", default=256))


TOWERS: dict[str, Callable[[Fields, Place], Tensors]] = {
    "clip_vision_model": vision.clip,
    "siglip_vision_model": vision.siglip,
    "siglip2_vision_model": _siglip2,
    "pixtral": vision.pixtral,
}


def _named(root: Root, default: str) -> Fields:
    """The vision part with the defaults of the class that it names."""
    given = root.fields.part(VISION).values.get("model_type")
    return root.part(VISION, given if isinstance(given, str) else default)


def llava(root: Root) -> Tensors:
    """LLaVA and its successors: a two-layer MLP from one or more feature layers, and a newline embedding in some."""
    see, text = _named(root, "clip_vision_model"), root.text_hidden
    chosen = root.fields.raw("vision_feature_layer")[1]
    features = len(chosen) if isinstance(chosen, list) else 1
    bias = root.fields.flag("multimodal_projector_bias", default=True)
    made = tower(see, vision_at("vision_tower.vision_model.")) + mlp(
        projector_at(), s.hidden(see) * features, text, text, bias=bias
    )
    newline = root.fields.values.get("model_type") != "llava"
    return made + projector_at("").table("image_newline", text) if newline else made


def gemma3(root: Root) -> Tensors:
    see = root.part(VISION, "siglip_vision_model")
    hidden = s.hidden(see)
    made = vision.siglip(see, vision_at("vision_tower.vision_model."))
    at = projector_at()
    return (
        made
        + at.table("mm_input_projection_weight", hidden, root.text_hidden)
        + at.norm("mm_soft_emb_norm", hidden, bias=False)
    )


def paligemma(root: Root) -> Tensors:
    see = root.part(VISION, "siglip_vision_model")
    see = Fields({"vision_use_head": False, **see.values}, see.where, see.defaults)
    made = vision.siglip(see, vision_at("vision_tower.vision_model."))
    return made + projector_at().matrix("linear", root.text_hidden, s.hidden(see))


def mistral3(root: Root) -> Tensors:
    """Mistral 3 and LightOn OCR: Pixtral, a patch merger, and two layers."""
    see, text = root.part(VISION, "pixtral"), root.text_hidden
    hidden = s.hidden(see)
    joined = hidden * s.area(root.fields, "spatial_merge_size", default=2)
    at = projector_at()
    made = vision.pixtral(see, vision_at("vision_tower.")) + at.norm("norm", hidden, bias=False)
    made += at.matrix("patch_merger.merging_layer", hidden, joined, bias=False)
    bias = root.fields.flag("multimodal_projector_bias")
    return made + mlp(at, hidden, text, text, bias=bias)


def cohere2_vision(root: Root) -> Tensors:
    see = _named(root, "siglip_vision_model")
    factor = root.fields.int("downsample_factor", default=2, high=1024) ** 2
    middle = root.fields.int("alignment_intermediate_size", default=36864)
    at = projector_at()
    made = tower(see, vision_at("vision_tower.vision_model.")) + at.matrix("linear_1", middle, s.hidden(see) * factor)
    return made + at.matrix("linear_2", root.text_hidden, middle // 2)


def aya_vision(root: Root) -> Tensors:
    see = _named(root, "siglip_vision_model")
    joined = s.hidden(see) * root.fields.int("downsample_factor", default=2, high=1024) ** 2
    middle = root.fields.int("adapter_layer_intermediate_size", "alignment_intermediate_size", default=root.text_hidden)
    at = projector_at()
    made = tower(see, vision_at("vision_tower.vision_model.")) + at.norm("layernorm", joined)
    return made + at.matrix("linear_1", middle, joined) + at.matrix("linear_2", root.text_hidden, middle // 2)


def lfm2_vl(root: Root) -> Tensors:
    see, text = root.part(VISION, "siglip2_vision_model"), root.text_hidden
    joined = s.hidden(see) * root.fields.int("downsample_factor", default=2, high=1024) ** 2
    middle = root.fields.int("projector_hidden_size", default=2560)
    at, bias = projector_at(), root.fields.flag("projector_bias", default=True)
    made = _siglip2(see, vision_at("vision_tower.vision_model."))
    if root.fields.flag("projector_use_layernorm", default=True):
        made += at.norm("layer_norm", joined)
    return made + mlp(at, joined, middle, text, bias=bias)


def idefics3(root: Root) -> Tensors:
    """Idefics 3 and SmolVLM: SigLIP without a head, a pixel shuffle and one layer."""
    kind = "smolvlm_vision" if root.fields.values.get("model_type") == "smolvlm" else "idefics3_vision"
    see = root.part(VISION, kind)
    joined = s.hidden(see) * root.fields.int("scale_factor", default=2, high=1024) ** 2
    made = vision.siglip(see, vision_at("model.vision_model."), head=False)
    at = projector_at("model.connector.")
    return made + at.matrix("modality_projection.proj", root.text_hidden, joined, bias=False)


def paddleocr(root: Root) -> Tensors:
    see = root.part(VISION, "paddleocr_vl_vision")
    hidden = s.hidden(see)
    joined = hidden * s.area(see, "spatial_merge_size", default=2)
    at = projector_at("mlp_AR.")
    made = vision.siglip(see, vision_at("visual.vision_model."), head=False) + at.norm("pre_norm", hidden)
    return made + mlp(at, joined, joined, root.text_hidden)


def phi3_v(root: Root) -> Tensors:
    """Phi-3-vision and 3.5-vision: CLIP ViT-L/14 at 336 pixels, fixed in code, and two separators."""
    see, text = root.part("no such part", "clip_vision_l_336"), root.text_hidden
    at = projector_at("model.vision_embed_tokens.")
    joined = 4 * s.hidden(see)
    made = vision.clip(see, vision_at("model.vision_embed_tokens.img_processor.vision_model."))
    made += at.table("glb_GN", joined) + at.table("sub_GN", joined)
    return made + mlp(at, joined, text, text, names=("img_projection.0", "img_projection.2"))


def phi4_multimodal(root: Root) -> Tensors:
    """Phi-4-multimodal; its published config leaves the towers' sizes to the code. LoRA adapters are not counted."""
    see, sound = root.part(VISION, "phi4_multimodal_vision"), root.part(AUDIO, "phi4_multimodal_audio")
    text, place = root.text_hidden, "model.embed_tokens_extend."
    made = vision.siglip(see, vision_at(f"{place}image_embed.img_processor."), head=True)
    at = projector_at(f"{place}image_embed.")
    made += at.table("global_img_feature_extensor", s.hidden(see)) + at.table("sub_img_feature_extensor", s.hidden(see))
    made += mlp(at, s.hidden(see), text, text, names=("img_projection_up", "img_projection_down"))
    made += audio.phi4_conformer(sound, audio_at(f"{place}audio_embed.encoder.", whole=True))
    wide = s.hidden(sound) * sound.int("downsample_rate", default=1, high=1024)
    for kind in ("speech", "vision_speech"):
        names = (f"up_proj_for_{kind}", f"down_proj_for_{kind}")
        made += mlp(projector_at(f"{place}audio_embed."), wide, text, text, names=names)
    return made


FAMILIES: dict[str, Family] = {
    "aya_vision": aya_vision,
    "cohere2_vision": cohere2_vision,
    "gemma3": gemma3,
    "idefics3": idefics3,
    "lfm2_vl": lfm2_vl,
    "lighton_ocr": mistral3,
    "llava": llava,
    "llava_next": llava,
    "llava_next_video": llava,
    "llava_onevision": llava,
    "ministral3": mistral3,
    "mistral3": mistral3,
    "paddleocr_vl": paddleocr,
    "paligemma": paligemma,
    "phi3_v": phi3_v,
    "phi4_multimodal": phi4_multimodal,
    "phi4mm": phi4_multimodal,
    "smolvlm": idefics3,
}
