"""Small models by hand, with the facts of published configs, for the memory tests."""

from __future__ import annotations

from bide.facts.layers import (
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    KeyIndex,
    LatentAttention,
    LayerGroup,
    RecurrentState,
    SlidingWindow,
)
from bide.facts.model import Model, Moe, Tensor


def model(
    groups: tuple[LayerGroup, ...],
    layers: int,
    *,
    name: str = "test",
    hidden: int = 4096,
    heads: int = 32,
    vocab: int = 128_256,
    intermediate: int = 14_336,
    dtype: str = "bf16",
    context: int = 131_072,
    moe: Moe | None = None,
    draft: tuple[LayerGroup, ...] = (),
) -> Model:
    """A model of these groups, with a gated feed-forward where it has no experts."""
    every = tuple(range(layers))
    component = "experts" if moe else "mlp"
    tensors = tuple(
        Tensor(
            component,
            f"model.layers.{{i}}.mlp.{part}",
            intermediate,
            hidden,
            every,
            copies=moe.experts if moe else 1,
            split="experts" if moe else "column",
            linear=True,
        )
        for part in ("gate_proj", "up_proj")
    )
    return Model(
        name, "test", hidden, layers, heads, vocab, dtype, groups, tensors, context, moe=moe, draft_groups=draft
    )


def llama_3_8b() -> Model:
    return model((FullAttention(tuple(range(32)), 8, 128, 128),), 32, context=8192)


def qwen_3_8b() -> Model:
    groups = (FullAttention(tuple(range(36)), 8, 128, 128),)
    return model(groups, 36, vocab=151_936, intermediate=12_288, context=40_960)


def gemma_3_27b() -> Model:
    """62 layers, every sixth with full attention: 10 full, 52 with a window of 1,024."""
    full = tuple(i for i in range(62) if (i + 1) % 6 == 0)
    local = tuple(i for i in range(62) if i not in full)
    groups = (SlidingWindow(local, 16, 128, 128, 1024), FullAttention(full, 16, 128, 128))
    return model(groups, 62, hidden=5376, vocab=262_208, intermediate=21_504)


def gpt_oss_20b() -> Model:
    """12 layers with a window of 128 and 12 without; 8 KV heads of 64."""
    groups = (
        SlidingWindow(tuple(range(0, 24, 2)), 8, 64, 64, 128),
        FullAttention(tuple(range(1, 24, 2)), 8, 64, 64),
    )
    return model(groups, 24, hidden=2880, heads=64, vocab=201_088, moe=Moe(32, 4, tuple(range(24))))


def llama_4_scout() -> Model:
    """Every fourth layer full, the others in chunks of 8,192; 8 KV heads of 128."""
    full = tuple(range(3, 48, 4))
    local = tuple(i for i in range(48) if i not in full)
    groups = (ChunkedAttention(local, 8, 128, 128, 8192), FullAttention(full, 8, 128, 128))
    return model(groups, 48, hidden=5120, heads=40, vocab=202_048)


def deepseek_v3(sparse: bool = False) -> Model:
    every = tuple(range(61))
    index = (KeyIndex(every, 132),) if sparse else ()
    groups = (LatentAttention(every, 512, 64, sparse), *index)
    return model(groups, 61, hidden=7168, heads=128, vocab=129_280, context=163_840)


def qwen_3_next() -> Model:
    """36 gated delta nets (16 key and 32 value heads of 128) and 12 full layers of 2 KV heads of 256."""
    full = tuple(range(3, 48, 4))
    state = tuple(i for i in range(48) if i not in full)
    groups = (
        FullAttention(full, 2, 256, 256),
        RecurrentState(state, "gdn", 32 * 128 * 128, "bf16", conv_channels=8192, conv_length=3),
    )
    return model(groups, 48, hidden=2048, heads=16, vocab=151_936, context=262_144)


def qwen_3_8_27b() -> Model:
    """48 gated delta nets with fp32 states (16 key, 48 value heads), 16 full layers of 4 KV heads of 256, one draft."""
    full = tuple(range(3, 64, 4))
    state = tuple(i for i in range(64) if i not in full)
    groups = (
        FullAttention(full, 4, 256, 256),
        RecurrentState(state, "gdn", 48 * 128 * 128, "fp32", conv_channels=(2 * 16 + 48) * 128, conv_length=3),
    )
    draft = (FullAttention((64,), 4, 256, 256),)
    return model(groups, 64, hidden=5120, heads=24, vocab=248_320, context=262_144, draft=draft)


def nemotron_h_8b() -> Model:
    """24 Mamba-2 layers of 128 heads of 64 and 8 groups, fp32 states of 128; 4 full layers."""
    groups = (
        RecurrentState(
            (0, 2, 4, 6, 9, 11, 13, 15, 17, 20, 22, 24, 26, 28, 31, 33, 35, 37, 39, 42, 44, 46, 48, 50),
            "mamba2",
            128 * 64 * 128,
            "fp32",
            conv_channels=8192,
            conv_length=3,
            groups=8,
            group_channels=256,
        ),
        FullAttention((7, 18, 29, 40), 8, 128, 128),
    )
    return model(groups, 52, vocab=131_072, context=8192)


def deepseek_v4_pro() -> Model:
    """30 layers that compress 4 tokens into a state, 31 that compress 128; windows of 128."""
    fine, coarse = tuple(range(0, 60, 2)), (*range(1, 61, 2), 60)
    groups = (
        CompressedAttention(fine, 584, 4, 128, 8 * 2 * 2 * 512 * 4),
        KeyIndex(fine, 132, 4),
        CompressedAttention(coarse, 584, 128, 128, 128 * 2 * 512 * 4),
    )
    return model(groups, 61, hidden=7168, heads=128, vocab=129_280, context=1_048_576)


def whisper_like() -> Model:
    every = tuple(range(32))
    groups = (FullAttention(every, 20, 64, 64), CrossAttention(every, 20, 64, 64, 1500))
    return model(groups, 32, hidden=1280, heads=20, vocab=51_866, context=448)


ALL = (
    llama_3_8b,
    qwen_3_8b,
    gemma_3_27b,
    gpt_oss_20b,
    llama_4_scout,
    deepseek_v3,
    qwen_3_next,
    qwen_3_8_27b,
    nemotron_h_8b,
    deepseek_v4_pro,
    whisper_like,
)
