"""Audio towers: Whisper's and its kin, and the conformers of Gemma, Phi-4 and Granite."""

from __future__ import annotations

from dataclasses import replace

from bide.facts.hf.fields import Fields
from bide.facts.hf.towers import sizes as s
from bide.facts.hf.towers.place import WHISPER_STYLE, Blocks, Place, Style, Tensors

MODERN_STYLE = Style(
    "layers.{i}",
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attn.o_proj",
    ("mlp.gate_proj", "mlp.up_proj"),
    "mlp.down_proj",
    ("self_attn_layer_norm", "final_layer_norm"),
)


def mel_bins(f: Fields) -> int:
    return int(f.int("num_mel_bins", default=128, high=10**4))


def convolutions(f: Fields, at: Place, hidden: int) -> Tensors:
    """Whisper's two convolutions of kernel 3."""
    return at.conv("conv1", hidden, 3 * mel_bins(f)) + at.conv("conv2", hidden, 3 * hidden)


def whisper(f: Fields, at: Place, *, positions: bool = True, norm: str = "layer_norm") -> Tensors:
    """Whisper's encoder (Qwen2-Audio, Voxtral, Audio Flamingo; Qwen2.5-Omni computes its positions)."""
    hidden = s.hidden(f)
    blocks = Blocks(
        WHISPER_STYLE, s.layers(f, "encoder_layers", "num_hidden_layers"), hidden, s.intermediate(f), "qvoid"
    )
    made = convolutions(f, at, hidden) + at.blocks(blocks) + at.norm(norm, hidden)
    return made + at.table("embed_positions", f.int("max_source_positions"), hidden) if positions else made


def glm_asr(f: Fields, at: Place) -> Tensors:
    """GLM-ASR: Whisper with rotary positions."""
    hidden = s.hidden(f)
    style = replace(
        MODERN_STYLE, ins=("mlp.fc1",), down="mlp.fc2", norms=("input_layernorm", "post_attention_layernorm")
    )
    inner, kv_inner = _heads(f)
    blocks = Blocks(style, s.layers(f), hidden, s.intermediate(f), "qvoid", True, inner, kv_inner)
    return convolutions(f, at, hidden) + at.blocks(blocks) + at.norm("norm", hidden)


def voxtral_realtime(f: Fields, at: Place) -> Tensors:
    """Voxtral Realtime: RMSNorms, gated feed-forward, heads wider than the hidden size."""
    hidden = s.hidden(f)
    sizes = Blocks(MODERN_STYLE, s.layers(f), hidden, s.intermediate(f), "qvod", False, *_heads(f))
    return convolutions(f, at.at("embedder."), hidden) + at.blocks(sizes) + at.norm("norm", hidden, bias=False)


