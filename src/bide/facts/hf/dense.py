"""Decoders of plain attention and feed-forward layers, with or without routed experts.

One reader serves them all; a family is a `Traits` value (`families.py`, `experts.py`, `classic.py`).
Sources: the modelling and configuration code of transformers 5.24 and vLLM 0.33 for each `model_type`.
"""

from __future__ import annotations

from collections.abc import Callable

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.families import FAMILIES, SAME_AS
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Attention, Linear, Mlp, Moe, Norm, Piece
from bide.facts.hf.traits import Drafts, Traits
from bide.facts.model import Tensor


def read(f: Fields, traits: Traits, sizes: d.Sizes | None = None) -> Decoder:
    """The decoder that `f` describes, with `traits` where it is silent (and `sizes` where their keys are unusual)."""
    sizes = sizes or d.read_sizes(f)
    windows = local_layers(f, traits, sizes.layers)
    experts = expert_layers(f, traits, sizes.layers)
    layers = tuple(layer(f, traits, sizes, windows[i], experts[i]) for i in range(sizes.layers))
    return finish(f, traits, sizes, layers)


def layer(f: Fields, traits: Traits, sizes: d.Sizes, window: int | None, experts: bool) -> Layer:
    """One decoder layer: norms, attention, feed-forward, and what else the family has."""
    feed_forward = moe(f, traits, sizes.hidden) if experts else mlp(f, traits, sizes.hidden)
    attend = attention(f, traits, sizes, window)
    return (*norms(traits, sizes.hidden), attend, feed_forward, *traits.extras(f, sizes))


def finish(f: Fields, traits: Traits, sizes: d.Sizes, layers: tuple[Layer, ...]) -> Decoder:
    """Put the shell around `layers`, and the draft layers beside them."""
    drafts = draft_layers(f, traits, sizes, layers)
    return Decoder(
        sizes.hidden,
        sizes.heads,
        sizes.vocab,
        layers,
        shell(f, traits, sizes),
        d.max_context(f),
        drafts=drafts,
        draft_shell=draft_copies(traits.drafts, sizes, len(drafts)) if traits.drafts else (),
    )


def shell(f: Fields, traits: Traits, sizes: d.Sizes) -> tuple[Tensor, ...]:
    """Embedding, head, final norm and what else stands outside the layers."""
    tied = f.flag("tie_word_embeddings", default=traits.tied)
    norm = sizes.hidden * (2 if traits.norm_bias else 1) if traits.final_norm else 0
    head_bias = f.flag(traits.head_bias_key, default=traits.head_bias)
    return d.shell(sizes, tied, norm=norm, head_bias=head_bias) + traits.shell_extras(f, sizes)


def expert_layers(f: Fields, traits: Traits, layers: int) -> list[bool]:
    """Which layers have routed experts; none where the config names no experts."""
    return d.moe_layers(f, layers) if has_experts(f, traits) else [False] * layers


def has_experts(f: Fields, traits: Traits) -> bool:
    return traits.experts and bool(f.int(*d.EXPERTS, default=0, low=0))


def local_layers(f: Fields, traits: Traits, layers: int) -> list[int | None]:
    """The window of each layer, None where it attends to everything."""
    listed = window_list(f, layers)
    if listed is not None:
        return listed
    window = f.int("sliding_window", "sliding_window_size", "attention_window_size", default=None, low=-1)
    if not window or window < 0:
        return [None] * layers
    kinds = d.layer_kinds(f, layers)
    local = [kind in d.LOCAL for kind in kinds] if kinds else traits.window(f, layers)
    return [window if is_local else None for is_local in local]


def window_list(f: Fields, layers: int) -> list[int | None] | None:
    """Windows given layer by layer (PLaMo 3, EXAONE MoE); null, 0 or -1 is full attention."""
    for key in ("sliding_windows", "interleaved_sliding_window", "sliding_window"):
        if isinstance(f.raw(key)[1], list):
            given = f.list(key, length=layers) or []
            return [w if isinstance(w, int) and w > 0 else None for w in given]
    return None


def norms(traits: Traits, hidden: int) -> tuple[Piece, ...]:
    return tuple(Norm(path, hidden, traits.norm_bias) for path in traits.norms)


def attention(f: Fields, traits: Traits, sizes: d.Sizes, window: int | None = None) -> Attention:
    q_norm, k_norm = qk_norms(f, traits, sizes)
    return Attention(
        sizes.hidden,
        sizes.heads,
        sizes.kv_heads,
        sizes.head_dim,
        f.int("v_head_dim", default=sizes.head_dim),
        window=window,
        bias=attention_bias(f, traits),
        q_norm=q_norm,
        k_norm=k_norm,
        sinks=traits.sinks,
    )


