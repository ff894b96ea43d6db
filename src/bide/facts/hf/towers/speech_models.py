"""Models that hear and do not see."""

from __future__ import annotations

from bide.facts.hf.fields import Fields
from bide.facts.hf.towers import audio
from bide.facts.hf.towers import sizes as s
from bide.facts.hf.towers.place import Tensors, audio_at, mlp, projector_at
from bide.facts.hf.towers.sizes import AUDIO, Family, Root


def qwen3_asr(root: Root) -> Tensors:
    sound = root.inside("thinker_config").part(AUDIO, "qwen3_asr_encoder")
    return audio.qwen3_audio(sound, audio_at("thinker.audio_tower."))


def qwen2_audio(root: Root) -> Tensors:
    sound = root.part(AUDIO, "qwen2_audio_encoder")
    made = audio.whisper(sound, audio_at("audio_tower.", whole=True))
    return made + projector_at().matrix("linear", root.text_hidden, s.hidden(sound))


def glm_asr(root: Root) -> Tensors:
    sound = root.part(AUDIO, "glmasr_encoder")
    text = root.text_hidden
    return audio.glm_asr(sound, audio_at("audio_tower.")) + mlp(projector_at(), s.intermediate(sound), 2 * text, text)


def voxtral(root: Root) -> Tensors:
    sound = root.part(AUDIO, "voxtral_encoder")
    made = audio.whisper(sound, audio_at("audio_tower."))
    return made + mlp(projector_at(), s.intermediate(sound), root.text_hidden, root.text_hidden, bias=False)


def voxtral_realtime(root: Root) -> Tensors:
    sound = root.part(AUDIO, "voxtral_realtime_encoder")
    joined = s.hidden(sound) * root.fields.int("downsample_factor", default=4, high=1024)
    return audio.voxtral_realtime(sound, audio_at("audio_tower.")) + mlp(
        projector_at(), joined, root.text_hidden, root.text_hidden, bias=False
    )


def audio_flamingo(root: Root) -> Tensors:
    sound = root.part(AUDIO, "audioflamingo3_encoder")
    bias = root.fields.flag("projector_bias", default=True)
    text = root.text_hidden
    return audio.whisper(sound, audio_at("audio_tower.")) + mlp(projector_at(), s.hidden(sound), text, text, bias=bias)


def granite_speech(root: Root) -> Tensors:
    sound = root.part("encoder_config", "granite_speech_encoder")
    bridge = root.part("projector_config", "blip_2_qformer")
    window, rate = root.fields.int("window_size", default=15), root.fields.int("downsample_rate", default=5)
    at = projector_at("projector.")
    made = audio.granite_conformer(sound, audio_at("encoder.")) + audio.q_former(bridge, at, max(1, window // rate))
    return made + at.matrix("linear", root.text_hidden, s.hidden(bridge))


def whisper(root: Root) -> Tensors:
    """Whisper's own encoder; its decoder is the text model."""
    return audio.whisper(Fields(root.fields.values), audio_at("model.encoder."))


FAMILIES: dict[str, Family] = {
    "audioflamingo3": audio_flamingo,
    "glmasr": glm_asr,
    "granite_speech": granite_speech,
    "granite_speech_plus": granite_speech,
    "qwen2_audio": qwen2_audio,
    "qwen3_asr": qwen3_asr,
    "voxtral": voxtral,
    "voxtral_realtime": voxtral_realtime,
    "whisper": whisper,
}
