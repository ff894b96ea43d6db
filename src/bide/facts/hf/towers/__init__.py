"""The encoders of multimodal models: vision and audio towers, and the projectors behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bide.facts.hf.fields import Fields
from bide.facts.model import Tensor
from bide.i18n import _

if TYPE_CHECKING:
    from bide.facts.hf.towers.sizes import Family

ENCODER_KEYS = (
    "vision_config",
    "audio_config",
    "vision_tower_config",
    "vision_encoder_config",
    "encoder_config",
    "visual_tokenizer_config",
    "vit_config",
    "sound_config",
    "speech_config",
    "mm_vision_tower",
    "visual",
    "vision_tower",
    "vision_model",
    "thinker_config",
    "img_processor",
    "audio_processor",
)
"""Any of these says that the model has an encoder."""

BY_CODE = ("molmo", "phi3_v", "phi4mm", "phi4_multimodal", "whisper")
"""Models whose encoder is fixed in code, or described at the config's root."""


@dataclass(frozen=True, slots=True)
class Encoders:
    """An encoder's tensors, and what to say about those that could not be counted."""

    tensors: tuple[Tensor, ...] = ()
    notes: tuple[str, ...] = ()


def is_multimodal(config: Mapping[str, Any]) -> bool:
    """Whether the config is worth asking for encoders: plain text models never load their rules."""
    return has_encoders(config) or isinstance(config.get("text_config"), Mapping)


def has_encoders(config: Mapping[str, Any]) -> bool:
    """Whether the config describes a vision or audio encoder."""
    return any(config.get(key) is not None for key in ENCODER_KEYS) or config.get("model_type") in BY_CODE


def encoders(config: Mapping[str, Any], text_hidden: int) -> Encoders:
    """The encoders of a whole `config.json` whose text model is `text_hidden` wide.

    A family that has no rule keeps its text model: the result then has no tensors, and a note.
    Raises BadInput for a missing or impossible field of a family that has one.
    """
    from bide.facts.hf.towers.sizes import Root

    kind = str(config.get("model_type") or "").lower()
    family = _families().get(kind)
    if not has_encoders(config):
        absent = _("the config does not describe the encoder of {kind}: its weights are not counted")
        return Encoders(notes=(absent.format(kind=kind),) if family else ())
    if family is None:
        return Encoders(notes=(_not_counted(kind),))
    root = Root(Fields(config), text_hidden)
    extra = (_not_counted("sound_config"),) if config.get("sound_config") is not None else ()
    return Encoders(family(root), extra)


def _families() -> dict[str, Family]:
    """Every family's rule by `model_type`; loaded with the first multimodal model."""
    from bide.facts.hf.towers import own_models, projected_models, speech_models, video_models

    tables = (own_models, projected_models, speech_models, video_models)
    return {kind: family for module in tables for kind, family in module.FAMILIES.items()}


def _not_counted(kind: str) -> str:
    return _("the encoder's weights are not counted: no rule for {kind}").format(kind=kind or "?")