def attention_bias(f: Fields, traits: Traits) -> str:
    """The biased projections: the class's, then what the config's flags add or take away."""
    letters = set(traits.bias)
    for key, which in traits.bias_keys:
        if f.has(key):
            letters = letters | set(which) if f.flag(key) else letters - set(which)
    return "".join(c for c in "qkvo" if c in letters)


def qk_norms(f: Fields, traits: Traits, sizes: d.Sizes) -> tuple[int, int]:
    """Parameters of the norms on queries and on keys."""
    keys = traits.qk_norm_keys
    if not traits.qk_norm or (keys and not f.flag(*keys, default=traits.qk_norm_default)):
        return 0, 0
    each = sizes.head_dim * (2 if traits.qk_norm_bias else 1)
    if traits.qk_norm == "head":
        return each, each
    return sizes.heads * each, sizes.kv_heads * each


def mlp(f: Fields, traits: Traits, hidden: int) -> Mlp:
    width = f.int(*traits.mlp_widths, default=4 * hidden)
    return Mlp(hidden, width, traits.gated, _flag(f, traits.mlp_bias_keys, traits.mlp_bias))


def moe(f: Fields, traits: Traits, hidden: int) -> Moe:
    width = f.int(*traits.expert_widths)
    return Moe(
        hidden,
        f.int(*d.EXPERTS),
        experts_per_token(f),
        width,
        traits.gated,
        traits.expert_bias,
        shared_intermediate=shared_width(f, width),
        shared_gate=traits.shared_gate,
        router_bias=_flag(f, traits.router_bias_keys, traits.router_bias),
        router_bias_dtype=traits.router_bias_dtype,
        path=traits.moe_path,
        router=traits.router,
        shared_path=traits.shared_path,
        shared_bias=_flag(f, traits.mlp_bias_keys, traits.mlp_bias),
    )


def _flag(f: Fields, keys: tuple[str, ...], default: bool) -> bool:
    return f.flag(*keys, default=default) if keys else default


def experts_per_token(f: Fields) -> int:
    name, value = f.raw(*d.EXPERTS_PER_TOKEN)
    if isinstance(value, list) and value and all(isinstance(v, int) for v in value):
        return int(max(value))
    return int(f.int(name))


def shared_width(f: Fields, expert_width: int) -> int:
    """Width of the shared experts together: stated, or their number times an expert's width."""
    stated = f.int(
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
        default=0,
        low=0,
    )
    count = f.int("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", default=0, low=0)
    return int(stated or count * expert_width)


def draft_layers(f: Fields, traits: Traits, sizes: d.Sizes, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The multi-token-prediction layers, each like the last layer with a projection and norms."""
    if traits.drafts is None:
        return ()
    how, hidden = traits.drafts, sizes.hidden
    last = layers[-1]
    if how.dense:
        last = tuple(mlp(f, traits, hidden) if isinstance(piece, Moe) else piece for piece in last)
    joined: tuple[Piece, ...] = (Linear("mlp", how.projection, hidden, 2 * hidden),)
    joined += tuple(Norm(path, hidden, traits.norm_bias) for path in how.norms)
    return (last + joined,) * int(f.int(how.count_key, default=0, low=0, high=64))


def draft_copies(how: Drafts, sizes: d.Sizes, count: int) -> tuple[Tensor, ...]:
    """The embeddings and heads that `count` draft layers bring of their own."""
    vocab, hidden = sizes.vocab, sizes.hidden
    made: tuple[Tensor, ...] = ()
    for i in range(sizes.layers, sizes.layers + count):
        if how.own_embedding:
            made += (Tensor("embedding", f"model.layers.{i}.embed_tokens", vocab, hidden, split="vocab"),)
        if how.own_head:
            path = f"model.layers.{i}.shared_head.head"
            made += (Tensor("lm_head", path, vocab, hidden, split="vocab", linear=True),)
    return made


def family(traits: Traits) -> Callable[[Fields], Decoder]:
    """The reader of one family."""
    return lambda f: read(f, traits)


def minicpmv(f: Fields) -> Decoder:
    """MiniCPM-V and -o: the text model's keys lie at the root, and the version says whose they are."""
    version = round(10 * f.number("version", default=2.0))
    kinds = {20: "minicpm", 25: "llama", 26: "qwen2", 40: "llama", 45: "qwen3"}
    if version not in kinds:
        raise f.bad("version", version / 10, ", ".join(str(known / 10) for known in kinds))
    return read(f, FAMILIES[kinds[version]])


READERS: dict[str, Callable[[Fields], Decoder]] = {name: family(traits) for name, traits in FAMILIES.items()}
READERS |= {alias: READERS[name] for name, aliases in SAME_AS.items() for alias in aliases}
READERS |= {"minicpmv": minicpmv, "minicpmo": minicpmv}
