"""What readers share that need no Traits: the shell around layers, plain attention, norms, the types of states."""

from __future__ import annotations

from bide.facts.dtypes import DTYPES
from bide.facts.hf import decoder as d
from bide.facts.hf.assemble import Decoder, Layer
from bide.facts.hf.fields import Fields
from bide.facts.hf.parts import Attention, Norm, Piece
from bide.i18n import _


def conv_dtype(f: Fields) -> str:
    """The type of convolution states: the model's own (a nested config that does not state one: bf16)."""
    return DTYPES.get(str(f.text("dtype", "torch_dtype", default="bfloat16")).removeprefix("torch."), "bf16")


def state_dtype(f: Fields, default: str | None = None) -> str:
    """The type of recurrent states: what the config asks for, else the class's, else the convolution's."""
    keys = ("mamba_ssm_cache_dtype", "mamba_ssm_dtype")
    given = f.text(*keys, default="auto")
    if given == "auto":
        return default or conv_dtype(f)
    if given not in DTYPES:
        raise f.bad(f.raw(*keys)[0], given, _("one of {names}").format(names=", ".join(DTYPES)))
    return DTYPES[given]


def finish(f: Fields, sizes: d.Sizes, layers: tuple[Layer, ...], *, tied: bool = False) -> Decoder:
    """Put embedding, head and final norm around `layers`."""
    shell = d.shell(sizes, f.flag("tie_word_embeddings", "tie_embedding", default=tied))
    return Decoder(sizes.hidden, sizes.heads, sizes.vocab, layers, shell, d.max_context(f))


def attention(f: Fields, sizes: d.Sizes, path: str = "self_attn") -> Attention:
    """Plain grouped-query attention, with biases where `attention_bias` says so."""
    bias = "qkvo" if f.flag("attention_bias") else ""
    dims = (sizes.hidden, sizes.heads, sizes.kv_heads, sizes.head_dim, sizes.head_dim)
    return Attention(*dims, bias=bias, path=path)


def pre_norms(hidden: int, second: str) -> tuple[Piece, ...]:
    return Norm("input_layernorm", hidden), Norm(second, hidden)
