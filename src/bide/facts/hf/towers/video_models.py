"""Models on Qwen's and GLM's video towers, each of which ends in its own merger."""

from __future__ import annotations

from dataclasses import replace

from bide.facts.hf.fields import Fields
from bide.facts.hf.towers import audio, merged, vision
from bide.facts.hf.towers import sizes as s
from bide.facts.hf.towers.place import Tensors, audio_at, projector_at, vision_at
from bide.facts.hf.towers.sizes import AUDIO, VISION, Family, Root


def qwen2_vl(root: Root) -> Tensors:
    return merged.qwen2(root.part(VISION, "qwen2_vl_vision"), vision_at("visual."))


def qwen2_5_vl(root: Root) -> Tensors:
    return merged.qwen2_5(root.part(VISION, "qwen2_5_vl_vision"), vision_at("visual."))


def exaone4_5(root: Root) -> Tensors:
    return merged.qwen2_5(root.part(VISION, "exaone4_5_vision"), vision_at("model.visual."))


def qwen3_vl(root: Root) -> Tensors:
    return merged.qwen3(root.part(VISION, "qwen3_vl_vision"), vision_at("model.visual."))


def qwen3_5(root: Root) -> Tensors:
    """Qwen3.5 to 3.8: Qwen3-VL's tower without deepstack."""
    part = root.part(VISION, "qwen3_5_vision")
    return merged.qwen3(
        Fields({**part.values, "deepstack_visual_indexes": []}, part.where, part.defaults), vision_at("model.visual.")
    )


def qwen2_5_omni(root: Root) -> Tensors:
    thinker = root.inside("thinker_config")
    sound = thinker.part(AUDIO, "qwen2_5_omni_audio_encoder")
    at, out = audio_at("thinker.audio_tower."), sound.int("output_dim")
    made = audio.whisper(sound, at, positions=False, norm="ln_post")
    made += at.table("audio_bos_eos_token", 2, out) + replace(at, component="projector").matrix(
        "proj", out, s.hidden(sound)
    )
    return made + merged.qwen2_5(thinker.part(VISION, "qwen2_5_omni_vision_encoder"), vision_at("thinker.visual."))


def qwen3_omni(root: Root) -> Tensors:
    thinker = root.inside("thinker_config")
    made = audio.qwen3_audio(thinker.part(AUDIO, "qwen3_omni_moe_audio_encoder"), audio_at("thinker.audio_tower."))
    return made + merged.qwen3(thinker.part(VISION, "qwen3_omni_moe_vision_encoder"), vision_at("thinker.visual."))


def glm4v(root: Root) -> Tensors:
    return merged.glm(root.part(VISION, "glm4v_vision"), vision_at("model.visual."))


def glm_ocr(root: Root) -> Tensors:
    return merged.glm(root.part(VISION, "glm_ocr_vision"), vision_at("model.visual."), ocr=True)


def glm_4v_eva(root: Root) -> Tensors:
    """GLM-4V-9B (ChatGLM code): EVA2-CLIP, a strided convolution and a gated projector of the text model's width."""
    see, text = root.fields.part(VISION), root.text_hidden
    at = vision_at("transformer.vision.")
    made = vision.eva_clip(see, at) + at.conv("conv", text, 4 * s.hidden(see))
    made += at.table("boi", text) + at.table("eoi", text)
    inner = root.fields.int("ffn_hidden_size", "intermediate_size")
    return made + merged.gated_merger(projector_at("transformer.vision.linear_proj."), text, inner)


FAMILIES: dict[str, Family] = {
    "chatglm": glm_4v_eva,
    "exaone4_5": exaone4_5,
    "glm4v": glm4v,
    "glm4v_moe": glm4v,
    "glm46v": glm4v,
    "glm_ocr": glm_ocr,
    "qwen2_5_omni": qwen2_5_omni,
    "qwen2_5_omni_thinker": qwen2_5_omni,
    "qwen2_5_vl": qwen2_5_vl,
    "qwen2_vl": qwen2_vl,
    "qwen3_5": qwen3_5,
    "qwen3_5_moe": qwen3_5,
    "qwen3_omni_moe": qwen3_omni,
    "qwen3_omni_moe_thinker": qwen3_omni,
    "qwen3_vl": qwen3_vl,
    "qwen3_vl_moe": qwen3_vl,
}