def _heads(f: Fields) -> tuple[int, int]:
    """Widths of the queries and of the keys: heads x head_dim."""
    count = s.heads(f)
    head = f.int("head_dim", default=s.hidden(f) // count, high=10**5)
    return count * head, f.int("num_key_value_heads", default=count, high=10**5) * head


def qwen3_audio(f: Fields, at: Place) -> Tensors:
    """Qwen3-Omni and Qwen3-ASR: three strided 2-D convolutions, Whisper blocks, a two-step projection."""
    hidden, middle, out = s.hidden(f), f.int("downsample_hidden_size"), f.int("output_dim")
    count = s.layers(f, "encoder_layers", "num_hidden_layers")
    bins = mel_bins(f)
    for _step in range(3):
        bins = (bins + 1) // 2
    made = (
        at.conv("conv2d1", middle, 9) + at.conv("conv2d2", middle, 9 * middle) + at.conv("conv2d3", middle, 9 * middle)
    )
    made += at.matrix("conv_out", hidden, middle * bins, bias=False)
    made += at.blocks(Blocks(WHISPER_STYLE, count, hidden, s.intermediate(f))) + at.norm("ln_post", hidden)
    to = replace(at, component="projector")
    return made + to.matrix("proj1", hidden, hidden) + to.matrix("proj2", out, hidden)


def gemma_conformer(f: Fields, at: Place) -> Tensors:
    """The universal speech model of Gemma 3n and Gemma 4: two strided convolutions, then conformer blocks."""
    hidden = s.hidden(f)
    count = s.layers(f, "conf_num_hidden_layers", "num_hidden_layers")
    head = hidden // f.int("conf_num_attention_heads", "num_attention_heads", high=10**5)
    kernel = f.int("conf_conv_kernel_size", "conv_kernel_size", high=1024)
    made = _subsampling(f, at.at("subsample_conv_projection."), hidden)
    inside = at.at("conformer.{i}.")
    for name in ("ffw_layer_start", "ffw_layer_end"):
        made += inside.matrix(f"{name}.ffw_layer_1", 4 * hidden, hidden, layers=count, bias=False)
        made += inside.matrix(f"{name}.ffw_layer_2", hidden, 4 * hidden, layers=count, bias=False)
        norms = (f"{name}.pre_layer_norm", f"{name}.post_layer_norm")
        made += inside.norms(norms, hidden, layers=count, bias=False)
    for name in ("q_proj", "k_proj", "v_proj", "relative_position_embedding.pos_proj"):
        made += inside.matrix(f"attention.attn.{name}", hidden, hidden, layers=count, bias=False)
    made += inside.matrix("attention.post", hidden, hidden, layers=count, bias=False)
    made += inside.table("attention.attn.per_dim_scale", head, layers=count)
    made += inside.matrix("lconv1d.linear_start", 2 * hidden, hidden, layers=count, bias=False)
    made += inside.matrix("lconv1d.linear_end", hidden, hidden, layers=count, bias=False)
    made += inside.conv("lconv1d.depthwise_conv1d", hidden, kernel, layers=count, bias=False)
    names = ("attention.pre_attn_norm", "attention.post_norm", "lconv1d.pre_layer_norm", "lconv1d.conv_norm", "norm")
    return made + inside.norms(names, hidden, layers=count, bias=False)


def _subsampling(f: Fields, at: Place, hidden: int) -> Tensors:
    """Two 3 x 3 convolutions that halve time and frequency, and a projection of what is left of the 128 bins."""
    name, given = f.raw("sscp_conv_channel_size", "subsampling_conv_channels")
    first, second = _pair(f, name, given)
    bins = f.int("input_feat_size", default=128, high=10**4) // 4
    made = at.conv("conv_0.conv", first, 9, bias=False) + at.conv("conv_1.conv", second, 9 * first, bias=False)
    made += at.norm("conv_0.norm", first, bias=False) + at.norm("conv_1.norm", second, bias=False)
    return made + at.matrix("input_proj_linear", hidden, second * bins, bias=False)


def _pair(f: Fields, name: str, given: object) -> tuple[int, int]:
    values = [128, 32] if given is None else given
    if not isinstance(values, list | tuple) or len(values) != 2:
        raise f.bad(name, given, "[128, 32]")
    made = [Fields({name: value}, f.where).int(name, high=10**5) for value in values]
    return made[0], made[1]


def phi4_conformer(f: Fields, at: Place) -> Tensors:
    """Phi-4-multimodal: depthwise-separable subsampling and conformer blocks with gated feed-forwards."""
    hidden, inner, count = s.hidden(f), s.intermediate(f), s.layers(f, "num_blocks")
    channels, depthwise = f.int("nemo_conv_channels"), f.int("depthwise_separable_out_channel")
    steps = max(1, f.int("time_reduction", default=8, high=1024).bit_length() - 1)
    bins = f.int("input_size", default=80, high=10**4)
    made = at.conv("embed.conv.0", channels, 9)
    for step in range(1, steps):
        made += at.conv(f"embed.conv.{step}.depthwise", channels, 9)
        made += at.conv(f"embed.conv.{step}.pointwise", channels, channels)
    for _step in range(steps):
        bins = (bins + 1) // 2
    made += at.matrix("embed.out", hidden, channels * bins)
    buckets = f.int("bias_max_distance") * (1 if f.flag("bias_symmetric") else 2)
    made += at.table("relative_attention_bias_layer.bias_values", buckets, s.heads(f))
    inside = at.at("encoders.{i}.")
    for name in ("feed_forward_in", "feed_forward_out"):
        made += inside.matrix(f"{name}.gate_up_proj", 2 * inner, hidden, layers=count)
        made += inside.matrix(f"{name}.down_proj", hidden, inner, layers=count)
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        made += inside.matrix(f"self_attn.{name}", hidden, hidden, layers=count)
    out, kernel = f.int("ext_pw_out_channel"), f.int("kernel_size", high=1024)
    made += inside.table("conv.glu.b1", out, 2, layers=count)
    made += inside.conv("conv.glu.ext_pw_conv_1d", 2 * out, hidden, layers=count)
    made += inside.conv("conv.dw_conv", hidden * f.int("depthwise_multiplier", default=1), kernel, layers=count)
    made += inside.conv("conv.pw_conv", depthwise, hidden, layers=count)
    made += inside.conv("conv.ext_pw_conv_1d", out, hidden, layers=count)
    names = (
        "feed_forward_in.layer_norm",
        "feed_forward_out.layer_norm",
        "conv.layer_norm",
        "layer_norm_att",
        "layer_norm",
    )
    return made + inside.norms(names, hidden, layers=count)


def granite_conformer(f: Fields, at: Place) -> Tensors:
    """Granite Speech: conformer blocks with relative positions, and a CTC head half-way that feeds back."""
    hidden, count = f.int("hidden_dim"), s.layers(f, "num_layers")
    inner, out = hidden * f.int("feedforward_mult", high=1024), f.int("output_dim")
    heads = f.int("num_heads", high=10**5)
    head = f.int("dim_head", default=hidden // heads, high=10**5)
    wide, kernel = hidden * f.int("conv_expansion_factor", high=1024), f.int("conv_kernel_size", high=1024)
    made = at.matrix("input_linear", hidden, f.int("input_dim"))
    made += at.matrix("out", out, hidden) + at.matrix("out_mid", hidden, out)
    inside = at.at("layers.{i}.")
    for name in ("ff1", "ff2"):
        made += inside.matrix(f"{name}.up_proj", inner, hidden, layers=count, split="column")
        made += inside.matrix(f"{name}.down_proj", hidden, inner, layers=count, split="row")
    made += inside.matrix("attn.to_q", heads * head, hidden, layers=count, bias=False)
    made += inside.matrix("attn.to_kv", 2 * heads * head, hidden, layers=count, bias=False)
    made += inside.matrix("attn.to_out", hidden, heads * head, layers=count)
    made += inside.table("attn.rel_pos_emb", 2 * f.int("max_pos_emb") + 1, head, layers=count)
    made += inside.conv("conv.up_conv", 2 * wide, hidden, layers=count)
    made += inside.conv("conv.depth_conv", wide, kernel, layers=count, bias=False)
    made += inside.conv("conv.down_conv", hidden, wide, layers=count) + inside.norm(
        "conv.batch_norm", wide, layers=count
    )
    names = ("ff1.pre_norm", "ff2.pre_norm", "attn.pre_norm", "conv.norm", "post_norm")
    return made + inside.norms(names, hidden, layers=count)


def q_former(f: Fields, at: Place, queries: int, *, layers: int | None = None) -> Tensors:
    """BLIP-2's Q-Former without its text input: self-attention, cross-attention in some layers, feed-forward."""
    hidden, inner, ins = s.hidden(f), s.intermediate(f), f.int("encoder_hidden_size")
    count = s.layers(f) if layers is None else layers
    crossing = -(-count // f.int("cross_attention_frequency", default=2, high=4096))
    made = at.table("query", queries, hidden) + at.norm("qformer.layernorm", hidden)
    inside = at.at("qformer.encoder.layer.{i}.")
    for name, width, times in (("attention", hidden, count), ("crossattention", ins, crossing)):
        made += inside.matrix(f"{name}.attention.query", hidden, hidden, layers=times)
        made += inside.matrix(f"{name}.attention.key", hidden, width, layers=times)
        made += inside.matrix(f"{name}.attention.value", hidden, width, layers=times)
        made += inside.matrix(f"{name}.output.dense", hidden, hidden, layers=times)
        made += inside.norm(f"{name}.output.LayerNorm", hidden, layers=times)
    made += inside.matrix("intermediate_query.dense", inner, hidden, layers=count)
    made += inside.matrix("output_query.dense", hidden, inner, layers=count)
    return made + inside.norm("output_query.LayerNorm", hidden, layers=count)
