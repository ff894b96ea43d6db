"""Reading a tower's own sizes: aliases, square images, and class defaults behind nested configs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bide.facts.hf.defaults import class_defaults
from bide.facts.hf.fields import MAX_LAYERS, Fields
from bide.facts.hf.towers.place import Tensors
from bide.i18n import _

VISION, AUDIO = "vision_config", "audio_config"
HIDDEN = ("hidden_size", "vt_hidden_size", "embed_dim", "width", "d_model")
LAYERS = ("num_hidden_layers", "vt_num_hidden_layers", "depth", "layers", "encoder_layers", "num_layers")
HEADS = ("num_attention_heads", "vt_num_attention_heads", "num_heads", "heads", "encoder_attention_heads")
INTERMEDIATE = ("intermediate_size", "vt_intermediate_size", "encoder_ffn_dim")
CHANNELS = ("num_channels", "in_channels", "in_chans")
MAX_SIDE = 10**5


@dataclass(frozen=True, slots=True)
class Root:
    """A whole config and the width of its text model, which every projector ends in."""

    fields: Fields
    text_hidden: int

    def inside(self, key: str) -> Root:
        """The part under `key` as a root of its own (the thinker, which engines load alone); itself where absent."""
        part = self.fields.part(key)
        return replace(self, fields=part) if part.values else self

    def part(self, key: str, model_type: str) -> Fields:
        """The tower's part under `key`, with the defaults of class `model_type` behind it."""
        part = self.fields.part(key)
        return Fields(part.values, part.where, class_defaults(model_type))


def hidden(f: Fields) -> int:
    return int(f.int(*HIDDEN))


def layers(f: Fields, *names: str) -> int:
    return int(f.int(*(names or LAYERS), high=MAX_LAYERS))


def heads(f: Fields) -> int:
    return int(f.int(*HEADS, high=10**5))


def intermediate(f: Fields) -> int:
    return int(f.int(*INTERMEDIATE))


def channels(f: Fields) -> int:
    return int(f.int(*CHANNELS, default=3, high=1024))


def side(f: Fields, *names: str, default: Any = None) -> int:
    """A length in pixels or patches: a number, or a list of equal ones."""
    name, value = f.raw(*names)
    if isinstance(value, list | tuple) and value and all(v == value[0] for v in value):
        value = value[0]
        return int(Fields({name: value}, f.where).int(name, high=MAX_SIDE))
    return int(f.int(*names, high=MAX_SIDE, **({} if default is None else {"default": default})))


def area(f: Fields, *names: str, default: int = 1) -> int:
    """A two-dimensional factor: `[2, 2]` and 2 are both 4."""
    name, value = f.raw(*names)
    if isinstance(value, list | tuple):
        if len(value) != 2 or not all(isinstance(v, int) and 0 < v <= MAX_SIDE for v in value):
            raise f.bad(name, value, _("one number or two"))
        return int(value[0] * value[1])
    return int(f.int(*names, default=default, high=MAX_SIDE)) ** 2


def patch_inputs(f: Fields) -> int:
    """Input values of one flat patch: channels x patch x patch."""
    return channels(f) * side(f, "patch_size") ** 2


def positions(f: Fields) -> int:
    """Patches of a square image of the stated size."""
    return (side(f, "image_size") // side(f, "patch_size")) ** 2


def shrink(f: Fields, default: float = 0.5) -> int:
    """How many patches a pixel shuffle joins: `downsample_ratio` 0.5 is 4."""
    ratio = f.number("downsample_ratio", "pixel_shuffle_ratio", default=default)
    if not 0.01 <= ratio <= 1:
        raise f.bad("downsample_ratio", ratio, _("a number from 0.01 to 1"))
    return int(1 / ratio) ** 2


Family = Callable[[Root], Tensors]
"""From a whole config to the tensors of its encoders."""
