"""Vision towers of the Qwen kind: blocks on merged video patches, then a merger into the text model."""

from __future__ import annotations

from dataclasses import replace

from bide.facts.hf.fields import Fields
from bide.facts.hf.towers import sizes as s
from bide.facts.hf.towers.place import GATED_QWEN_STYLE, QWEN_STYLE, Blocks, Place, Tensors
from bide.facts.hf.towers.vision import stack


def _frames(f: Fields) -> int:
    return int(f.int("temporal_patch_size", default=2, high=1024))


def _merged(f: Fields) -> int:
    """Patches that the merger joins into one token."""
    return s.area(f, "spatial_merge_size", default=2)


def patches(f: Fields, at: Place, *, bias: bool) -> Tensors:
    return at.conv("patch_embed.proj", s.hidden(f), s.patch_inputs(f) * _frames(f), bias=bias)


def _merger(f: Fields, at: Place, hidden: int, out: int, *, norm_bias: bool = True, wide_norm: bool = False) -> Tensors:
    """A norm (on one patch, or `wide_norm` on the joined ones), then two linear layers to `out`."""
    wide = hidden * _merged(f)
    made = at.norm("norm", wide if wide_norm else hidden, bias=norm_bias)
    return made + at.matrix("linear_fc1", wide, wide) + at.matrix("linear_fc2", out, wide)


def qwen2(f: Fields, at: Place) -> Tensors:
    """Qwen2-VL: `hidden_size` of its vision_config is the text model's width, `embed_dim` its own."""
    hidden = f.int("embed_dim")
    ratio = f.number("mlp_ratio", default=4)
    made = at.conv("patch_embed.proj", hidden, s.patch_inputs(f) * _frames(f), bias=False)
    made += at.blocks(Blocks(QWEN_STYLE, s.layers(f, "depth"), hidden, int(hidden * ratio)))
    return made + _merger(f, replace(at, component="projector").at("merger."), hidden, f.int("hidden_size"))


def qwen2_5(f: Fields, at: Place) -> Tensors:
    """Qwen2.5-VL, Qwen2.5-Omni and EXAONE 4.5 (which has fewer KV heads): RMSNorms, gated feed-forward."""
    hidden = s.hidden(f)
    kv_heads = f.int("num_key_value_heads", default=s.heads(f), high=10**5)
    blocks = stack(f, GATED_QWEN_STYLE, norm_bias=False, kv_inner=hidden // s.heads(f) * kv_heads)
    made = patches(f, at, bias=False) + at.blocks(blocks)
    out = f.int("out_hidden_size")
    return made + _merger(f, replace(at, component="projector").at("merger."), hidden, out, norm_bias=False)


def qwen3(f: Fields, at: Place) -> Tensors:
    """Qwen3-VL, Qwen3-Omni and Qwen3.5 to 3.8: learned positions, and a merger for each deepstack layer."""
    hidden, out = s.hidden(f), f.int("out_hidden_size")
    style = replace(QWEN_STYLE, ins=("mlp.linear_fc1",), down="mlp.linear_fc2")
    made = patches(f, at, bias=True) + at.table("pos_embed", f.int("num_position_embeddings"), hidden)
    made += at.blocks(stack(f, style))
    inside = replace(at, component="projector")
    made += _merger(f, inside.at("merger."), hidden, out)
    for i in range(len(f.list("deepstack_visual_indexes") or [])):
        made += _merger(f, inside.at(f"deepstack_merger_list.{i}."), hidden, out, wide_norm=True)
    return made


def glm(f: Fields, at: Place, *, ocr: bool = False) -> Tensors:
    """GLM-4.1V, 4.5V, 4.6V (and GLM-OCR, with biases and QK norms): blocks, a strided convolution, a gated merger.

    The class fixes the blocks' feed-forward to `out_hidden_size`, and the merger's to the stated
    `intermediate_size`; in GLM-OCR the blocks take that one, and the merger channels x `out_hidden_size`.
    """
    hidden, out, wide = s.hidden(f), f.int("out_hidden_size"), s.intermediate(f)
    inner = wide if ocr else out
    bias = ("qkvoid" if ocr else "qkv") if f.flag("attention_bias") else ""
    head = hidden // s.heads(f)
    extras = {"attn.q_norm": head, "attn.k_norm": head} if ocr else {}
    made = patches(f, at, bias=True)
    made += at.blocks(Blocks(GATED_QWEN_STYLE, s.layers(f), hidden, inner, bias, False, extras=extras))
    if not ocr:
        made += at.table("embeddings.position_embedding", s.positions(f), hidden)
        made += at.norm("post_conv_layernorm", hidden, bias=False)
    made += at.norm("post_layernorm", hidden, bias=False) + at.conv("downsample", out, hidden * _merged(f))
    return made + gated_merger(
        replace(at, component="projector").at("merger."), out, out * s.channels(f) if ocr else wide
    )


def gated_merger(at: Place, hidden: int, inner: int, ins: int = 0) -> Tensors:
    """GLM's merger: a projection (from `ins`, else `hidden`), a norm, and a gated feed-forward of `inner`."""
    made = at.matrix("proj", hidden, ins or hidden, bias=False) + at.norm("post_projection_norm", hidden)
    for path, rows, cols in (("gate_proj", inner, hidden), ("up_proj", inner, hidden), ("down_proj", hidden, inner)):
        made += at.matrix(path, rows, cols, bias=False)
    return made


def ernie(f: Fields, at: Place, text_hidden: int) -> Tensors:
    """ERNIE 4.5 VL: linear patches, then a resampler over space and time."""
    hidden = s.hidden(f)
    made = at.matrix("patch_embed.proj", hidden, s.patch_inputs(f), bias=False) + at.norm("ln", hidden)
    made += at.blocks(stack(f, QWEN_STYLE))
    wide, times = hidden * _merged(f), f.int("temporal_merge_size", "temporal_conv_size", default=2, high=1024)
    to = replace(at, component="projector", prefix="model.resampler_model.")
    for name, ins in (("spatial_linear", wide), ("temporal_linear", wide * times)):
        made += to.matrix(f"{name}.fc1", wide, ins) + to.matrix(f"{name}.fc2", wide, wide)
        made += to.norm(f"{name}.ln", wide)
    return made + to.matrix("mlp", text_hidden, wide) + to.norm("after_norm", text_hidden, bias=False)
