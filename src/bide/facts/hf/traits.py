"""What a model class does where its config is silent, as a value: a family is a row of a table of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bide.facts.hf import decoder as d
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Piece
from bide.facts.model import Tensor

WindowRule = Callable[[Fields, int], list[bool]]
"""(config, number of layers) -> which layers are local, when the config has no `layer_types`."""

Extras = Callable[[Fields, d.Sizes], tuple[Piece, ...]]
"""(config, sizes) -> what every layer has besides norms, attention and feed-forward."""

ShellExtras = Callable[[Fields, d.Sizes], tuple[Tensor, ...]]
"""(config, sizes) -> what the model has besides layers, embedding, head and final norm."""

PRE = ("input_layernorm", "post_attention_layernorm")
POST_ONLY = ("post_attention_layernorm", "post_feedforward_layernorm")
SANDWICH = (*PRE, "pre_feedforward_layernorm", "post_feedforward_layernorm")


def all_layers(f: Fields, layers: int) -> list[bool]:
    """Every layer slides where a window is set (vLLM gives `sliding_window` to all without `layer_types`)."""
    return [f.flag("use_sliding_window", default=True)] * layers


def no_layers(f: Fields, layers: int) -> list[bool]:
    """The class ignores `sliding_window`."""
    return [False] * layers


def from_max_window_layers(f: Fields, layers: int) -> list[bool]:
    """Qwen2/3: only with `use_sliding_window`, and only from `max_window_layers` on."""
    if not f.flag("use_sliding_window"):
        return [False] * layers
    start = f.int("max_window_layers", default=layers, low=0)
    return [i >= start for i in range(layers)]


def even_layers(f: Fields, layers: int) -> list[bool]:
    """Gemma 2, gpt-oss: local, global, local, global, ..."""
    return [i % 2 == 0 for i in range(layers)]


def all_but_first_of(period: int) -> WindowRule:
    """Global, then `period - 1` local layers (CWM, Granite with sliding windows)."""

    def rule(f: Fields, layers: int) -> list[bool]:
        return [not full for full in d.every(layers, period, local_count_first=False)]

    return rule


def all_but_each(period: int) -> WindowRule:
    """Local except every `period`-th layer; a pattern in the config overrides the period."""
    keys = ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers")

    def rule(f: Fields, layers: int) -> list[bool]:
        given = f.raw(*keys)[1]
        if isinstance(given, str) and given:
            return [given[i % len(given)] == "L" for i in range(layers)]
        each = f.int(*keys, default=period, low=0)
        return [bool(each) and not full for full in d.every(layers, each or 1)]

    return rule


def nothing(f: Fields, sizes: d.Sizes) -> tuple[()]:
    """No further parameters."""
    return ()


@dataclass(frozen=True, slots=True)
class Drafts:
    """How a family writes its multi-token-prediction layers, whose number is under `count_key`.

    Each is a decoder layer like the last one with a projection of 2h to h and `norms` of h;
    with `own_embedding` and `own_head` it brings copies of those (V x h each).
    """

    count_key: str = "num_nextn_predict_layers"
    projection: str = "eh_proj"
    norms: tuple[str, ...] = ("enorm", "hnorm", "shared_head.norm")
    own_embedding: bool = False
    own_head: bool = False
    dense: bool = False
    """The draft layer has a dense feed-forward where the last layer has experts."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model class does where its config is silent."""

    tied: bool = False
    gated: bool = True
    bias: str = ""
    """Attention projections (letters of `qkvo`) that have a bias."""
    bias_keys: tuple[tuple[str, str], ...] = (("attention_bias", "qkvo"),)
    """Config flags that add (true) or remove (false) biases on these projections."""
    mlp_bias: bool = False
    mlp_bias_keys: tuple[str, ...] = ("mlp_bias",)
    mlp_widths: tuple[str, ...] = d.INTERMEDIATE
    """Where the width of a dense feed-forward stands; 4 x hidden where nowhere."""
    norms: tuple[str, ...] = PRE
    norm_bias: bool = False
    final_norm: bool = True
    qk_norm: str = ""
    """`head`: one of head_dim on each of Q and K; `full`: over all heads; empty: none."""
    qk_norm_keys: tuple[str, ...] = ()
    """Config flags that turn the norms on Q and K on; `qk_norm_default` where none is present."""
    qk_norm_default: bool = False
    qk_norm_bias: bool = False
    window: WindowRule = all_layers
    sinks: bool = False
    head_bias: bool = False
    head_bias_key: str = "lm_head_bias"
    experts: bool = False
    """Reads routed experts when the config has them."""
    expert_bias: bool = False
    expert_widths: tuple[str, ...] = ("moe_intermediate_size", "expert_intermediate_size", *d.INTERMEDIATE)
    router: str = "gate"
    router_bias: bool = False
    router_bias_keys: tuple[str, ...] = ()
    router_bias_dtype: str | None = "fp32"
    moe_path: str = "mlp"
    shared_path: str = "shared_experts"
    shared_gate: bool = False
    extras: Extras = nothing
    shell_extras: ShellExtras = nothing
    drafts: Drafts | None = None
