"""Nemotron-H and Nemotron 3: each layer is one part, by a pattern of M (Mamba 2), * (attention), - (MLP), E (experts).

Sources: transformers 5.24 `models/nemotron_h`, vLLM 0.33 `nemotron_h.py`, `nemotron_h_mtp.py`.
"""

from __future__ import annotations

from dataclasses import replace

from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.common import attention, conv_dtype, finish, state_dtype
from bide.facts.hf.fields import Fields
from bide.facts.hf.mamba_parts import Mamba2
from bide.facts.hf.parts import Linear, Mlp, Moe, Norm, Piece
from bide.i18n import _

KINDS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
RENAMED = {"linear_attention": "mamba", "full_attention": "attention"}
"""What transformers 5 calls these kinds in the configs that it saves."""
MIXER = "mixer"


def read_nemotron_h(f: Fields) -> Decoder:
    """A decoder of single-part layers, and the pattern of its draft layers."""
    pattern = _pattern(f, ("layers_block_type", "layer_types"), "hybrid_override_pattern")
    sizes = _sizes(f, len(pattern))
    parts = {kind: _part(f, sizes, kind) for kind in dict.fromkeys(pattern)}
    layers = tuple((Norm("norm", sizes.hidden), parts[kind]) for kind in pattern)
    return replace(finish(f, sizes, layers), drafts=_drafts(f, sizes))


def _sizes(f: Fields, layers: int) -> d.Sizes:
    """The pattern's length counts the layers: Nemotron 3 Ultra states no other number."""
    heads = f.int(*d.HEADS, high=10**5)
    kv_heads = f.int("num_key_value_heads", default=heads, high=10**5)
    head_dim = f.int("head_dim", "attention_head_dim", default=f.int(*d.HIDDEN) // heads)
    return d.Sizes(layers, f.int(*d.HIDDEN), heads, kv_heads, head_dim, f.int(*d.VOCAB))


def _pattern(f: Fields, list_keys: tuple[str, ...], text_key: str) -> list[str]:
    given = f.list(*list_keys)
    kinds = given if given is not None else [KINDS.get(letter, letter) for letter in f.text(text_key)]
    kinds = [RENAMED.get(kind, kind) if isinstance(kind, str) else kind for kind in kinds]
    name = f.raw(*list_keys, text_key)[0]
    for kind in kinds:
        if kind not in KINDS.values():
            raise f.bad(name, kind, _("one of {names}").format(names=", ".join(KINDS.values())))
    if not 0 < len(kinds) <= d.MAX_LAYERS:
        raise f.bad(name, len(kinds), _("a whole number from {low} to {high}").format(low=1, high=d.MAX_LAYERS))
    return kinds


def _part(f: Fields, sizes: d.Sizes, kind: str) -> Piece:
    if kind == "mamba":
        return _mamba(f, sizes.hidden)
    if kind == "attention":
        return attention(f, sizes, MIXER)
    if kind == "mlp":
        return Mlp(sizes.hidden, f.int("intermediate_size"), gated=False, bias=f.flag("mlp_bias"), path=MIXER)
    return _experts(f, sizes.hidden)


def _mamba(f: Fields, hidden: int) -> Mamba2:
    """The state is fp32 where the config states nothing (vLLM `NemotronHForCausalLMConfig`)."""
    return Mamba2(
        hidden,
        f.int("mamba_num_heads"),
        f.int("mamba_head_dim"),
        f.int("n_groups"),
        f.int("ssm_state_size"),
        f.int("conv_kernel", default=4),
        state_dtype(f, "fp32"),
        conv_dtype(f),
        f.flag("use_conv_bias", default=True),
        f.flag("mamba_proj_bias", "use_bias"),
        path=MIXER,
    )


def _experts(f: Fields, hidden: int) -> Moe:
    """Experts without a gate matrix (squared ReLU), on a latent where `moe_latent_size` states one."""
    width = f.int("moe_intermediate_size")
    shared = f.int("n_shared_experts", default=1, low=0) * f.int("moe_shared_expert_intermediate_size", default=width)
    return Moe(
        hidden,
        f.int("n_routed_experts"),
        f.int(*d.EXPERTS_PER_TOKEN),
        width,
        gated=False,
        bias=f.flag("mlp_bias"),
        shared_intermediate=shared,
        router_bias=True,
        latent=f.int("moe_latent_size", default=0, low=0),
        path=MIXER,
    )


def _drafts(f: Fields, sizes: d.Sizes) -> tuple[Layer, ...]:
    """The layers of one draft pattern: a projection and norms before the first, a norm after the last."""
    if not f.int("num_nextn_predict_layers", default=0, low=0, high=64):
        return ()
    if not f.has("mtp_layers_block_type", "mtp_hybrid_override_pattern"):
        return ()
    pattern, hidden = _pattern(f, ("mtp_layers_block_type",), "mtp_hybrid_override_pattern"), sizes.hidden
    layers: list[Layer] = [(Norm("norm", hidden), _part(f, sizes, kind)) for kind in pattern]
    layers[0] = (*layers[0], Linear("mlp", "eh_proj", hidden, 2 * hidden), Norm("enorm", hidden), Norm("hnorm", hidden))
    layers[-1] = (*layers[-1], Norm("final_layernorm", hidden))
    return tuple(layers)
